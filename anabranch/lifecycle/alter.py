"""Altering a stream table. Its old contents stay readable until the new ones are committed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from anabranch.errors import (
    BrokenDefinition,
    InputError,
    InvalidOption,
    Notice,
    RefreshHeld,
    SqlError,
    UnknownTable,
)
from anabranch.ledger.database import Connection
from anabranch.ledger.stream_tables import read_streams, store_definition, store_fuse, store_status
from anabranch.lifecycle.create import define_and_check, refusal_reason, warn_of_cycles, warn_of_diamonds
from anabranch.lifecycle.cycles import check_cycle_members, define_cycle
from anabranch.lifecycle.fuse import warn_of_missing_ceiling
from anabranch.lifecycle.options import parse_options
from anabranch.lifecycle.store_groups import regroup
from anabranch.lifecycle.suspend_resume import resumed_stream
from anabranch.names import TableName
from anabranch.refresh.definition_cache import Defined, DefinitionCache
from anabranch.refresh.fuse_decision import fuse_of
from anabranch.refresh.parallel_jobs import Failed
from anabranch.refresh.publish import Groups, Results, frontier_of, publish
from anabranch.refresh.refresh_group import stage_members
from anabranch.refresh.refresh_member import Job
from anabranch.refresh.run_context import RefreshRun, pin_lake_version
from anabranch.sql.query import parse_query
from anabranch.streams.arguments import find_stream
from anabranch.streams.fuse import OFF
from anabranch.streams.graph import Graph
from anabranch.streams.hold_reasons import hold_reason, reasons_not_ready
from anabranch.streams.stream_graph import (
    Streams,
    check_cycle_modes,
    check_cycles_allowed,
    check_immediate,
    commit_members,
    cycle_of,
    graph_of,
    scheduled_graph,
)
from anabranch.streams.stream_table import ACTIVE, ERROR, StreamTable
from anabranch.streams.versions import LakeVersion


def alter_stream_table(definitions: DefinitionCache, name: str, changes: Mapping[str, Any]) -> None:
    """Set options, or give it another query."""
    if not changes:
        raise InputError("there is nothing to alter", hint="name an option, or a query.")
    given = dict(changes)
    if "initialize" in given:
        raise InvalidOption("initialize is for creating a stream table", hint="use refresh_stream_table.")
    query = given.pop("query", None)
    if query is not None and not isinstance(query, str):
        raise InputError("the query of a stream table is a text")
    context = definitions.context
    with context.catalog.database.begin_read() as connection:
        stream = find_stream(read_streams(connection), name)
    options = parse_options(given, context.settings, stream.options)
    if query is None and options.refresh_mode == stream.options.refresh_mode:
        _set_options(definitions, stream.name, given)
    else:
        _redefine(definitions, stream.name, query, given)
    if any(option.startswith("fuse") for option in given):
        warn_of_missing_ceiling(stream.name, fuse_of(options, context.settings))


def _set_options(definitions: DefinitionCache, name: TableName, given: Mapping[str, Any]) -> None:
    context = definitions.context
    with context.catalog.database.begin_write() as connection:
        stream = find_stream(read_streams(connection), name)
        options = parse_options(given, context.settings, stream.options)
        store_definition(connection, replace(stream, options=options))
        if options.fuse == OFF != stream.options.fuse:
            # Off and on again: so one learns anew whose batches have another size for good.
            store_fuse(connection, replace(stream, fuse=replace(stream.fuse, batches=(), in_a_row=0)))
        regroup(connection, context.settings)


def _redefine(
    definitions: DefinitionCache, name: TableName, query: str | None, given: Mapping[str, Any]
) -> None:
    """Set another query or mode: its group is refreshed with the new definition, and published at once."""
    context = definitions.context
    with pin_lake_version(context) as (lake_version, streams):
        refresh_run = RefreshRun(context, definitions, lake_version, streams, "manual")
        stream = find_stream(streams, name)
        text = stream.query if query is None else query
        options = parse_options(given, context.settings, stream.options)
        inputs = tuple(sorted(parse_query(text).reads))
        before = graph_of(streams.values())
        graph = check_cycles_allowed(Graph({**before.inputs, name: frozenset(inputs)}), context.settings)
        check_cycle_modes(graph, {**streams, name: replace(stream, options=options)})
        members = cycle_of(graph, name)
        definition = (
            define_cycle(refresh_run, {name: text}, lake_version, members)[name]
            if members
            else define_and_check(refresh_run, name, text, options.refresh_mode, lake_version)
        )
        altered = replace(
            stream,
            query=text,
            options=options,
            inputs=inputs,
            state_tables=tuple(table for table in definition.schemas if table != name),
            refusal=refusal_reason(definition),
        )
        after = {**streams, name: altered}
        check_immediate(after)
        _check_readers(refresh_run, definition, graph, after)
        _stage_and_publish(refresh_run, altered, definition, graph, after, anew=query is not None)
    if inputs != stream.inputs:
        warn_of_cycles(graph, [name])
        warn_of_diamonds(scheduled_graph(after), name)


def _check_readers(refresh_run: RefreshRun, definition: Defined, graph: Graph, after: Streams) -> None:
    """Refuse a query under which those that read the table couldn't go on."""
    name = definition.name
    schema = definition.schemas[name]
    version = refresh_run.lake_version.version(name)
    if version.schema.visible == schema.visible:
        return
    versions = {**refresh_run.lake_version.versions, name: replace(version, schema=schema)}
    lake_version: LakeVersion = replace(refresh_run.lake_version, versions=versions)
    for reader in sorted(graph.readers(name)):
        stream = after[reader]
        try:
            members = cycle_of(graph, reader)
            mode = stream.options.refresh_mode
            made = refresh_run.definitions.get(reader, stream.query, mode, lake_version, members)
        except (SqlError, UnknownTable) as error:
            raise BrokenDefinition(
                f'with that query of "{name}", the query of "{reader}" would no longer fit',
                detail=error.message,
                hint=f'alter or drop "{reader}" first.',
            ) from error
        stored = refresh_run.lake_version.version(reader).schema.visible
        if made.schemas[reader].visible != stored:
            raise BrokenDefinition(
                f'with that query of "{name}", "{reader}" would have other columns',
                detail=f"stored: {stored}; they would be: {made.schemas[reader].visible}.",
                hint=f'drop "{reader}" first, and create it again.',
            )


def _stage_and_publish(
    refresh_run: RefreshRun,
    altered: StreamTable,
    definition: Defined,
    graph: Graph,
    after: Streams,
    *,
    anew: bool,
) -> None:
    context, name = refresh_run.context, altered.name
    members = commit_members(after, name, context.settings)
    now = context.clock.now()
    for member in members:
        others = after[member]
        if member != name and (why := hold_reason(others, now)) is not None:
            raise RefreshHeld(
                f'"{name}" can\'t be altered now: what it is published with is held',
                detail=f'"{member}" {why}.',
                hint="resume it first.",
            )
    unfilled = [
        read
        for read in graph.inputs[name]
        if (known := after.get(read)) is not None and not known.has_contents
    ]
    if unfilled:
        raise RefreshHeld(
            f'"{name}" can\'t read "{min(unfilled)}" yet, which is not filled',
            hint=f'refresh_stream_table("{min(unfilled)}") fills it.',
        )
    _warn_of_unready_sources(refresh_run, members, after)
    why = "its query was altered" if anew else None
    # Its hidden state so far is found by the old names, and dropped.
    stored = replace(altered, state_tables=refresh_run.streams[name].state_tables)
    jobs = [
        Job(stored, definition, anew=why) if member == name else Job(after[member])
        for member in members
        if member == name or after[member].has_contents
    ]
    try:
        results = stage_members(refresh_run, jobs)
    except Failed as failed:
        raise failed.error from None
    check_cycle_members(refresh_run, results)
    check_frontier_advances(refresh_run, results)

    def update_ledger(connection: Connection, streams: Streams) -> Groups:
        store_definition(connection, replace(streams[name], state_tables=altered.state_tables))
        if altered.status == ERROR:
            # What was broken has been replaced: that is the decision that an error waits for.
            store_status(connection, replace(streams[name], status=ACTIVE, status_reason=None))
        elif altered.fuse.blown_at is not None:
            # So is what its fuse had stopped: it is part of what this commit publishes.
            store_status(connection, resumed_stream(streams[name]))
            store_fuse(connection, resumed_stream(streams[name]))
        return regroup(connection, context.settings)

    publish(refresh_run, results, before=update_ledger)


def _warn_of_unready_sources(refresh_run: RefreshRun, members: Sequence[TableName], after: Streams) -> None:
    """Warn that an alteration doesn't wait for sources that aren't ready, as a refresh by hand doesn't."""
    waiting = reasons_not_ready(after, refresh_run.lake_version)
    for member in members:
        if (why := waiting.get(member)) is not None:
            text = f'"{members[-1]}" is filled at once, although "{member}" {why}'
            warnings.warn(Notice(text), stacklevel=6)
            return


def check_frontier_advances(refresh_run: RefreshRun, results: Results) -> None:
    """Contents never go back in time: refuse what would be read, if it is behind what is shown."""
    for name in sorted(results.keys() & refresh_run.streams.keys()):
        before, after = refresh_run.streams[name].frontier, frontier_of(results, name)
        behind = [source for source, lsn in before.items() if after.get(source, lsn) < lsn]
        if behind:
            raise RefreshHeld(
                f'"{name}" would go back in time: what it would read is behind in "{min(behind)}"',
                detail=f"shown is {before[min(behind)]}, it would be {after[min(behind)]}.",
                hint="refresh what it would read first: refresh_stream_table(name).",
            )
