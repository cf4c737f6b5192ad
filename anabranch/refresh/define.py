"""A definition: a query's plan, the tables that store its result and hidden state, and their types.

Spark decides what a query means. So its plan is compared with the text before anything is stored: the same
columns in the same types, and, where there isn't too much of it, the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Distinct,
    Net,
    Plan,
    Scan,
    SetOp,
    Support,
    Window,
    subplans,
    tables,
)
from anabranch.connection.lake_context import LakeContext
from anabranch.delta.hidden_state import HiddenState, split_hidden_state
from anabranch.delta.maintenance_plan import MaintenancePlan, plan_maintenance
from anabranch.delta.order_of_rows import depends_on_order
from anabranch.engine.base import Frame
from anabranch.engine.render.statement import render
from anabranch.engine.row_plans import count_differences, exact_columns
from anabranch.engine.run_plan import run_plan
from anabranch.errors import NotIncremental
from anabranch.names import TableName
from anabranch.refresh.column_types import check_types
from anabranch.refresh.inputs import Sources
from anabranch.refresh.recursive_definitions import (
    CycleMemberDefinition,
    StoredRecursiveTable,
    check_recursion,
    define_recursive_tables,
)
from anabranch.schema import Schema, has_map
from anabranch.sql.lower import LoweredQuery, lower
from anabranch.sql.query import Query, parse_query
from anabranch.streams.versions import LakeVersion

ADDED_UP = (Net, Distinct, Support, SetOp)
"""Operators that compare whole rows."""
CHECKED_ROWS = 1_000_000
"""With up to so many source rows, the plan's result is compared with the text's."""


@dataclass(frozen=True)
class StoredTable:
    """One stored table of a definition, and how it is maintained."""

    table: TableName
    maintained: MaintenancePlan
    schema: Schema
    """What is stored, hidden columns included."""
    query: Plan
    """What its rows are the result of."""

    @property
    def reads(self) -> frozenset[TableName]:
        """The tables that it is computed from."""
        return frozenset(TableName.parse(name) for name in tables(self.maintained.stored))


@dataclass(frozen=True)
class FullDefinition:
    """A query whose stored result can only be recomputed in full, and why."""

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
    """A query and how its result is stored and maintained."""

    name: TableName
    text: str
    query: Query
    """The text itself, for Spark."""
    lowered: LoweredQuery
    stored_tables: tuple[StoredTable, ...]
    """What is stored, in the order of computation: hidden state, then the result."""
    loops: tuple[StoredRecursiveTable, ...] = ()
    """Recursions inside of the query, stored too: they are computed before the other tables."""

    @property
    def tables(self) -> frozenset[TableName]:
        """What it reads."""
        return self.lowered.tables

    @property
    def result(self) -> StoredTable:
        """The stored table that people see."""
        return self.stored_tables[-1]

    @property
    def schemas(self) -> dict[TableName, Schema]:
        """The tables that are stored, the one that people see last."""
        loops = {looped.table: looped.schema for looped in self.loops}
        return loops | {kept.table: kept.schema for kept in self.stored_tables}

    @property
    def notices(self) -> tuple[str, ...]:
        """What its user should know."""
        return self.lowered.notices


def define(context: LakeContext, name: TableName, text: str, lake_version: LakeVersion) -> Definition:
    """The definition of a query over a lake version; an error says why there can't be one."""
    schemas = {known: version.schema.visible for known, version in lake_version.versions.items()}
    lowered = lower(text, schemas)
    empty = {str(table): context.engine.scan([], schemas[table]) for table in lowered.tables}
    lowered, loops = define_recursive_tables(context, name, lowered, empty)
    for looped in loops:
        check_recursion(looped.loop)
    kept: list[StoredTable] = []

    def depends(part: Aggregate | Window) -> bool:
        return depends_on_order(part, lambda plan: _types_of(context, plan, empty))

    inner_state = context.settings["inner_state"]
    for state in split_hidden_state(lowered.plan, lowered.columns, str(name), inner_state, depends):
        kept.append(_define_stored_table(context, state, empty))
        empty[state.table] = context.engine.scan([], kept[-1].schema)
    query = parse_query(text)
    if not loops:
        # Spark supports recursion only in part, and ends it by its own limits.
        relations = {key: empty[str(table)] for key, table in query.tables}
        said = context.engine.schema_of(context.engine.run_query(query.template, relations))
        check_types(said, kept[-1].schema.visible)
    return Definition(name, text, query, lowered, tuple(kept), loops)


def define_full(
    context: LakeContext, name: TableName, text: str, lake_version: LakeVersion, refusal: NotIncremental
) -> FullDefinition:
    """The definition of a query that is always recomputed in full; Spark says whether it can be."""
    query = parse_query(text)
    relations = {
        key: context.engine.scan([], lake_version.version(table).schema.visible)
        for key, table in query.tables
    }
    schema = context.engine.schema_of(context.engine.run_query(query.template, relations))
    return FullDefinition(name, text, query, schema, refusal)


def compute_contents(definition: Definition, kept: StoredTable, sources: Sources) -> Frame:
    """The rows to store, recomputed in full, as of the later lake version."""
    stored = kept.maintained
    if len(definition.schemas) > 1 or stored.hidden_columns or not definition.lowered.settled:
        # The text has neither hidden state nor hidden columns, and may choose otherwise among ties.
        return _run_plan_over_sources(stored.stored, stored.columns, sources)
    return _run_query_text(definition, sources)


def check_plan(context: LakeContext, definition: Definition, lake_version: LakeVersion) -> bool:
    """Compare the plan's rows with the text's; False if that wasn't possible. A difference is an error."""
    rows = sum(lake_version.version(table).rows for table in definition.tables)
    if rows > CHECKED_ROWS or not definition.lowered.settled or definition.loops:
        return False
    sources = Sources(context, lake_version, lake_version)
    schema = definition.result.schema.visible
    planned = _run_plan_over_sources(definition.lowered.plan, definition.lowered.columns, sources)
    check_rows_against_text(context, definition, planned, sources, schema)
    return True


def check_rows_against_text(
    context: LakeContext,
    definition: Definition | CycleMemberDefinition,
    rows: Frame,
    sources: Sources,
    schema: Schema,
) -> None:
    """Refuse rows that differ from those that Spark computes from the text."""
    expected = _run_query_text(definition, sources)
    surplus, missing = count_differences(context.engine, rows, expected, exact_columns(schema))
    if surplus or missing:
        raise NotIncremental(
            f'the query of "{definition.name}" is not understood: its plan gives other rows than Spark',
            detail=f"{surplus} of its rows are none of Spark's, and it lacks {missing} of these.",
            hint="create it with refresh_mode = full, and report the query: this is an error of ours.",
        )


def recompute(definition: Definition | FullDefinition, sources: Sources) -> Frame:
    """The visible result of the query, computed from its sources and its recursions."""
    if isinstance(definition, Definition) and definition.loops:
        return _run_plan_over_sources(definition.lowered.plan, definition.lowered.columns, sources)
    if isinstance(definition, FullDefinition) or definition.lowered.settled:
        return _run_query_text(definition, sources)
    return _run_plan_over_sources(definition.lowered.plan, definition.lowered.columns, sources)


def _run_plan_over_sources(plan: Plan, columns: tuple[str, ...], sources: Sources) -> Frame:
    """Run a query's plan over its sources."""
    rendered = render(plan, sources.context.engine.dialect, columns)
    frames = {key: sources.scan_leaf(leaf) for key, leaf in rendered.leaves if isinstance(leaf, Scan)}
    return sources.context.engine.run_query(rendered.template, frames)


def _run_query_text(
    definition: Definition | FullDefinition | CycleMemberDefinition, sources: Sources
) -> Frame:
    """Run the text of a query in Spark."""
    # A text may read one table several times: each time it is a frame of its own.
    relations = {key: sources.scan_visible_rows(table, key) for key, table in definition.query.tables}
    return sources.context.engine.run_query(definition.query.template, relations)


def _define_stored_table(context: LakeContext, state: HiddenState, empty: Mapping[str, Frame]) -> StoredTable:
    kept = plan_maintenance(state.plan, state.columns, lambda plan: _types_of(context, plan, empty))
    schema = context.engine.schema_of(run_plan(context.engine, kept.stored, empty, kept.columns), hidden=True)
    _check_maps(kept, schema, {name: context.engine.types_of(frame) for name, frame in empty.items()})
    return StoredTable(TableName.parse(state.table), kept, schema, state.plan)


def _types_of(context: LakeContext, plan: Plan, empty: Mapping[str, Frame]) -> Mapping[str, str]:
    """The types of a plan's columns, over tables without rows."""
    return context.engine.types_of(run_plan(context.engine, plan, empty))


def _check_maps(kept: MaintenancePlan, schema: Schema, types: Mapping[str, Mapping[str, str]]) -> None:
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
