"""What stream tables will be once many changes are made: who reads whom, how each is kept, who is rebuilt.

Worked out from definitions and columns alone: no row is read and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from anabranch.errors import BrokenDefinition, HasDependents, InvalidGroup, NameTaken, SqlError, UnknownTable
from anabranch.graph.graph import Graph
from anabranch.ledger.records import Moment, Version
from anabranch.ledger.streams import StreamTable
from anabranch.lifecycle.changes import Changes
from anabranch.lifecycle.create import refusal_of
from anabranch.lifecycle.cycles import define_cycle
from anabranch.lifecycle.declare import checked_member
from anabranch.names import TableName
from anabranch.refresh.definitions import Defined
from anabranch.refresh.graphs import (
    Streams,
    admitted,
    check_cycles,
    check_immediate,
    cycle_of,
    declared_in,
)
from anabranch.refresh.member import STREAM
from anabranch.refresh.passes import Pass
from anabranch.sql.query import parse_query

QUERY, COLUMNS, MODE = "its query changes", "the columns of what it reads change", "its refresh_mode changes"
"""Why a stream table that is there gets another definition."""

Found = TypeVar("Found")
Define = Callable[[TableName, str, str, Moment, bool], Defined]
"""The definition of a query under a refresh mode; the last says whether all that it reads can be read now."""


@dataclass
class Blueprint:
    """The stream tables as they will be."""

    graph: Graph
    after: dict[TableName, StreamTable]
    moment: Moment
    """With the columns that everything will have."""
    created: frozenset[TableName]
    defined: dict[TableName, Defined] = field(default_factory=dict)
    """New definitions: of what is created, and of what is redefined."""
    redefined: dict[TableName, str] = field(default_factory=dict)
    """Stream tables that are there and get another definition, and why."""
    reshaped: set[TableName] = field(default_factory=set)
    """Stream tables whose columns change."""


def draw(a_pass: Pass, changes: Changes, define: Define | None = None) -> Blueprint:
    """The stream tables after the changes, in a pass that sees new sources already; or why it can't be."""
    define = define or _plainly(a_pass)
    dropped = frozenset(changes.dropped)
    before = {name: stream for name, stream in a_pass.streams.items() if name not in dropped}
    hidden = {table for name in dropped for table in (name, *a_pass.streams[name].state_tables)}
    versions = {name: version for name, version in a_pass.moment.versions.items() if name not in hidden}
    _check_names(changes, versions)
    after = _with_groups(_with_definitions(before, changes), changes)
    graph = Graph({name: frozenset(stream.inputs) for name, stream in after.items()})
    _check_dropped(graph, changes)
    admitted(graph, a_pass.parts.settings)
    check_immediate(after)
    check_cycles(graph, after)
    made = Blueprint(
        graph,
        after,
        replace(a_pass.moment, versions=versions),
        frozenset(new.name for new in changes.created),
    )
    wanted = {altered.name: _why(before[altered.name], altered.query, after) for altered in changes.altered}
    for name in graph.order():
        members = cycle_of(graph, name)
        if members and name == min(members):
            _define_circle(a_pass, made, changes, wanted, members)
        elif not members:
            _define_one(made, changes, wanted, name, define)
    return made


def _why(stream: StreamTable, query: str, after: Streams) -> str | None:
    if query != stream.query:
        return QUERY
    return MODE if after[stream.name].options.refresh_mode != stream.options.refresh_mode else None


def _check_names(changes: Changes, versions: Mapping[TableName, Version]) -> None:
    seen: set[TableName] = set()
    new = {source.name for source in changes.sources}
    for item in changes.created:
        if item.name in versions or item.name in seen | new:
            raise NameTaken(f'the name "{item.name}" is taken')
        seen.add(item.name)


def _with_definitions(before: Streams, changes: Changes) -> dict[TableName, StreamTable]:
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


def _with_groups(after: dict[TableName, StreamTable], changes: Changes) -> dict[TableName, StreamTable]:
    left = {
        name: replace(stream, declared=None) if stream.declared in changes.groups_dropped else stream
        for name, stream in after.items()
    }
    for group, members in declared_in(left).items():
        if len(members) < 2:
            left |= {name: replace(left[name], declared=None) for name in members}
        if any(wanted.name == group for wanted in changes.groups):
            raise InvalidGroup(f'there is a group "{group}" already')
    for wanted in changes.groups:
        left |= {name: replace(checked_member(left, name), declared=wanted.name) for name in wanted.members}
    return left


def _check_dropped(graph: Graph, changes: Changes) -> None:
    for name in changes.dropped:
        if readers := sorted(graph.readers(name)):
            names = ", ".join(f'"{reader}"' for reader in readers)
            raise HasDependents(
                f'"{name}" can\'t be dropped: other stream tables read it',
                detail=f"they are {names}.",
                hint="drop or alter them first.",
            )


# -- definitions ----------------------------------------------------------------------------------


def _plainly(a_pass: Pass) -> Define:
    def define(name: TableName, query: str, mode: str, moment: Moment, _there: bool) -> Defined:
        return a_pass.definitions.get(name, query, mode, moment)

    return define


def _define_one(
    made: Blueprint,
    changes: Changes,
    wanted: Mapping[TableName, str | None],
    name: TableName,
    define: Define,
) -> None:
    stream = made.after[name]
    new, why = name in made.created, wanted.get(name)
    if new or why is not None:
        there = frozenset(stream.inputs).isdisjoint({*made.created, *made.redefined})
        definition = define(name, stream.query, stream.options.refresh_mode, made.moment, there)
    elif frozenset(stream.inputs).isdisjoint(made.reshaped):
        return
    else:
        definition = _again(
            name, lambda: define(name, stream.query, stream.options.refresh_mode, made.moment, False)
        )
        if definition.schemas[name].visible == made.moment.version(name).schema.visible:
            return
        why = _rebuilt(name, definition, made, changes)
    _enter(made, name, definition, why)


def _define_circle(
    a_pass: Pass,
    made: Blueprint,
    changes: Changes,
    wanted: Mapping[TableName, str | None],
    members: frozenset[TableName],
) -> None:
    texts = {name: made.after[name].query for name in sorted(members)}
    asked = {name for name in members if name in made.created or wanted.get(name) is not None}
    reads = {read for name in members for read in made.after[name].inputs}
    if not asked and reads.isdisjoint(made.reshaped):
        return
    circle = partial(define_cycle, a_pass, texts, made.moment, members)
    found = circle() if asked else _again(min(members), circle)
    for name, definition in found.items():
        if name in asked:
            _enter(made, name, definition, wanted.get(name))
        elif definition.schemas[name].visible != made.moment.version(name).schema.visible:
            _enter(made, name, definition, _rebuilt(name, definition, made, changes))


def _again(name: TableName, define: Callable[[], Found]) -> Found:
    """A definition whose text stays what it was; what it reads may no longer fit it."""
    try:
        return define()
    except (SqlError, UnknownTable) as error:
        raise BrokenDefinition(
            f'the query of "{name}" would no longer fit what it reads',
            detail=error.message,
            hint=f'alter or drop "{name}" too.',
        ) from error


def _rebuilt(name: TableName, definition: Defined, made: Blueprint, changes: Changes) -> str:
    if name in changes.managed:
        return COLUMNS
    stored = made.moment.version(name).schema.visible
    raise BrokenDefinition(
        f'"{name}" would have other columns',
        detail=f"stored: {stored}; they would be: {definition.schemas[name].visible}.",
        hint=f'it is not one of this project\'s: drop "{name}" first, and create it again.',
    )


def _enter(made: Blueprint, name: TableName, definition: Defined, why: str | None) -> None:
    schema, version = definition.schemas[name], made.moment.versions.get(name)
    stream = made.after[name]
    own = tuple(table for table in definition.schemas if table != name)
    taken = [table for table in own if table in made.moment.versions and table not in stream.state_tables]
    if taken:
        raise NameTaken(f'the name "{taken[0]}", which "{name}" needs for its state, is taken')
    if version is None or version.schema.visible != schema.visible:
        made.reshaped.add(name)
    if version is None:
        version = Version("", name, STREAM, schema, 0, None, 0, "")
    made.moment = replace(
        made.moment, versions={**made.moment.versions, name: replace(version, schema=schema)}
    )
    made.after[name] = replace(stream, state_tables=own, refusal=refusal_of(definition))
    made.defined[name] = definition
    if why is not None:
        made.redefined[name] = why
