"""Which new values the clauses of a MERGE give to each column, equal ones together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from anabranch.schema import Schema
from anabranch.sql.expression import Expression
from anabranch.sql.lexical import quote
from anabranch.sql.parse import parse_expression
from anabranch.sql.statement import Assignments, DeleteRow, Merge, When
from anabranch.sql.targets import position_of


@dataclass(frozen=True)
class Kept:
    """The old value stays; NULL in a row that is inserted."""

    clauses: tuple[int, ...]


@dataclass(frozen=True)
class Written:
    """The value of an expression; `source_column` if it is nothing but a column of the source.

    A source's column means the same in every clause, so it is one value however many clauses give
    it. Any other expression belongs to the kind of clause (`when`) whose names it was written for.
    """

    clauses: tuple[int, ...]
    when: When
    expression: Expression
    source_column: str | None


Value = Kept | Written


def new_values(merge: Merge, schema: Schema, source: str) -> list[list[Value]]:
    """For each column of the table, its distinct new values, each with the clauses that give it."""
    found: list[list[Value]] = [[] for _ in schema]
    for number, clause in enumerate(merge.clauses):
        if isinstance(clause.action, DeleteRow):
            continue
        assignments = clause.action.assignments
        if assignments is None:
            assignments = _same_names(schema, source)
        given = {position_of(name, schema, merge.name): expression for name, expression in assignments}
        for i, values in enumerate(found):
            expression = given.get(i)
            if expression is None:
                _add(values, Kept((number,)))
            else:
                _add(values, _written(number, clause.when, expression, source))
    return found


def _same_names(schema: Schema, source: str) -> Assignments:
    return tuple((c.name, Expression(f"{quote(source)}.{quote(c.name)}")) for c in schema)


def _add(values: list[Value], value: Value) -> None:
    for i, known in enumerate(values):
        if _same(known, value):
            values[i] = replace(known, clauses=known.clauses + value.clauses)
            return
    values.append(value)


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, Kept) or isinstance(other, Kept):
        return isinstance(one, Kept) and isinstance(other, Kept)
    if one.source_column is not None or other.source_column is not None:
        return one.source_column == other.source_column
    # A row belongs to one clause, so the same words in two clauses of a kind are one value per row.
    return (one.when, one.expression) == (other.when, other.expression)


def _written(number: int, when: When, expression: Expression, source: str) -> Written:
    column = None if when is When.NOT_MATCHED_BY_SOURCE else _source_column(expression, source)
    return Written((number,), when, expression, column)


def _source_column(expression: Expression, source: str) -> str | None:
    tree = parse_expression(expression.text)
    if not isinstance(tree, exp.Column) or not isinstance(tree.this, exp.Identifier):
        return None
    plain = tree.args.get("db") is None and tree.table.lower() == source.lower()
    return tree.name.lower() if plain else None
