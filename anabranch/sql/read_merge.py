"""The shell of MERGE, and the assignments it shares with UPDATE."""

from __future__ import annotations

from anabranch.errors import InvalidQuery, UnsupportedStatement
from anabranch.names import TableName
from anabranch.sql.cursor import Cursor, table_name
from anabranch.sql.expression import Expression
from anabranch.sql.query import Query, parse_query_lexemes
from anabranch.sql.statement import (
    Action,
    Assignments,
    DeleteRow,
    InsertRow,
    Merge,
    MergeClause,
    UpdateRow,
    When,
)


def read_merge(cursor: Cursor) -> Merge:
    """The statement behind the word MERGE."""
    if cursor.take("WITH", "SCHEMA", "EVOLUTION"):
        raise UnsupportedStatement(
            "MERGE WITH SCHEMA EVOLUTION is not accepted", hint="create a table that fits."
        )
    cursor.expect("INTO")
    name = cursor.table_name()
    alias = cursor.alias("USING")
    cursor.expect("USING")
    source, source_alias = _source(cursor)
    cursor.expect("ON")
    on = Expression(cursor.take_until("WHEN").text)
    clauses: list[MergeClause] = []
    while not cursor.is_at_end:
        clauses.append(_clause(cursor, name, alias))
    return Merge(name, source, on, tuple(clauses), alias, source_alias)


def read_assignments(cursor: Cursor, name: TableName, alias: str | None, *stops: str) -> Assignments:
    """`a = …, b = …` up to one of the words in `stops`."""
    assignments: list[tuple[str, Expression]] = []
    while True:
        column = _assigned_column(cursor.dotted_name(), name, alias)
        if not cursor.take("=="):
            cursor.expect("=")
        assignments.append((column, Expression(cursor.take_until(",", *stops).text)))
        if not cursor.take(","):
            return tuple(assignments)


def _assigned_column(parts: tuple[str, ...], name: TableName, alias: str | None) -> str:
    """The column that `column`, `table.column` or `namespace.table.column` names."""
    folded = tuple(part.lower() for part in parts)
    qualifiers = [(alias.lower(),)] if alias else [(name.table,), name.as_tuple]
    if len(parts) == 1 or folded[:-1] in qualifiers:
        return parts[-1]
    field = ".".join(parts)
    raise UnsupportedStatement(
        f'"{field}" is a field inside a column',
        hint=f"assign the whole column: {parts[0]} = named_struct(…).",
    )


def _source(cursor: Cursor) -> tuple[TableName | Query, str | None]:
    if cursor.sign() == "(":
        return parse_query_lexemes(cursor.take_brackets()), cursor.alias("ON")
    parts = cursor.dotted_name()
    if cursor.sign() == "(":
        raise UnsupportedStatement(
            "MERGE … USING takes a table or a query", hint="write USING (SELECT * FROM function(…)) AS s."
        )
    return table_name(parts), cursor.alias("ON") or parts[-1]


def _clause(cursor: Cursor, name: TableName, alias: str | None) -> MergeClause:
    cursor.expect("WHEN")
    when = _when(cursor)
    condition = None
    if cursor.take("AND"):
        condition = Expression(cursor.take_until("THEN").text)
    cursor.expect("THEN")
    return MergeClause(when, condition, _action(cursor, when, name, alias))


def _when(cursor: Cursor) -> When:
    if cursor.take("MATCHED"):
        return When.MATCHED
    cursor.expect("NOT")
    cursor.expect("MATCHED")
    if cursor.take("BY", "SOURCE"):
        return When.NOT_MATCHED_BY_SOURCE
    cursor.take("BY", "TARGET")
    return When.NOT_MATCHED


def _action(cursor: Cursor, when: When, name: TableName, alias: str | None) -> Action:
    if when is When.NOT_MATCHED:
        cursor.expect("INSERT")
        return InsertRow(None) if cursor.take("*") else _insert_row(cursor, name, alias)
    if cursor.take("DELETE"):
        return DeleteRow()
    cursor.expect("UPDATE", "SET")
    if when is When.MATCHED and cursor.take("*"):
        return UpdateRow(None)
    return UpdateRow(read_assignments(cursor, name, alias, "WHEN"))


def _insert_row(cursor: Cursor, name: TableName, alias: str | None) -> InsertRow:
    inner = Cursor(cursor.take_brackets())
    columns = [_assigned_column(inner.dotted_name(), name, alias)]
    while inner.take(","):
        columns.append(_assigned_column(inner.dotted_name(), name, alias))
    inner.finish()
    cursor.expect("VALUES")
    values = _values(Cursor(cursor.take_brackets()))
    if len(values) != len(columns):
        raise InvalidQuery(f"INSERT names {len(columns)} columns and gives {len(values)} values")
    return InsertRow(tuple(zip(columns, values, strict=True)))


def _values(cursor: Cursor) -> list[Expression]:
    values = [Expression(cursor.take_until(",").text)]
    while cursor.take(","):
        values.append(Expression(cursor.take_until(",").text))
    return values
