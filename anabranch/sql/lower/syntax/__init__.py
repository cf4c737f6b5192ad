"""A query's text as a tree of frozen values, read by the grammar of Spark itself.

sqlglot checks the text first (limits, sandbox, which tables it names), but it doesn't decide what an
expression means: it binds `a || b + c`, `a | b & c` and `a = b < c` otherwise than Spark, and reads
`x::int` as a cast that never fails. So the tree that is lowered comes from these files, which follow
Spark's grammar rule by rule; each node knows the lexemes it was read from.
"""
