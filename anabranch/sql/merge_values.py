"""Which new values the clauses of a MERGE give to each column, equal ones together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from anabranch.schema import Schema
from anabranch.sql.expression import Expression
from anabranch.sql.parse import parse_expression
from anabranch.sql.statement import DeleteRow, Merge, When
from anabranch.sql.target_columns import column_index


@dataclass(frozen=True)
class OldValue:
    """The old value stays; NULL in a row that is inserted."""

    clauses: tuple[int, ...]


@dataclass(frozen=True)
class FromSource:
    """A column of the source, which means the same in every clause that may name the source."""

    clauses: tuple[int, ...]
    column: str


@dataclass(frozen=True)
class Computed:
    """The value of an expression, written for the names that its kind of clause knows."""

    clauses: tuple[int, ...]
    when: When
    expression: Expression


Value = OldValue | FromSource | Computed

_FUNCTIONS_WITHOUT_BRACKETS = frozenset(
    "current_date current_time current_timestamp current_user session_user user".split()
)


def new_values(merge: Merge, schema: Schema, source: str) -> list[list[Value]]:
    """For each column of the table, its distinct new values, each with the clauses that give it."""
    found: list[list[Value]] = [[] for _ in schema]
    for number, clause in enumerate(merge.clauses):
        if isinstance(clause.action, DeleteRow):
            continue
        if clause.action.assignments is None:
            for column, values in zip(schema, found, strict=True):
                _add(values, FromSource((number,), column.name.lower()))
            continue
        given = {
            column_index(name, schema, merge.name): expression
            for name, expression in clause.action.assignments
        }
        for i, values in enumerate(found):
            _add(values, _value(number, clause.when, given.get(i), source))
    return found


def _value(number: int, when: When, expression: Expression | None, source: str) -> Value:
    if expression is None:
        return OldValue((number,))
    column = _source_column(when, expression, source)
    return Computed((number,), when, expression) if column is None else FromSource((number,), column)


def _add(values: list[Value], value: Value) -> None:
    """Put equal values together: a row belongs to one clause, so for a row they are one."""
    for i, known in enumerate(values):
        if replace(known, clauses=value.clauses) == value:
            values[i] = replace(known, clauses=known.clauses + value.clauses)
            return
    values.append(value)


def _source_column(when: When, expression: Expression, source: str) -> str | None:
    """The column, if the expression is nothing but a column of the source."""
    tree = parse_expression(expression.text)
    if not isinstance(tree, exp.Column) or not isinstance(tree.this, exp.Identifier):
        return None
    if when is When.NOT_MATCHED_BY_SOURCE or tree.args.get("db") is not None:
        return None
    name = tree.name.lower()
    # In WHEN NOT MATCHED a bare name is the source's too, unless Spark may take it for a function.
    bare = not tree.table and when is When.NOT_MATCHED and name not in _FUNCTIONS_WITHOUT_BRACKETS
    return name if bare or tree.table.lower() == source.lower() else None
