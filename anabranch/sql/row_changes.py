"""UPDATE, DELETE and MERGE as one query that finds the rows to change and their new values.

The target is the relation `{target}` with its data columns and `__file` and `__position`. The result:

    the target's data columns    as they were; NULL for rows that are inserted
    __file, __position           where the row is; NULL for rows that are inserted
    __action                     1 insert, 2 delete, 3 update; other rows don't come out
    __new_0 … __new_{n-1}        the new value of each data column, in whatever type it has

In a MERGE whose clauses give one column several expressions, these may be of different types, which
CASE would force into one. Then `__new_{i}` fails when read, and behind all others come `__new_{i}_0`,
`__new_{i}_1`, … and `__pick_{i}`, the number of the one that counts for the row.

Each expression of the user occurs once, so it is evaluated once per row, and only for rows it is for.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from anabranch.errors import InvalidQuery
from anabranch.names import FILE, POSITION, TableName
from anabranch.schema import Schema
from anabranch.sql.expression import Expression
from anabranch.sql.merge_changes import merge_statement_changes
from anabranch.sql.query import Query
from anabranch.sql.query_builders import column, number, relation, render, typed_null, verbatim, with_alias
from anabranch.sql.statement import Assignments, Delete, Merge, Update
from anabranch.sql.target_columns import ACTION, DELETE, NEW, TARGET, UPDATE, column_index
from anabranch.sql.template import Placeholders
from anabranch.sql.upsert import upsert_changes

__all__ = ["delete_changes", "merge_changes", "statement_changes", "update_changes"]


def update_changes(
    table: TableName, schema: Schema, assignments: Mapping[str, str], where: str | None = None
) -> Query:
    """The rows where a condition holds (None: all), with columns set to SQL expressions."""
    if not isinstance(assignments, Mapping):
        raise InvalidQuery(
            "assignments are a mapping of columns to SQL text", hint='{"amount": "amount * 2"}.'
        )
    for column_name in assignments:
        column_index(column_name, schema, table)
    values = tuple((column, Expression(text)) for column, text in assignments.items())
    return statement_changes(Update(table, values, _condition(where)), schema)


def delete_changes(table: TableName, schema: Schema, where: str | None = None) -> Query:
    """The rows where a condition holds (None: all), to be deleted."""
    return statement_changes(Delete(table, _condition(where)), schema)


def merge_changes(
    table: TableName,
    schema: Schema,
    columns: tuple[str, ...],
    on: tuple[str, ...],
    delete_when: str | None = None,
) -> Query:
    """Rows of the relation `{source}`, which has these columns, meet the target's on the keys `on`.

    Those that match update the columns they have, others are inserted. Where `delete_when` holds, a
    match is deleted and the incoming row isn't inserted; it sees the incoming columns, also as
    `source.x`, and the table's as `target.x`. NULL keys match nothing.
    """
    return upsert_changes(table, schema, columns, on, _condition(delete_when))


def statement_changes(statement: Update | Delete | Merge, schema: Schema) -> Query:
    """The changes that a statement makes to a table of this schema."""
    match statement:
        case Update(table, assignments, where, alias):
            return _update(table, schema, assignments, where, alias)
        case Delete(table, where, alias):
            return _delete(table, schema, where, alias)
        case Merge():
            return merge_statement_changes(statement, schema)


def _condition(text: str | None) -> Expression | None:
    return None if text is None else Expression(text)


def _update(
    table: TableName, schema: Schema, assignments: Assignments, where: Expression | None, alias: str | None
) -> Query:
    placeholders = Placeholders()
    row = (table,) if alias is None else ()
    target = alias or table.table
    values = {
        column_index(name, schema, table): verbatim(expression.template(placeholders, row))
        for name, expression in assignments
    }
    new = [values.get(i, column(c.name, target)) for i, c in enumerate(schema)]
    return _changes(schema, target, UPDATE, new, _filter(where, placeholders, row), placeholders)


def _delete(table: TableName, schema: Schema, where: Expression | None, alias: str | None) -> Query:
    placeholders = Placeholders()
    row = (table,) if alias is None else ()
    new = [typed_null(c) for c in schema]
    return _changes(
        schema, alias or table.table, DELETE, new, _filter(where, placeholders, row), placeholders
    )


def _filter(
    where: Expression | None, placeholders: Placeholders, row: tuple[TableName, ...]
) -> exp.Expr | None:
    return None if where is None else verbatim(where.template(placeholders, row))


def _changes(
    schema: Schema,
    target: str,
    action: int,
    new: list[exp.Expr],
    where: exp.Expr | None,
    placeholders: Placeholders,
) -> Query:
    old = [with_alias(column(c.name, target), c.name) for c in schema]
    place = [with_alias(column(hidden, target), hidden) for hidden in (FILE, POSITION)]
    what = with_alias(number(action), ACTION)
    values = [with_alias(value, f"{NEW}{i}") for i, value in enumerate(new)]
    query = exp.select(*old, *place, what, *values).from_(relation(TARGET, target))
    return Query(render(query if where is None else query.where(where)), placeholders.bindings)
