"""A MERGE statement as the query of its changes.

Each clause may name only what it is about: WHEN MATCHED both sides, WHEN NOT MATCHED the source, WHEN
NOT MATCHED BY SOURCE the target. So the query has a level for each, in which just that is in scope:

    the join, both sides in scope           -> what WHEN MATCHED does
    around it, as the source's alias        -> what WHEN NOT MATCHED does
    around that, as the target's alias      -> what WHEN NOT MATCHED BY SOURCE does
    around that                             -> the rows for which some clause held
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from anabranch.errors import InvalidQuery
from anabranch.names import FILE, POSITION, TableName
from anabranch.schema import Schema
from anabranch.sql.expression import Expression
from anabranch.sql.merge_join import MergeJoin, merge_join, source_template
from anabranch.sql.merge_values import Computed, FromSource, OldValue, Value, new_values
from anabranch.sql.query import Query
from anabranch.sql.query_builders import (
    all_columns,
    as_subquery,
    case_when,
    column,
    in_list,
    is_not_null,
    number,
    render,
    typed_null,
    verbatim,
    with_alias,
)
from anabranch.sql.statement import DeleteRow, InsertRow, Merge, When
from anabranch.sql.target_columns import ACTION, DELETE, INSERT, NEW, PICK, UPDATE
from anabranch.sql.template import Placeholders

_ORDER = (When.MATCHED, When.NOT_MATCHED, When.NOT_MATCHED_BY_SOURCE)
_CLAUSE = "__clause"
_WHEN = "__when"


def merge_statement_changes(merge: Merge, schema: Schema) -> Query:
    """See `row_changes`."""
    return _MergeQueryBuilder(merge, schema).query()


@dataclass
class _MergeQueryBuilder:
    merge: Merge
    schema: Schema
    placeholders: Placeholders = field(default_factory=Placeholders)

    def __post_init__(self) -> None:
        self.target = self.merge.alias or self.merge.name.table
        self.source = self.merge.source_alias or "__source"
        if self.target.lower() == self.source.lower():
            raise InvalidQuery(f'both sides of MERGE are called "{self.target}"', hint="give one an alias.")
        self.visible = [self.merge.name] if self.merge.alias is None else []
        if isinstance(self.merge.source, TableName) and self.source.lower() == self.merge.source.table:
            self.visible.append(self.merge.source)
        self.values = new_values(self.merge, self.schema, self.source)
        self.hidden = [*(f"__old_{i}" for i in range(len(self.schema))), FILE, POSITION, _WHEN]

    def query(self) -> Query:
        # A source query has its own placeholders, so it goes first and keeps their numbers.
        if isinstance(self.merge.source, Query):
            for _, table in self.merge.source.tables:
                self.placeholders.placeholder_for(table)
        kinds = frozenset(clause.when for clause in self.merge.clauses)
        source = source_template(self.merge.source, self.placeholders)
        on = verbatim(self._template(self.merge.on))
        join = merge_join(kinds, source, self.target, self.source, on)
        levels = [when for when in _ORDER[1:] if self._has_expressions(when)]
        current = self._join_level(join, keep_source=When.NOT_MATCHED in levels)
        for when in levels:
            if when is When.NOT_MATCHED:
                current = self._clause_level(when, as_subquery(current, self.source))
            else:
                renamed = exp.select(
                    *[column(text) for text in self.hidden],
                    *[with_alias(column(f"__old_{i}"), c.name) for i, c in enumerate(self.schema)],
                ).from_(as_subquery(current, "__rows"))
                current = self._clause_level(when, as_subquery(renamed, self.target))
        return Query(render(self._result(current)), self.placeholders.bindings)

    def _join_level(self, join: MergeJoin, keep_source: bool) -> exp.Select:
        """The join: the old row, which case it is, and all that needs no level of its own."""
        if join.has_target:
            old = [column(c.name, self.target) for c in self.schema]
            old += [column(FILE, self.target), column(POSITION, self.target)]
        else:
            old = [typed_null(c) for c in self.schema]
            old += [verbatim("CAST(NULL AS STRING)"), verbatim("CAST(NULL AS BIGINT)")]
        items = [with_alias(value, text) for value, text in zip([*old, join.when], self.hidden, strict=True)]
        for when in _ORDER:
            if when is When.MATCHED or not self._has_expressions(when):
                items += self._clause_columns(when)
        for slot, value in self._value_columns():
            if isinstance(value, FromSource):
                items.append(with_alias(column(value.column, self.source), slot))
                self.hidden.append(slot)
        return join.query.select(*items, *([all_columns(self.source)] if keep_source else []))

    def _clause_level(self, when: When, inside: exp.Expr) -> exp.Select:
        passed = [column(text) for text in self.hidden]
        return exp.select(*passed, *self._clause_columns(when)).from_(inside)

    def _clause_columns(self, when: When) -> list[exp.Expr]:
        """Which clause of this kind holds, and the values of its expressions where it does."""
        numbered = [(i, clause) for i, clause in enumerate(self.merge.clauses) if clause.when is when]
        if not numbered:
            return []
        name = f"{_CLAUSE}_{_ORDER.index(when)}"
        conditions = [
            (verbatim("TRUE" if c.condition is None else self._template(c.condition)), number(i))
            for i, c in numbered
        ]
        here = exp.EQ(this=column(_WHEN), expression=number(_ORDER.index(when)))
        items = [with_alias(case_when([(here, case_when(conditions))]), name)]
        self.hidden.append(name)
        for slot, value in self._value_columns():
            if isinstance(value, Computed) and value.when is when:
                held = in_list(column(name), value.clauses)
                items.append(
                    with_alias(case_when([(held, verbatim(self._template(value.expression)))]), slot)
                )
                self.hidden.append(slot)
        return items

    def _result(self, inside: exp.Select) -> exp.Select:
        clauses = [column(f"{_CLAUSE}_{i}") for i, when in enumerate(_ORDER) if self._clause_numbers(when)]
        first, *others = clauses
        clause = exp.Coalesce(this=first, expressions=others) if others else first
        numbered = exp.select(exp.Star(), with_alias(clause, _CLAUSE)).from_(as_subquery(inside, "__rows"))
        actions = [
            (exp.EQ(this=column(_CLAUSE), expression=number(i)), number(_action_code(c.action)))
            for i, c in enumerate(self.merge.clauses)
        ]
        return (
            exp.select(
                *[with_alias(column(f"__old_{i}"), c.name) for i, c in enumerate(self.schema)],
                column(FILE),
                column(POSITION),
                with_alias(case_when(actions), ACTION),
                *[with_alias(self._new_value(i), f"{NEW}{i}") for i in range(len(self.schema))],
                *self._alternatives(),
            )
            .from_(as_subquery(numbered, "__changes"))
            .where(is_not_null(column(_CLAUSE)))
        )

    def _new_value(self, i: int) -> exp.Expr:
        match self.values[i]:
            case []:
                return typed_null(self.schema.columns[i])
            case [value]:
                return self._value_where_clause_holds(i, 0, value)
            case _:
                return verbatim("raise_error('this column has several candidates')")

    def _alternatives(self) -> list[exp.Expr]:
        items: list[exp.Expr] = []
        for i, values in enumerate(self.values):
            if len(values) > 1:
                items += [
                    with_alias(self._value_where_clause_holds(i, k, value), f"{NEW}{i}_{k}")
                    for k, value in enumerate(values)
                ]
                picks = [
                    (in_list(column(_CLAUSE), value.clauses), number(k)) for k, value in enumerate(values)
                ]
                items.append(with_alias(case_when(picks), f"{PICK}{i}"))
        return items

    def _value_where_clause_holds(self, i: int, k: int, value: Value) -> exp.Expr:
        """A value for the rows whose clause gives it; a user's own expression is guarded where it stands."""
        shown = column(f"__old_{i}") if isinstance(value, OldValue) else column(_value_column(i, k))
        if isinstance(value, Computed):
            return shown
        return case_when([(in_list(column(_CLAUSE), value.clauses), shown)])

    def _value_columns(self) -> list[tuple[str, Value]]:
        return [
            (_value_column(i, k), value)
            for i, values in enumerate(self.values)
            for k, value in enumerate(values)
        ]

    def _clause_numbers(self, when: When) -> list[int]:
        return [i for i, clause in enumerate(self.merge.clauses) if clause.when is when]

    def _has_expressions(self, when: When) -> bool:
        """Whether clauses of this kind hold expressions, which need the level where their names are known."""
        conditions = any(c.when is when and c.condition is not None for c in self.merge.clauses)
        return conditions or any(
            isinstance(value, Computed) and value.when is when for _, value in self._value_columns()
        )

    def _template(self, expression: Expression) -> str:
        return expression.template(self.placeholders, self.visible)


def _value_column(i: int, k: int) -> str:
    return f"__value_{i}_{k}"


def _action_code(action: object) -> int:
    if isinstance(action, DeleteRow):
        return DELETE
    return INSERT if isinstance(action, InsertRow) else UPDATE
