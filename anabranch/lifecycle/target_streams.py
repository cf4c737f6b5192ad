"""What stream tables will be once many changes are made: who reads whom, how each is kept, who is rebuilt.

Worked out from definitions and columns alone: no row is read and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from anabranch.errors import BrokenDefinition, HasDependents, InvalidGroup, NameTaken, SqlError, UnknownTable
from anabranch.lifecycle.create import refusal_reason
from anabranch.lifecycle.cycles import define_cycle
from anabranch.lifecycle.definition_changes import DefinitionChanges
from anabranch.lifecycle.refresh_groups import check_group_member
from anabranch.names import TableName
from anabranch.refresh.definition_cache import Defined
from anabranch.refresh.run_context import RefreshRun
from anabranch.sql.query import parse_query
from anabranch.streams.graph import Graph
from anabranch.streams.stream_graph import (
    Streams,
    check_cycle_modes,
    check_cycles_allowed,
    check_immediate,
    cycle_of,
    declared_groups,
)
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.versions import STREAM, LakeVersion, TableVersion

QUERY, COLUMNS, MODE = "its query changes", "the columns of what it reads change", "its refresh_mode changes"
"""Why a stream table that is there gets another definition."""

Found = TypeVar("Found")
Define = Callable[[TableName, str, str, LakeVersion, bool], Defined]
"""The definition of a query under a refresh mode; the last says whether all that it reads can be read now."""


@dataclass
class TargetStreams:
    """The stream tables as they will be."""

    graph: Graph
    after: dict[TableName, StreamTable]
    lake_version: LakeVersion
    """With the columns that everything will have."""
    created: frozenset[TableName]
    defined: dict[TableName, Defined] = field(default_factory=dict)
    """New definitions: of what is created, and of what is redefined."""
    redefined: dict[TableName, str] = field(default_factory=dict)
    """Stream tables that are there and get another definition, and why."""
    reshaped: set[TableName] = field(default_factory=set)
    """Stream tables whose columns change."""


def resolve_target_streams(
    refresh_run: RefreshRun, changes: DefinitionChanges, define: Define | None = None
) -> TargetStreams:
    """The stream tables after the changes, in a refresh run that has new sources; raises if it can't be."""
    define = define or _unchecked_definer(refresh_run)
    dropped = frozenset(changes.dropped)
    before = {name: stream for name, stream in refresh_run.streams.items() if name not in dropped}
    hidden = {table for name in dropped for table in (name, *refresh_run.streams[name].state_tables)}
    versions = {
        name: version for name, version in refresh_run.lake_version.versions.items() if name not in hidden
    }
    _check_names(changes, versions)
    after = _apply_groups(_apply_definitions(before, changes), changes)
    graph = Graph({name: frozenset(stream.inputs) for name, stream in after.items()})
    _check_drops(graph, changes)
    check_cycles_allowed(graph, refresh_run.context.settings)
    check_immediate(after)
    check_cycle_modes(graph, after)
    made = TargetStreams(
        graph,
        after,
        replace(refresh_run.lake_version, versions=versions),
        frozenset(new.name for new in changes.created),
    )
    wanted = {
        altered.name: _redefinition_reason(before[altered.name], altered.query, after)
        for altered in changes.altered
    }
    for name in graph.order():
        members = cycle_of(graph, name)
        if members and name == min(members):
            _define_cycle_members(refresh_run, made, changes, wanted, members)
        elif not members:
            _define_stream_table(made, changes, wanted, name, define)
    return made


def _redefinition_reason(stream: StreamTable, query: str, after: Streams) -> str | None:
    if query != stream.query:
        return QUERY
    return MODE if after[stream.name].options.refresh_mode != stream.options.refresh_mode else None


def _check_names(changes: DefinitionChanges, versions: Mapping[TableName, TableVersion]) -> None:
    seen: set[TableName] = set()
    new = {source.name for source in changes.sources}
    for item in changes.created:
        if item.name in versions or item.name in seen | new:
            raise NameTaken(f'the name "{item.name}" is taken')
        seen.add(item.name)


def _apply_definitions(before: Streams, changes: DefinitionChanges) -> dict[TableName, StreamTable]:
    after = dict(before)
    for new in changes.created:
        inputs = tuple(sorted(parse_query(new.query).reads))
        after[new.name] = StreamTable(new.name, "", new.query, new.options, inputs)
    for altered in changes.altered:
        inputs = tuple(sorted(parse_query(altered.query).reads))
        after[altered.name] = replace(
            before[altered.name], query=altered.query, options=altered.options, inputs=inputs
        )
    return after


def _apply_groups(
    after: dict[TableName, StreamTable], changes: DefinitionChanges
) -> dict[TableName, StreamTable]:
    left = {
        name: replace(stream, declared=None) if stream.declared in changes.groups_dropped else stream
        for name, stream in after.items()
    }
    for group, members in declared_groups(left).items():
        if len(members) < 2:
            left |= {name: replace(left[name], declared=None) for name in members}
        if any(wanted.name == group for wanted in changes.groups):
            raise InvalidGroup(f'there is a group "{group}" already')
    for wanted in changes.groups:
        left |= {
            name: replace(check_group_member(left, name), declared=wanted.name) for name in wanted.members
        }
    return left


def _check_drops(graph: Graph, changes: DefinitionChanges) -> None:
    for name in changes.dropped:
        if readers := sorted(graph.readers(name)):
            names = ", ".join(f'"{reader}"' for reader in readers)
            raise HasDependents(
                f'"{name}" can\'t be dropped: other stream tables read it',
                detail=f"they are {names}.",
                hint="drop or alter them first.",
            )


# -- definitions ----------------------------------------------------------------------------------


def _unchecked_definer(refresh_run: RefreshRun) -> Define:
    def define(name: TableName, query: str, mode: str, lake_version: LakeVersion, _there: bool) -> Defined:
        return refresh_run.definitions.get(name, query, mode, lake_version)

    return define


def _define_stream_table(
    made: TargetStreams,
    changes: DefinitionChanges,
    wanted: Mapping[TableName, str | None],
    name: TableName,
    define: Define,
) -> None:
    stream = made.after[name]
    new, why = name in made.created, wanted.get(name)
    if new or why is not None:
        there = frozenset(stream.inputs).isdisjoint({*made.created, *made.redefined})
        definition = define(name, stream.query, stream.options.refresh_mode, made.lake_version, there)
    elif frozenset(stream.inputs).isdisjoint(made.reshaped):
        return
    else:
        definition = _redefine_same_query(
            name, lambda: define(name, stream.query, stream.options.refresh_mode, made.lake_version, False)
        )
        if definition.schemas[name].visible == made.lake_version.version(name).schema.visible:
            return
        why = _rebuild_reason(name, definition, made, changes)
    _add_definition(made, name, definition, why)


def _define_cycle_members(
    refresh_run: RefreshRun,
    made: TargetStreams,
    changes: DefinitionChanges,
    wanted: Mapping[TableName, str | None],
    members: frozenset[TableName],
) -> None:
    texts = {name: made.after[name].query for name in sorted(members)}
    asked = {name for name in members if name in made.created or wanted.get(name) is not None}
    reads = {read for name in members for read in made.after[name].inputs}
    if not asked and reads.isdisjoint(made.reshaped):
        return
    circle = partial(define_cycle, refresh_run, texts, made.lake_version, members)
    found = circle() if asked else _redefine_same_query(min(members), circle)
    for name, definition in found.items():
        if name in asked:
            _add_definition(made, name, definition, wanted.get(name))
        elif definition.schemas[name].visible != made.lake_version.version(name).schema.visible:
            _add_definition(made, name, definition, _rebuild_reason(name, definition, made, changes))


def _redefine_same_query(name: TableName, define: Callable[[], Found]) -> Found:
    """A definition whose text stays what it was; what it reads may no longer fit it."""
    try:
        return define()
    except (SqlError, UnknownTable) as error:
        raise BrokenDefinition(
            f'the query of "{name}" would no longer fit what it reads',
            detail=error.message,
            hint=f'alter or drop "{name}" too.',
        ) from error


def _rebuild_reason(
    name: TableName, definition: Defined, made: TargetStreams, changes: DefinitionChanges
) -> str:
    if name in changes.managed:
        return COLUMNS
    stored = made.lake_version.version(name).schema.visible
    raise BrokenDefinition(
        f'"{name}" would have other columns',
        detail=f"stored: {stored}; they would be: {definition.schemas[name].visible}.",
        hint=f'it is not one of this project\'s: drop "{name}" first, and create it again.',
    )


def _add_definition(made: TargetStreams, name: TableName, definition: Defined, why: str | None) -> None:
    schema, version = definition.schemas[name], made.lake_version.versions.get(name)
    stream = made.after[name]
    own = tuple(table for table in definition.schemas if table != name)
    taken = [
        table for table in own if table in made.lake_version.versions and table not in stream.state_tables
    ]
    if taken:
        raise NameTaken(f'the name "{taken[0]}", which "{name}" needs for its state, is taken')
    if version is None or version.schema.visible != schema.visible:
        made.reshaped.add(name)
    if version is None:
        version = TableVersion("", name, STREAM, schema, 0, None, 0, "")
    made.lake_version = replace(
        made.lake_version, versions={**made.lake_version.versions, name: replace(version, schema=schema)}
    )
    made.after[name] = replace(stream, state_tables=own, refusal=refusal_reason(definition))
    made.defined[name] = definition
    if why is not None:
        made.redefined[name] = why
