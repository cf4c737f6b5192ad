"""SQL text to values: statements, queries, expressions and schemas. Pure, and the only user of sqlglot.

    lexical      text -> lexemes, as Spark's own lexer cuts them; comments blanked; limits kept
    parse        text -> sqlglot tree, once both lexers agree on what is quoted
    cursor       lexemes -> the shell of a statement, piece by piece
    query        a SELECT -> Spark's text with placeholders for tables; references, sandbox
    expression   one scalar expression
    ddl          "id BIGINT, name STRING" -> Schema
    statements   text -> one Statement
    row_changes  UPDATE, DELETE, MERGE -> the query that finds the changed rows

Spark decides what a query means, and sqlglot reads some of Spark's SQL differently. So the user's own
text is never regenerated: it is cut, checked to be whole, and passed on with only table names replaced.
"""
