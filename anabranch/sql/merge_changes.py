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
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.sql.build import (
    among,
    called,
    choose,
    column,
    everything,
    missing,
    nested,
    number,
    present,
    render,
    verbatim,
)
from anabranch.sql.expression import Expression
from anabranch.sql.merge_join import MergeJoin, merge_join, source_template
from anabranch.sql.merge_values import Computed, FromSource, Kept, Value, new_values
from anabranch.sql.query import Query
from anabranch.sql.statement import DeleteRow, InsertRow, Merge, When
from anabranch.sql.targets import ACTION, DELETE, FILE, INSERT, NEW, PICK, POSITION, UPDATE
from anabranch.sql.template import Placeholders

_ORDER = (When.MATCHED, When.NOT_MATCHED, When.NOT_MATCHED_BY_SOURCE)
_CLAUSE = "__clause"
_WHEN = "__when"


def merge_statement_changes(merge: Merge, schema: Schema) -> Query:
    """See `row_changes`."""
    return _Builder(merge, schema).query()


@dataclass
class _Builder:
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
                self.placeholders.of(table)
        kinds = frozenset(clause.when for clause in self.merge.clauses)
        source = source_template(self.merge.source, self.placeholders)
        on = verbatim(self._template(self.merge.on))
        join = merge_join(kinds, source, self.target, self.source, on)
        levels = [when for when in _ORDER[1:] if self._has_text(when)]
        current = self._joined(join, keep_source=When.NOT_MATCHED in levels)
        for when in levels:
            if when is When.NOT_MATCHED:
                current = self._level(when, nested(current, self.source))
            else:
                renamed = exp.select(
                    *[column(text) for text in self.hidden],
                    *[called(column(f"__old_{i}"), c.name) for i, c in enumerate(self.schema)],
                ).from_(nested(current, "__rows"))
                current = self._level(when, nested(renamed, self.target))
        return Query(render(self._result(current)), self.placeholders.bound)

    def _joined(self, join: MergeJoin, keep_source: bool) -> exp.Select:
        """The join: the old row, which case it is, and all that needs no level of its own."""
        if join.has_target:
            old = [column(c.name, self.target) for c in self.schema]
            old += [column(FILE, self.target), column(POSITION, self.target)]
        else:
            old = [missing(c) for c in self.schema]
            old += [verbatim("CAST(NULL AS STRING)"), verbatim("CAST(NULL AS BIGINT)")]
        items = [called(value, text) for value, text in zip([*old, join.when], self.hidden, strict=True)]
        for when in _ORDER:
            if when is When.MATCHED or not self._has_text(when):
                items += self._items(when)
        for slot, value in self._slots():
            if isinstance(value, FromSource):
                items.append(called(column(value.column, self.source), slot))
                self.hidden.append(slot)
        return join.query.select(*items, *([everything(self.source)] if keep_source else []))

    def _level(self, when: When, inside: exp.Expr) -> exp.Select:
        passed = [column(text) for text in self.hidden]
        return exp.select(*passed, *self._items(when)).from_(inside)

    def _items(self, when: When) -> list[exp.Expr]:
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
        items = [called(choose([(here, choose(conditions))]), name)]
        self.hidden.append(name)
        for slot, value in self._slots():
            if isinstance(value, Computed) and value.when is when:
                held = among(column(name), value.clauses)
                items.append(called(choose([(held, verbatim(self._template(value.expression)))]), slot))
                self.hidden.append(slot)
        return items

    def _result(self, inside: exp.Select) -> exp.Select:
        clauses = [column(f"{_CLAUSE}_{i}") for i, when in enumerate(_ORDER) if self._numbers(when)]
        first, *others = clauses
        clause = exp.Coalesce(this=first, expressions=others) if others else first
        numbered = exp.select(exp.Star(), called(clause, _CLAUSE)).from_(nested(inside, "__rows"))
        actions = [
            (exp.EQ(this=column(_CLAUSE), expression=number(i)), number(_action(c.action)))
            for i, c in enumerate(self.merge.clauses)
        ]
        return (
            exp.select(
                *[called(column(f"__old_{i}"), c.name) for i, c in enumerate(self.schema)],
                column(FILE),
                column(POSITION),
                called(choose(actions), ACTION),
                *[called(self._new(i), f"{NEW}{i}") for i in range(len(self.schema))],
                *self._alternatives(),
            )
            .from_(nested(numbered, "__changes"))
            .where(present(column(_CLAUSE)))
        )

    def _new(self, i: int) -> exp.Expr:
        match self.values[i]:
            case []:
                return missing(self.schema.columns[i])
            case [value]:
                return self._picked(i, 0, value)
            case _:
                return verbatim("raise_error('this column has several candidates')")

    def _alternatives(self) -> list[exp.Expr]:
        items: list[exp.Expr] = []
        for i, values in enumerate(self.values):
            if len(values) > 1:
                items += [
                    called(self._picked(i, k, value), f"{NEW}{i}_{k}") for k, value in enumerate(values)
                ]
                picks = [(among(column(_CLAUSE), value.clauses), number(k)) for k, value in enumerate(values)]
                items.append(called(choose(picks), f"{PICK}{i}"))
        return items

    def _picked(self, i: int, k: int, value: Value) -> exp.Expr:
        """A value for the rows whose clause gives it; a user's own expression is guarded where it stands."""
        shown = column(f"__old_{i}") if isinstance(value, Kept) else column(_slot(i, k))
        if isinstance(value, Computed):
            return shown
        return choose([(among(column(_CLAUSE), value.clauses), shown)])

    def _slots(self) -> list[tuple[str, Value]]:
        return [
            (_slot(i, k), value) for i, values in enumerate(self.values) for k, value in enumerate(values)
        ]

    def _numbers(self, when: When) -> list[int]:
        return [i for i, clause in enumerate(self.merge.clauses) if clause.when is when]

    def _has_text(self, when: When) -> bool:
        """Whether clauses of this kind hold expressions, which need the level where their names are known."""
        conditions = any(c.when is when and c.condition is not None for c in self.merge.clauses)
        return conditions or any(
            isinstance(value, Computed) and value.when is when for _, value in self._slots()
        )

    def _template(self, expression: Expression) -> str:
        return expression.template(self.placeholders, self.visible)


def _slot(i: int, k: int) -> str:
    return f"__value_{i}_{k}"


def _action(action: object) -> int:
    if isinstance(action, DeleteRow):
        return DELETE
    return INSERT if isinstance(action, InsertRow) else UPDATE
