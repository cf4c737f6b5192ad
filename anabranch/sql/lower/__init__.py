"""From one SELECT to a plan.

syntax              the text as a tree, by Spark's grammar
entry               lower(): the whole way
anchor              lower_anchor(): the part of it that reads no unknown table
scope, outputs      which column a name stands for
expressions         expressions to scalars          (calls, verbatim, negation, admit, special)
relations           FROM                            (joins, using, laterals, generators, inline)
block, select       one SELECT block                (conditions, aggregates, grouping, windows, order)
queries             set operations
ctes                WITH                            (recursion)
correlate           subqueries and the rows they are asked for   (domain, carry, subqueries)
"""

from anabranch.sql.lower.anchor import lower_anchor
from anabranch.sql.lower.lower_text import LoweredQuery, lower
from anabranch.sql.lower.recursion import RECURSION_PREFIX, Recursion

__all__ = ["RECURSION_PREFIX", "LoweredQuery", "Recursion", "lower", "lower_anchor"]
