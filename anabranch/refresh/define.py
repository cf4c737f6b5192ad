"""A query, ready to be stored and maintained: its plan, what is stored, in which types.

Spark decides what a query means. So its plan is held against the text before anything is stored: the same
columns in the same types, and, where there isn't too much of it, the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import Plan
from anabranch.delta.root import Maintained, maintained
from anabranch.engine.base import Frame
from anabranch.errors import NotIncremental
from anabranch.ledger.records import Moment
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.read.view import frame_of
from anabranch.refresh.bind import bound
from anabranch.render.dialect import SPARK
from anabranch.render.statement import render
from anabranch.schema import Schema
from anabranch.sql.lower import Lowered, lower
from anabranch.sql.query import Query, parse_query

CHECKED_ROWS = 1_000_000
"""With up to so many source rows, the plan's result is held against the text's."""


@dataclass(frozen=True)
class Definition:
    """A query and how its result is kept."""

    name: TableName
    text: str
    query: Query
    """The text itself, for Spark."""
    lowered: Lowered
    maintained: Maintained
    schema: Schema
    """What is stored, hidden columns included."""

    @property
    def tables(self) -> frozenset[TableName]:
        """What it reads."""
        return self.lowered.tables


def define(parts: Parts, name: TableName, text: str, moment: Moment) -> Definition:
    """The definition of a query over the tables of a moment, or the error that says why it can't be one."""
    schemas = {known: version.schema.visible for known, version in moment.versions.items()}
    lowered = lower(text, schemas)
    empty = {str(table): parts.engine.scan([], schemas[table]) for table in lowered.tables}

    def types(plan: Plan) -> Mapping[str, str]:
        return parts.engine.types_of(_over(parts, plan, plan.names, empty.__getitem__))

    kept = maintained(lowered.plan, lowered.columns, types)
    frame = _over(parts, kept.stored, kept.columns, empty.__getitem__)
    schema = parts.engine.schema_of(frame, hidden=True)
    query = parse_query(text)
    relations = {key: empty[str(table)] for key, table in query.tables}
    _check_types(parts.engine.schema_of(parts.engine.query(query.template, relations)), schema.visible)
    return Definition(name, text, query, lowered, kept, schema)


def contents(parts: Parts, definition: Definition, moment: Moment) -> Frame:
    """The rows to store, computed from nothing."""
    if definition.maintained.hidden or not definition.lowered.settled:
        # The text has no hidden columns, and would choose among ties as it likes.
        return planned(parts, definition, moment)
    relations = {key: frame_of(parts, moment.version(table)) for key, table in definition.query.tables}
    return parts.engine.query(definition.query.template, relations)


def planned(parts: Parts, definition: Definition, moment: Moment) -> Frame:
    """The rows to store, as the plan computes them."""
    kept = definition.maintained
    return _over(
        parts,
        kept.stored,
        kept.columns,
        lambda table: frame_of(parts, moment.version(TableName.parse(table))),
    )


def check_plan(parts: Parts, definition: Definition, moment: Moment) -> bool:
    """Hold the plan's rows against the text's; whether that was possible. A difference is an error."""
    rows = sum(moment.version(table).rows for table in definition.tables)
    if rows > CHECKED_ROWS or not definition.lowered.settled:
        return False
    relations = {key: frame_of(parts, moment.version(table)) for key, table in definition.query.tables}
    said = parts.engine.query(definition.query.template, relations)
    schema = definition.schema.visible
    expected = parts.engine.checksum(said, schema)
    found = parts.engine.checksum(planned(parts, definition, moment), schema)
    if found != expected:
        raise NotIncremental(
            f'the query of "{definition.name}" is not understood: its plan gives other rows than Spark',
            detail=f"{found.rows} rows instead of {expected.rows}, or the same number with other values.",
            hint="create it with refresh_mode = full, and report the query: this is an error of ours.",
        )
    return True


def _over(parts: Parts, plan: Plan, columns: tuple[str, ...], frame: Callable[[str], Frame]) -> Frame:
    rendered = render(plan, SPARK, columns)
    return parts.engine.query(rendered.template, bound(rendered, scans=frame))


def _check_types(said: Schema, planned: Schema) -> None:
    wrong = [
        f"{there.name} is {there.type}, and {here.type} in the plan"
        for here, there in zip(planned, said, strict=True)
        if (here.name, here.type) != (there.name, there.type)
    ]
    if wrong:
        raise NotIncremental(
            "the query is not understood: its plan has other columns than Spark gives it",
            detail="; ".join(wrong)[:600] + ".",
            hint="create it with refresh_mode = full, and report the query: this is an error of ours.",
        )
