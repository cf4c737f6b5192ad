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
from anabranch.graph.graph import Graph
from anabranch.ledger.database import Connection
from anabranch.ledger.records import Moment
from anabranch.ledger.streams import (
    ACTIVE,
    ERROR,
    StreamTable,
    read_streams,
    store_definition,
    store_fuse,
    store_status,
)
from anabranch.lifecycle.create import define_checked, refusal_of, tell_of_cycles, tell_of_diamonds
from anabranch.lifecycle.cycles import check_members, define_cycle
from anabranch.lifecycle.fuse import tell_of_missing_ceiling
from anabranch.lifecycle.options import checked_options
from anabranch.lifecycle.status import resumed
from anabranch.names import TableName
from anabranch.refresh.definitions import Defined, Definitions
from anabranch.refresh.find import found
from anabranch.refresh.fuse import OFF
from anabranch.refresh.graphs import (
    Streams,
    admitted,
    check_cycles,
    check_immediate,
    cycle_of,
    graph_of,
    moved_with,
    regroup,
    scheduled,
)
from anabranch.refresh.group import stage
from anabranch.refresh.hold import held_because, not_ready
from anabranch.refresh.member import Job
from anabranch.refresh.parallel import Failed
from anabranch.refresh.passes import Pass, pinned
from anabranch.refresh.publish import Groups, Results, frontier_of, publish
from anabranch.refresh.weigh import fuse_of
from anabranch.sql.query import parse_query


def alter_stream_table(definitions: Definitions, name: str, changes: Mapping[str, Any]) -> None:
    """Set options, or give it another query."""
    if not changes:
        raise InputError("there is nothing to alter", hint="name an option, or a query.")
    given = dict(changes)
    if "initialize" in given:
        raise InvalidOption("initialize is for creating a stream table", hint="use refresh_stream_table.")
    query = given.pop("query", None)
    if query is not None and not isinstance(query, str):
        raise InputError("the query of a stream table is a text")
    parts = definitions.parts
    with parts.catalog.database.reading() as connection:
        stream = found(read_streams(connection), name)
    options = checked_options(given, parts.settings, stream.options)
    if query is None and options.refresh_mode == stream.options.refresh_mode:
        _set_options(definitions, stream.name, given)
    else:
        _redefine(definitions, stream.name, query, given)
    if any(option.startswith("fuse") for option in given):
        tell_of_missing_ceiling(stream.name, fuse_of(options, parts.settings))


def _set_options(definitions: Definitions, name: TableName, given: Mapping[str, Any]) -> None:
    parts = definitions.parts
    with parts.catalog.database.writing() as connection:
        stream = found(read_streams(connection), name)
        options = checked_options(given, parts.settings, stream.options)
        store_definition(connection, replace(stream, options=options))
        if options.fuse == OFF != stream.options.fuse:
            # Off and on again: so one learns anew whose batches have another size for good.
            store_fuse(connection, replace(stream, fuse=replace(stream.fuse, batches=(), in_a_row=0)))
        regroup(connection, parts.settings)


def _redefine(definitions: Definitions, name: TableName, query: str | None, given: Mapping[str, Any]) -> None:
    """Another query or mode: its group is brought up with the new definition, and published at once."""
    parts = definitions.parts
    with pinned(parts) as (moment, streams):
        a_pass = Pass(parts, definitions, moment, streams, "manual")
        stream = found(streams, name)
        text = stream.query if query is None else query
        options = checked_options(given, parts.settings, stream.options)
        inputs = tuple(sorted(parse_query(text).reads))
        before = graph_of(streams.values())
        graph = admitted(Graph({**before.inputs, name: frozenset(inputs)}), parts.settings)
        check_cycles(graph, {**streams, name: replace(stream, options=options)})
        members = cycle_of(graph, name)
        definition = (
            define_cycle(a_pass, {name: text}, moment, members)[name]
            if members
            else define_checked(a_pass, name, text, options.refresh_mode, moment)
        )
        altered = replace(
            stream,
            query=text,
            options=options,
            inputs=inputs,
            state_tables=tuple(table for table in definition.schemas if table != name),
            refusal=refusal_of(definition),
        )
        after = {**streams, name: altered}
        check_immediate(after)
        _check_readers(a_pass, definition, graph, after)
        _publish(a_pass, altered, definition, graph, after, anew=query is not None)
    if inputs != stream.inputs:
        tell_of_cycles(graph, [name])
        tell_of_diamonds(scheduled(after), name)


def _check_readers(a_pass: Pass, definition: Defined, graph: Graph, after: Streams) -> None:
    """Refuse a query under which those that read the table couldn't go on."""
    name = definition.name
    schema = definition.schemas[name]
    version = a_pass.moment.version(name)
    if version.schema.visible == schema.visible:
        return
    versions = {**a_pass.moment.versions, name: replace(version, schema=schema)}
    moment: Moment = replace(a_pass.moment, versions=versions)
    for reader in sorted(graph.readers(name)):
        stream = after[reader]
        try:
            members = cycle_of(graph, reader)
            mode = stream.options.refresh_mode
            made = a_pass.definitions.get(reader, stream.query, mode, moment, members)
        except (SqlError, UnknownTable) as error:
            raise BrokenDefinition(
                f'with that query of "{name}", the query of "{reader}" would no longer fit',
                detail=error.message,
                hint=f'alter or drop "{reader}" first.',
            ) from error
        stored = a_pass.moment.version(reader).schema.visible
        if made.schemas[reader].visible != stored:
            raise BrokenDefinition(
                f'with that query of "{name}", "{reader}" would have other columns',
                detail=f"stored: {stored}; they would be: {made.schemas[reader].visible}.",
                hint=f'drop "{reader}" first, and create it again.',
            )


def _publish(
    a_pass: Pass, altered: StreamTable, definition: Defined, graph: Graph, after: Streams, *, anew: bool
) -> None:
    parts, name = a_pass.parts, altered.name
    members = moved_with(after, name, parts.settings)
    now = parts.clock.now()
    for member in members:
        others = after[member]
        if member != name and (why := held_because(others, now)) is not None:
            raise RefreshHeld(
                f'"{name}" can\'t be altered now: what it is published with is held',
                detail=f'"{member}" {why}.',
                hint="resume it first.",
            )
    unfilled = [
        read for read in graph.inputs[name] if (known := after.get(read)) is not None and not known.filled
    ]
    if unfilled:
        raise RefreshHeld(
            f'"{name}" can\'t read "{min(unfilled)}" yet, which is not filled',
            hint=f'refresh_stream_table("{min(unfilled)}") fills it.',
        )
    _tell_of_waiting(a_pass, members, after)
    why = "its query was altered" if anew else None
    # What it stored so far beside its contents is looked for by its old names, and goes.
    stored = replace(altered, state_tables=a_pass.streams[name].state_tables)
    jobs = [
        Job(stored, definition, anew=why) if member == name else Job(after[member])
        for member in members
        if member == name or after[member].filled
    ]
    try:
        results = stage(a_pass, jobs)
    except Failed as failed:
        raise failed.error from None
    check_members(a_pass, results)
    check_forward(a_pass, results)

    def enter(connection: Connection, streams: Streams) -> Groups:
        store_definition(connection, replace(streams[name], state_tables=altered.state_tables))
        if altered.status == ERROR:
            # What was broken has been replaced: that is the decision that an error waits for.
            store_status(connection, replace(streams[name], status=ACTIVE, status_reason=None))
        elif altered.fuse.blown_at is not None:
            # So is what its fuse had stopped: it is part of what is published here.
            store_status(connection, resumed(streams[name]))
            store_fuse(connection, resumed(streams[name]))
        return regroup(connection, parts.settings)

    publish(a_pass, results, before=enter)


def _tell_of_waiting(a_pass: Pass, members: Sequence[TableName], after: Streams) -> None:
    """What is altered by hand passes gates and watermarks, as what is refreshed by hand does."""
    waiting = not_ready(after, a_pass.moment)
    for member in members:
        if (why := waiting.get(member)) is not None:
            text = f'"{members[-1]}" is filled at once, although "{member}" {why}'
            warnings.warn(Notice(text), stacklevel=6)
            return


def check_forward(a_pass: Pass, results: Results) -> None:
    """Contents never go back in time: refuse what would be read, if it is behind what is shown."""
    for name in sorted(results.keys() & a_pass.streams.keys()):
        before, after = a_pass.streams[name].frontier, frontier_of(results, name)
        behind = [source for source, lsn in before.items() if after.get(source, lsn) < lsn]
        if behind:
            raise RefreshHeld(
                f'"{name}" would go back in time: what it would read is behind in "{min(behind)}"',
                detail=f"shown is {before[min(behind)]}, it would be {after[min(behind)]}.",
                hint="refresh what it would read first: refresh_stream_table(name).",
            )
