"""A query, ready to be stored and maintained: its plan, what is stored, in which types.

Spark decides what a query means. So its plan is held against the text before anything is stored: the same
columns in the same types, and, where there isn't too much of it, the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import Delta, Distinct, Net, Plan, Scan, SetOp, Support, subplans, tables
from anabranch.delta.pieces import Piece, pieces
from anabranch.delta.root import Maintained, maintained
from anabranch.engine.base import Frame
from anabranch.errors import NotIncremental
from anabranch.ledger.records import Moment
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.recursive import Looped, MemberDefinition, check_recursion, recursive_parts
from anabranch.refresh.sources import Sources
from anabranch.refresh.typing import check_types, over
from anabranch.render.statement import render
from anabranch.schema import Schema, has_map
from anabranch.sql.lower import Lowered, lower
from anabranch.sql.query import Query, parse_query

ADDED_UP = (Net, Distinct, Support, SetOp)
"""Operators that compare whole rows."""
CHECKED_ROWS = 1_000_000
"""With up to so many source rows, the plan's result is held against the text's."""


@dataclass(frozen=True)
class Kept:
    """One stored table of a definition, and how it is maintained."""

    table: TableName
    maintained: Maintained
    schema: Schema
    """What is stored, hidden columns included."""

    @property
    def reads(self) -> frozenset[TableName]:
        """The tables that it is computed from."""
        return frozenset(TableName.parse(name) for name in tables(self.maintained.stored))


@dataclass(frozen=True)
class FullDefinition:
    """A query whose result is stored and can only be computed from nothing, and why."""

    name: TableName
    text: str
    query: Query
    schema: Schema
    refusal: NotIncremental

    @property
    def tables(self) -> frozenset[TableName]:
        """What it reads."""
        return frozenset(self.query.reads)

    @property
    def schemas(self) -> dict[TableName, Schema]:
        """The one table that is stored."""
        return {self.name: self.schema}

    @property
    def notices(self) -> tuple[str, ...]:
        """What its user should know."""
        return ()


@dataclass(frozen=True)
class Definition:
    """A query and how its result is kept."""

    name: TableName
    text: str
    query: Query
    """The text itself, for Spark."""
    lowered: Lowered
    pieces: tuple[Kept, ...]
    """What is stored, in the order of computation: state that nobody sees, then the result."""
    loops: tuple[Looped, ...] = ()
    """Recursions inside of the query, stored too: they come before the pieces."""

    @property
    def tables(self) -> frozenset[TableName]:
        """What it reads."""
        return self.lowered.tables

    @property
    def result(self) -> Kept:
        """The piece that people see."""
        return self.pieces[-1]

    @property
    def schemas(self) -> dict[TableName, Schema]:
        """The tables that are stored, the one that people see last."""
        loops = {looped.table: looped.schema for looped in self.loops}
        return loops | {kept.table: kept.schema for kept in self.pieces}

    @property
    def notices(self) -> tuple[str, ...]:
        """What its user should know."""
        return self.lowered.notices


def define(parts: Parts, name: TableName, text: str, moment: Moment) -> Definition:
    """The definition of a query over the tables of a moment, or the error that says why it can't be one."""
    schemas = {known: version.schema.visible for known, version in moment.versions.items()}
    lowered = lower(text, schemas)
    empty = {str(table): parts.engine.scan([], schemas[table]) for table in lowered.tables}
    lowered, loops = recursive_parts(parts, name, lowered, empty)
    for looped in loops:
        check_recursion(looped.loop)
    kept: list[Kept] = []
    for piece in pieces(lowered.plan, lowered.columns, str(name)):
        kept.append(_kept(parts, piece, empty))
        empty[piece.table] = parts.engine.scan([], kept[-1].schema)
    query = parse_query(text)
    if not loops:
        # Of recursion Spark takes a part only, and ends it by its own limits.
        relations = {key: empty[str(table)] for key, table in query.tables}
        said = parts.engine.schema_of(parts.engine.query(query.template, relations))
        check_types(said, kept[-1].schema.visible)
    return Definition(name, text, query, lowered, tuple(kept), loops)


def define_full(
    parts: Parts, name: TableName, text: str, moment: Moment, refusal: NotIncremental
) -> FullDefinition:
    """The definition of a query that is only ever computed from nothing; Spark says whether it can be."""
    query = parse_query(text)
    relations = {
        key: parts.engine.scan([], moment.version(table).schema.visible) for key, table in query.tables
    }
    schema = parts.engine.schema_of(parts.engine.query(query.template, relations))
    return FullDefinition(name, text, query, schema, refusal)


def contents(definition: Definition, kept: Kept, sources: Sources) -> Frame:
    """The rows to store, computed from nothing, as of the later moment."""
    stored = kept.maintained
    if len(definition.schemas) > 1 or stored.hidden or not definition.lowered.settled:
        # The text knows neither state nor hidden columns, and would choose among ties as it likes.
        return _planned(stored.stored, stored.columns, sources)
    return _said(definition, sources)


def check_plan(parts: Parts, definition: Definition, moment: Moment) -> bool:
    """Hold the plan's rows against the text's; whether that was possible. A difference is an error."""
    rows = sum(moment.version(table).rows for table in definition.tables)
    if rows > CHECKED_ROWS or not definition.lowered.settled or definition.loops:
        return False
    sources = Sources(parts, moment, moment)
    schema = definition.result.schema.visible
    planned = _planned(definition.lowered.plan, definition.lowered.columns, sources)
    hold_against_text(parts, definition, planned, sources, schema)
    return True


def hold_against_text(
    parts: Parts, definition: Definition | MemberDefinition, rows: Frame, sources: Sources, schema: Schema
) -> None:
    """Refuse rows that aren't those that Spark makes of the text."""
    found = parts.engine.checksum(rows, schema)
    expected = parts.engine.checksum(_said(definition, sources), schema)
    if found != expected:
        raise NotIncremental(
            f'the query of "{definition.name}" is not understood: its plan gives other rows than Spark',
            detail=f"{found.rows} rows instead of {expected.rows}, or the same number with other values.",
            hint="create it with refresh_mode = full, and report the query: this is an error of ours.",
        )


def recomputed(definition: Definition | FullDefinition, sources: Sources) -> Frame:
    """The query's result from its sources, and from its recursions, as people see it."""
    if isinstance(definition, Definition) and definition.loops:
        return _planned(definition.lowered.plan, definition.lowered.columns, sources)
    if isinstance(definition, FullDefinition) or definition.lowered.settled:
        return _said(definition, sources)
    return _planned(definition.lowered.plan, definition.lowered.columns, sources)


def _planned(plan: Plan, columns: tuple[str, ...], sources: Sources) -> Frame:
    """What a query's plan gives."""
    rendered = render(plan, sources.parts.engine.dialect, columns)
    frames = {key: sources.frame(leaf) for key, leaf in rendered.leaves if isinstance(leaf, Scan)}
    return sources.parts.engine.query(rendered.template, frames)


def _said(definition: Definition | FullDefinition | MemberDefinition, sources: Sources) -> Frame:
    """What the text says, as Spark understands it."""
    relations = {key: sources.rows(table) for key, table in definition.query.tables}
    return sources.parts.engine.query(definition.query.template, relations)


def _kept(parts: Parts, piece: Piece, empty: Mapping[str, Frame]) -> Kept:
    def types(plan: Plan) -> Mapping[str, str]:
        return parts.engine.types_of(over(parts, plan, plan.names, empty))

    kept = maintained(piece.plan, piece.columns, types)
    schema = parts.engine.schema_of(over(parts, kept.stored, kept.columns, empty), hidden=True)
    _check_maps(kept, schema, {name: parts.engine.types_of(frame) for name, frame in empty.items()})
    return Kept(TableName.parse(piece.table), kept, schema)


def _check_maps(kept: Maintained, schema: Schema, types: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse maps among rows that are added up: grouped by a map, Spark makes zeros of the NULLs in it."""
    stored = zip(kept.stored.names, schema, strict=True)
    maps = {name for name, column in stored if has_map(column.type)}
    for leaf in subplans(kept.change):
        if isinstance(leaf, Scan | Delta):
            known = types[leaf.table]
            maps |= {name for name, own in leaf.columns if "map<" in known[own]}
    for part in subplans(kept.change):
        if isinstance(part, ADDED_UP) and (found := maps.intersection(part.names)):
            raise NotIncremental(
                f'the column "{min(found)}" holds maps',
                detail="rows with maps can't be added up: Spark groups them wrongly.",
                hint="store map_entries(…) of it, or create it with refresh_mode = full.",
            )
