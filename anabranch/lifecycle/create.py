"""Creating stream tables: all that is asked for, or nothing."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.errors import InputError, NameTaken, Notice, NotIncremental, WriteConflict
from anabranch.graph.diamonds import diamonds_closed_by
from anabranch.graph.graph import Graph
from anabranch.ledger.database import Connection
from anabranch.ledger.history import SKIP, SKIPPED, add_refreshes, unmoved
from anabranch.ledger.records import Moment, Version
from anabranch.ledger.streams import INITIALIZING, Options, StreamTable, add_stream
from anabranch.lifecycle.cycles import check_members, define_cycle
from anabranch.lifecycle.declare import tell_of_joined_groups
from anabranch.lifecycle.fuse import tell_of_missing_ceiling
from anabranch.lifecycle.options import checked_options
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.define import Definition, FullDefinition, check_plan
from anabranch.refresh.definitions import Defined, Definitions
from anabranch.refresh.find import check_flag
from anabranch.refresh.graphs import (
    Streams,
    admitted,
    check_cycles,
    check_immediate,
    cycle_of,
    graph_of,
    regroup,
    scheduled,
    units_of,
)
from anabranch.refresh.group import stage
from anabranch.refresh.hold import held_because, not_ready
from anabranch.refresh.member import STATE, STREAM, Job
from anabranch.refresh.parallel import Failed
from anabranch.refresh.passes import Pass, pinned
from anabranch.refresh.publish import Groups, Results, publish
from anabranch.refresh.weigh import fuse_of
from anabranch.sql.query import parse_query
from anabranch.write.working import WorkingTable

TRIES = 5
STACK = 5
"""How far above its caller a Notice of ours points: at the line that called the lake."""


@dataclass(frozen=True)
class Wanted:
    """A stream table as it was asked for."""

    name: TableName
    query: str
    options: Options
    initialize: bool


def create_stream_tables(definitions: Definitions, specs: Sequence[Mapping[str, Any]]) -> None:
    """Create several stream tables, which may read each other, in one commit."""
    for _ in range(TRIES):
        try:
            _create_at_once(definitions, specs)
            return
        except WriteConflict:
            # Writers were faster than the fill of an immediate table, or a refresh than that of a group.
            continue
    _create_at_once(definitions, specs)


def _create_at_once(definitions: Definitions, specs: Sequence[Mapping[str, Any]]) -> None:
    parts = definitions.parts
    if isinstance(specs, str | bytes | Mapping) or not isinstance(specs, Sequence):
        raise InputError("stream tables are created from a list of definitions")
    wanted = [_wanted(parts, spec) for spec in specs]
    if not wanted:
        raise InputError("there is no stream table to create")
    with pinned(parts) as (moment, streams):
        a_pass = Pass(parts, definitions, moment, streams, "create")
        _check_names(wanted, moment)
        inputs = {item.name: parse_query(item.query).reads for item in wanted}
        graph = admitted(
            Graph(
                {
                    **graph_of(streams.values()).inputs,
                    **{name: frozenset(reads) for name, reads in inputs.items()},
                }
            ),
            parts.settings,
        )
        by_name = {item.name: item for item in wanted}
        jobs = _defined(a_pass, by_name, inputs, graph)
        after = {**streams, **{job.name: job.stream for job in jobs}}
        check_immediate(after)
        check_cycles(graph, after)
        waiting = waiting_units(a_pass, after)
        filled = _to_fill(a_pass, jobs, by_name, graph, after, waiting)
        put_off = frozenset(name for name, item in by_name.items() if item.initialize and name in waiting)
        _create(a_pass, jobs, filled, waiting, put_off)
    tell_of_cycles(graph, by_name)
    for name, item in by_name.items():
        tell_of_diamonds(scheduled(after), name)
        tell_of_joined_groups(after, name, inputs[name])
        tell_of_missing_ceiling(name, fuse_of(item.options, parts.settings))


def _wanted(parts: Parts, spec: Mapping[str, Any]) -> Wanted:
    if not isinstance(spec, Mapping) or not {"name", "query"} <= spec.keys():
        raise InputError("a stream table needs a name and a query")
    options = {key: value for key, value in spec.items() if key not in ("name", "query", "initialize")}
    query, initialize = spec["query"], spec.get("initialize", True)
    if not isinstance(query, str):
        raise InputError("the query of a stream table is a text")
    check_flag("initialize", initialize)
    name = TableName.parse(spec["name"])
    return Wanted(name, query, checked_options(options, parts.settings), initialize)


def _check_names(wanted: Sequence[Wanted], moment: Moment) -> None:
    seen: set[TableName] = set()
    for item in wanted:
        if item.name in moment.versions or item.name in seen:
            raise NameTaken(f'the name "{item.name}" is taken')
        seen.add(item.name)


def _defined(
    a_pass: Pass,
    wanted: Mapping[TableName, Wanted],
    inputs: Mapping[TableName, tuple[TableName, ...]],
    graph: Graph,
) -> list[Job]:
    """Definitions in an order in which each finds the columns of those that it reads."""
    moment, jobs = a_pass.moment, []
    circles: dict[TableName, Defined] = {}
    for name in graph.order():
        if (item := wanted.get(name)) is None:
            continue
        members = cycle_of(graph, name)
        if members and name not in circles:
            texts = {member: wanted[member].query for member in sorted(members & wanted.keys())}
            circles |= define_cycle(a_pass, texts, moment, members)
        if members:
            definition = circles[name]
            tell_notices(name, definition, item.options.refresh_mode)
        else:
            definition = define_checked(a_pass, name, item.query, item.options.refresh_mode, moment)
        stream = StreamTable(
            name=item.name,
            table_id="",
            query=item.query,
            options=item.options,
            inputs=tuple(sorted(inputs[item.name])),
            state_tables=tuple(table for table in definition.schemas if table != item.name),
            refusal=refusal_of(definition),
        )
        taken = [table for table in stream.state_tables if table in moment.versions]
        if taken:
            raise NameTaken(f'the name "{taken[0]}", which "{item.name}" needs for its state, is taken')
        jobs.append(Job(stream, definition))
        schema = definition.schemas[item.name]
        known = {**moment.versions, item.name: Version("", item.name, STREAM, schema, 0, None, 0, "")}
        moment = replace(moment, versions=known)
    return jobs


def define_checked(
    a_pass: Pass, name: TableName, query: str, mode: str, moment: Moment, there: bool = True
) -> Defined:
    """A definition whose plan was held against the text, where that can be; its Notices are said.

    `there`: whether what it reads is, in the pass, what it will be.
    """
    definition = a_pass.definitions.get(name, query, mode, moment)
    readable = there and definition.tables <= a_pass.moment.versions.keys()
    if readable and isinstance(definition, Definition):
        try:
            check_plan(a_pass.parts, definition, a_pass.moment)
        except NotIncremental as error:
            if mode != "auto":
                raise
            definition = a_pass.definitions.in_full(name, query, moment, error)
    tell_notices(name, definition, mode)
    return definition


def tell_notices(name: TableName, definition: Defined, mode: str) -> None:
    """Say what the user of a definition should know."""
    for notice in definition.notices:
        warnings.warn(Notice(f'stream table "{name}": {notice}'), stacklevel=STACK + 2)
    if (refusal := refusal_of(definition)) is not None and mode == "auto":
        warnings.warn(Notice(f'stream table "{name}" is refreshed in full: {refusal}'), stacklevel=STACK + 2)


def refusal_of(definition: Defined) -> str | None:
    """Why a definition can't be maintained incrementally, in one line."""
    if not isinstance(definition, FullDefinition):
        return None
    error = definition.refusal
    return error.message if error.detail is None else f"{error.message}: {error.detail.rstrip('.')}"


def _to_fill(
    a_pass: Pass,
    jobs: Sequence[Job],
    wanted: Mapping[TableName, Wanted],
    graph: Graph,
    after: Streams,
    waiting: Mapping[TableName, str],
) -> list[Job]:
    """What is filled at once: the new tables, and with each the group that it comes to move with."""
    now = a_pass.parts.clock.now()
    new = {job.name: job for job in jobs}
    later = frozenset(name for name in new if not wanted[name].initialize)
    chosen: dict[TableName, Job] = {}
    at_once = [(name,) for name in graph.order() if name in new and after[name].immediate]
    for members in (*at_once, *(unit.members for unit in units_of(after, a_pass.parts.settings))):
        fresh = [name for name in members if name in new and wanted[name].initialize]
        if not fresh:
            continue
        why = (
            waiting.get(members[0])
            or unfilled_before(members, later, chosen, graph, after)
            or next(
                (
                    f'"{name}" {reason}'
                    for name in members
                    if name not in new and (reason := held_because(after[name], now)) is not None
                ),
                None,
            )
        )
        if why is not None:
            tell_put_off(fresh, why)
            continue
        for name in members:
            chosen[name] = new.get(name) or Job(after[name])
    return [chosen[name] for name in graph.order() if name in chosen]


def waiting_units(a_pass: Pass, after: Streams) -> dict[TableName, str]:
    """Whose sources are not ready, and why; a member's wait is its whole unit's."""
    alone = not_ready(after, a_pass.moment)
    found: dict[TableName, str] = {}
    for unit in units_of(after, a_pass.parts.settings) if alone else ():
        why = next((f'"{name}" {alone[name]}' for name in unit.members if name in alone), None)
        if why is not None:
            found |= dict.fromkeys(unit.members, why)
    return found


def tell_put_off(names: Iterable[TableName], why: str) -> None:
    """Say that new stream tables are not filled yet."""
    shown = ", ".join(f'"{name}"' for name in names)
    warnings.warn(Notice(f"the first fill of {shown} is put off: {why}"), stacklevel=STACK + 1)


def unfilled_before(
    members: Sequence[TableName],
    later: Container[TableName],
    chosen: Container[TableName],
    graph: Graph,
    after: Streams,
) -> str | None:
    """Why a unit can't be filled yet: something that it reads, or that moves with it, isn't.

    `later`: what is to be filled at another time; `chosen`: what is filled now.
    """
    for name in members:
        if name in later:
            return f'"{name}", which moves with it, is to be filled later'
        for read in sorted(graph.inputs[name]):
            known = after.get(read)
            if known is None or known.filled or read in chosen or read in members:
                continue
            return f'"{read}", which it reads, is not filled yet'
    return None


def _create(
    a_pass: Pass,
    jobs: Sequence[Job],
    filled: Sequence[Job],
    waiting: Mapping[TableName, str],
    put_off: frozenset[TableName],
) -> None:
    parts = a_pass.parts
    try:
        results = stage(a_pass, filled) if filled else {}
    except Failed as failed:
        raise failed.error from None
    check_members(a_pass, results)
    empty = empty_tables(parts, jobs, results)
    tables = empty | {name: result.table for name, result in results.items()}

    def enter(connection: Connection, streams: Streams) -> Groups:
        for job in jobs:
            add_created(
                connection, a_pass, streams.get(job.name, job.stream), tables[job.name], waiting, put_off
            )
        return regroup(connection, parts.settings)

    publish(a_pass, results, before=enter, others=list(empty.values()))


def empty_tables(parts: Parts, jobs: Iterable[Job], results: Results) -> dict[TableName, WorkingTable]:
    """The tables of new stream tables that are not filled yet."""
    empty: dict[TableName, WorkingTable] = {}
    for job in jobs:
        if job.name not in results and job.definition is not None:
            for name, schema in job.definition.schemas.items():
                kind = STREAM if name == job.name else STATE
                empty[name] = WorkingTable.create(parts.reader, parts.clock.new_id(), name, kind, schema)
    return empty


def add_created(
    connection: Connection,
    a_pass: Pass,
    stream: StreamTable,
    table: WorkingTable,
    waiting: Mapping[TableName, str],
    put_off: Container[TableName],
) -> None:
    """Remember a new stream table, and in the history what its first fill waits for, if it does."""
    known = replace(stream, table_id=table.version.table_id, status=INITIALIZING)
    if (why := waiting.get(stream.name)) is not None:
        known = replace(known, held=why, put_off=stream.name in put_off)
        now = a_pass.parts.clock.now()
        add_refreshes(connection, [unmoved(known, SKIP, SKIPPED, why, now, a_pass.initiated_by)])
    add_stream(connection, known)


def tell_of_cycles(graph: Graph, names: Iterable[TableName]) -> None:
    """Say that stream tables came to read each other in a circle."""
    for members in graph.cycles:
        if not frozenset(members).isdisjoint(names):
            shown = ", ".join(f'"{member}"' for member in members)
            text = f"a cycle: {shown}; refreshed to their least fixed point, and published together"
            warnings.warn(Notice(text), stacklevel=STACK)


def tell_of_diamonds(graph: Graph, name: TableName) -> None:
    """Say that a stream table closes a diamond, if it does."""
    for diamond in diamonds_closed_by(graph, name):
        text = f'stream table "{name}" closes a diamond: {diamond}; they refresh and publish together'
        warnings.warn(Notice(text), stacklevel=STACK)
