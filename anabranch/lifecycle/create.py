"""Creating stream tables: all that is asked for, or nothing."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import InputError, NameTaken, Notice, NotIncremental, WriteConflict
from anabranch.ledger.database import Connection
from anabranch.ledger.history import SKIP, SKIPPED, add_refreshes, no_progress_entry
from anabranch.ledger.stream_tables import add_stream
from anabranch.lifecycle.cycles import check_cycle_members, define_cycle
from anabranch.lifecycle.fuse import warn_of_missing_ceiling
from anabranch.lifecycle.options import parse_options
from anabranch.lifecycle.refresh_groups import warn_of_reader_outside_group
from anabranch.lifecycle.store_groups import regroup
from anabranch.names import TableName
from anabranch.refresh.define import Definition, FullDefinition, check_plan
from anabranch.refresh.definition_cache import Defined, DefinitionCache
from anabranch.refresh.fuse_decision import fuse_of
from anabranch.refresh.parallel_jobs import Failed
from anabranch.refresh.publish import Groups, Results, publish
from anabranch.refresh.refresh_group import stage_members
from anabranch.refresh.refresh_member import Job
from anabranch.refresh.run_context import RefreshRun, pin_lake_version
from anabranch.sql.query import parse_query
from anabranch.streams.arguments import check_flag
from anabranch.streams.diamonds import diamonds_closed_by
from anabranch.streams.graph import Graph
from anabranch.streams.hold_reasons import hold_reason, reasons_not_ready
from anabranch.streams.stream_graph import (
    Streams,
    check_cycle_modes,
    check_cycles_allowed,
    check_immediate,
    cycle_of,
    graph_of,
    scheduled_graph,
    units_of,
)
from anabranch.streams.stream_table import INITIALIZING, Options, StreamTable
from anabranch.streams.versions import STATE, STREAM, LakeVersion, TableVersion
from anabranch.write.working_table import WorkingTable

TRIES = 5
STACK = 5
"""The stack level of a Notice: it points at the line that called the lake."""


@dataclass(frozen=True)
class StreamTableRequest:
    """A stream table as it was asked for."""

    name: TableName
    query: str
    options: Options
    initialize: bool


def create_stream_tables(definitions: DefinitionCache, specs: Sequence[Mapping[str, Any]]) -> None:
    """Create several stream tables, which may read each other, in one commit."""
    for _ in range(TRIES):
        try:
            _try_create(definitions, specs)
            return
        except WriteConflict:
            # Writers were faster than the fill of an immediate table, or a refresh than that of a group.
            continue
    _try_create(definitions, specs)


def _try_create(definitions: DefinitionCache, specs: Sequence[Mapping[str, Any]]) -> None:
    context = definitions.context
    if isinstance(specs, str | bytes | Mapping) or not isinstance(specs, Sequence):
        raise InputError("stream tables are created from a list of definitions")
    wanted = [_parse_request(context, spec) for spec in specs]
    if not wanted:
        raise InputError("there is no stream table to create")
    with pin_lake_version(context) as (lake_version, streams):
        refresh_run = RefreshRun(context, definitions, lake_version, streams, "create")
        _check_names(wanted, lake_version)
        inputs = {item.name: parse_query(item.query).reads for item in wanted}
        graph = check_cycles_allowed(
            Graph(
                {
                    **graph_of(streams.values()).inputs,
                    **{name: frozenset(reads) for name, reads in inputs.items()},
                }
            ),
            context.settings,
        )
        by_name = {item.name: item for item in wanted}
        jobs = _define_jobs(refresh_run, by_name, inputs, graph)
        after = {**streams, **{job.name: job.stream for job in jobs}}
        check_immediate(after)
        check_cycle_modes(graph, after)
        waiting = unready_unit_reasons(refresh_run, after)
        filled = _jobs_to_fill(refresh_run, jobs, by_name, graph, after, waiting)
        put_off = frozenset(name for name, item in by_name.items() if item.initialize and name in waiting)
        _stage_and_publish(refresh_run, jobs, filled, waiting, put_off)
    warn_of_cycles(graph, by_name)
    for name, item in by_name.items():
        warn_of_diamonds(scheduled_graph(after), name)
        warn_of_reader_outside_group(after, name, inputs[name])
        warn_of_missing_ceiling(name, fuse_of(item.options, context.settings))


def _parse_request(context: LakeContext, spec: Mapping[str, Any]) -> StreamTableRequest:
    if not isinstance(spec, Mapping) or not {"name", "query"} <= spec.keys():
        raise InputError("a stream table needs a name and a query")
    options = {key: value for key, value in spec.items() if key not in ("name", "query", "initialize")}
    query, initialize = spec["query"], spec.get("initialize", True)
    if not isinstance(query, str):
        raise InputError("the query of a stream table is a text")
    check_flag("initialize", initialize)
    name = TableName.parse(spec["name"])
    return StreamTableRequest(name, query, parse_options(options, context.settings), initialize)


def _check_names(wanted: Sequence[StreamTableRequest], lake_version: LakeVersion) -> None:
    seen: set[TableName] = set()
    for item in wanted:
        if item.name in lake_version.versions or item.name in seen:
            raise NameTaken(f'the name "{item.name}" is taken')
        seen.add(item.name)


def _define_jobs(
    refresh_run: RefreshRun,
    wanted: Mapping[TableName, StreamTableRequest],
    inputs: Mapping[TableName, tuple[TableName, ...]],
    graph: Graph,
) -> list[Job]:
    """Definitions in an order in which each finds the columns of those that it reads."""
    lake_version, jobs = refresh_run.lake_version, []
    circles: dict[TableName, Defined] = {}
    for name in graph.order():
        if (item := wanted.get(name)) is None:
            continue
        members = cycle_of(graph, name)
        if members and name not in circles:
            texts = {member: wanted[member].query for member in sorted(members & wanted.keys())}
            circles |= define_cycle(refresh_run, texts, lake_version, members)
        if members:
            definition = circles[name]
            issue_definition_notices(name, definition, item.options.refresh_mode)
        else:
            definition = define_and_check(
                refresh_run, name, item.query, item.options.refresh_mode, lake_version
            )
        stream = StreamTable(
            name=item.name,
            table_id="",
            query=item.query,
            options=item.options,
            inputs=tuple(sorted(inputs[item.name])),
            state_tables=tuple(table for table in definition.schemas if table != item.name),
            refusal=refusal_reason(definition),
        )
        taken = [table for table in stream.state_tables if table in lake_version.versions]
        if taken:
            raise NameTaken(f'the name "{taken[0]}", which "{item.name}" needs for its state, is taken')
        jobs.append(Job(stream, definition))
        schema = definition.schemas[item.name]
        known = {
            **lake_version.versions,
            item.name: TableVersion("", item.name, STREAM, schema, 0, None, 0, ""),
        }
        lake_version = replace(lake_version, versions=known)
    return jobs


def define_and_check(
    refresh_run: RefreshRun,
    name: TableName,
    query: str,
    mode: str,
    lake_version: LakeVersion,
    there: bool = True,
) -> Defined:
    """A definition whose plan was compared with the text, where that is possible; its Notices are issued.

    `there`: whether what it reads is, in the refresh run, what it will be.
    """
    definition = refresh_run.definitions.get(name, query, mode, lake_version)
    readable = there and definition.tables <= refresh_run.lake_version.versions.keys()
    if readable and isinstance(definition, Definition):
        try:
            check_plan(refresh_run.context, definition, refresh_run.lake_version)
        except NotIncremental as error:
            if mode != "auto":
                raise
            definition = refresh_run.definitions.get_full(name, query, lake_version, error)
    issue_definition_notices(name, definition, mode)
    return definition


def issue_definition_notices(name: TableName, definition: Defined, mode: str) -> None:
    """Say what the user of a definition should know."""
    for notice in definition.notices:
        warnings.warn(Notice(f'stream table "{name}": {notice}'), stacklevel=STACK + 2)
    if (refusal := refusal_reason(definition)) is not None and mode == "auto":
        warnings.warn(Notice(f'stream table "{name}" is refreshed in full: {refusal}'), stacklevel=STACK + 2)


def refusal_reason(definition: Defined) -> str | None:
    """Why a definition can't be maintained incrementally, in one line."""
    if not isinstance(definition, FullDefinition):
        return None
    error = definition.refusal
    return error.message if error.detail is None else f"{error.message}: {error.detail.rstrip('.')}"


def _jobs_to_fill(
    refresh_run: RefreshRun,
    jobs: Sequence[Job],
    wanted: Mapping[TableName, StreamTableRequest],
    graph: Graph,
    after: Streams,
    waiting: Mapping[TableName, str],
) -> list[Job]:
    """What is filled at once: the new tables, and with each the group that it comes to move with."""
    now = refresh_run.context.clock.now()
    new = {job.name: job for job in jobs}
    later = frozenset(name for name in new if not wanted[name].initialize)
    chosen: dict[TableName, Job] = {}
    at_once = [(name,) for name in graph.order() if name in new and after[name].is_immediate]
    for members in (*at_once, *(unit.members for unit in units_of(after, refresh_run.context.settings))):
        fresh = [name for name in members if name in new and wanted[name].initialize]
        if not fresh:
            continue
        why = (
            waiting.get(members[0])
            or unfilled_dependency_reason(members, later, chosen, graph, after)
            or next(
                (
                    f'"{name}" {reason}'
                    for name in members
                    if name not in new and (reason := hold_reason(after[name], now)) is not None
                ),
                None,
            )
        )
        if why is not None:
            warn_of_deferred_fill(fresh, why)
            continue
        for name in members:
            chosen[name] = new.get(name) or Job(after[name])
    return [chosen[name] for name in graph.order() if name in chosen]


def unready_unit_reasons(refresh_run: RefreshRun, after: Streams) -> dict[TableName, str]:
    """Whose sources are not ready, and why; a member's wait is its whole unit's."""
    alone = reasons_not_ready(after, refresh_run.lake_version)
    found: dict[TableName, str] = {}
    for unit in units_of(after, refresh_run.context.settings) if alone else ():
        why = next((f'"{name}" {alone[name]}' for name in unit.members if name in alone), None)
        if why is not None:
            found |= dict.fromkeys(unit.members, why)
    return found


def warn_of_deferred_fill(names: Iterable[TableName], why: str) -> None:
    """Say that new stream tables are not filled yet."""
    shown = ", ".join(f'"{name}"' for name in names)
    warnings.warn(Notice(f"the first fill of {shown} is put off: {why}"), stacklevel=STACK + 1)


def unfilled_dependency_reason(
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
            if known is None or known.has_contents or read in chosen or read in members:
                continue
            return f'"{read}", which it reads, is not filled yet'
    return None


def _stage_and_publish(
    refresh_run: RefreshRun,
    jobs: Sequence[Job],
    filled: Sequence[Job],
    waiting: Mapping[TableName, str],
    put_off: frozenset[TableName],
) -> None:
    context = refresh_run.context
    try:
        results = stage_members(refresh_run, filled) if filled else {}
    except Failed as failed:
        raise failed.error from None
    check_cycle_members(refresh_run, results)
    empty = empty_tables(context, jobs, results)
    tables = empty | {name: result.table for name, result in results.items()}

    def update_ledger(connection: Connection, streams: Streams) -> Groups:
        for job in jobs:
            store_new_stream(
                connection, refresh_run, streams.get(job.name, job.stream), tables[job.name], waiting, put_off
            )
        return regroup(connection, context.settings)

    publish(refresh_run, results, before=update_ledger, others=list(empty.values()))


def empty_tables(
    context: LakeContext, jobs: Iterable[Job], results: Results
) -> dict[TableName, WorkingTable]:
    """The tables of new stream tables that are not filled yet."""
    empty: dict[TableName, WorkingTable] = {}
    for job in jobs:
        if job.name not in results and job.definition is not None:
            for name, schema in job.definition.schemas.items():
                kind = STREAM if name == job.name else STATE
                empty[name] = WorkingTable.create(context.reader, context.clock.new_id(), name, kind, schema)
    return empty


def store_new_stream(
    connection: Connection,
    refresh_run: RefreshRun,
    stream: StreamTable,
    table: WorkingTable,
    waiting: Mapping[TableName, str],
    put_off: Container[TableName],
) -> None:
    """Remember a new stream table, and in the history what its first fill waits for, if it does."""
    known = replace(stream, table_id=table.version.table_id, status=INITIALIZING)
    if (why := waiting.get(stream.name)) is not None:
        known = replace(known, held=why, put_off=stream.name in put_off)
        now = refresh_run.context.clock.now()
        add_refreshes(
            connection, [no_progress_entry(known, SKIP, SKIPPED, why, now, refresh_run.initiated_by)]
        )
    add_stream(connection, known)


def warn_of_cycles(graph: Graph, names: Iterable[TableName]) -> None:
    """Say that stream tables came to read each other in a circle."""
    for members in graph.cycles:
        if not frozenset(members).isdisjoint(names):
            shown = ", ".join(f'"{member}"' for member in members)
            text = f"a cycle: {shown}; refreshed to their least fixed point, and published together"
            warnings.warn(Notice(text), stacklevel=STACK)


def warn_of_diamonds(graph: Graph, name: TableName) -> None:
    """Say that a stream table closes a diamond, if it does."""
    for diamond in diamonds_closed_by(graph, name):
        text = f'stream table "{name}" closes a diamond: {diamond}; they refresh and publish together'
        warnings.warn(Notice(text), stacklevel=STACK)
