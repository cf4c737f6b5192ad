"""Immediate stream tables: maintained by their writers, in the same commit.

A write to what they read refreshes them from the staged rows before anything is committed, and all becomes
visible together. If that fails, the write fails. The commit requires that meanwhile no other writer has
changed an input and no other immediate table has appeared. Otherwise it conflicts, and is tried again on top
of the newest version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from anabranch.commit.group_commit import SameImmediateTables
from anabranch.errors import AnabranchError, CommitError, ImmediateFailed, WriteConflict
from anabranch.events import ignore_event
from anabranch.ledger.database import Connection
from anabranch.ledger.history import IMMEDIATE, add_refreshes
from anabranch.ledger.stream_tables import read_immediate_streams, store_progress
from anabranch.names import TableName
from anabranch.refresh.definition_cache import DefinitionCache
from anabranch.refresh.publish import history_entry, input_checks, stream_after_commit
from anabranch.refresh.refresh_member import Job, Result, refresh_member
from anabranch.refresh.run_context import RefreshRun
from anabranch.streams.graph import Graph
from anabranch.streams.stream_graph import graph_of
from anabranch.streams.stream_table import ACTIVE, StreamTable
from anabranch.streams.versions import LakeVersion
from anabranch.write.immediate_updates import ImmediateUpdates
from anabranch.write.working_table import WorkingTable


def stage_immediate_tables(
    definitions: DefinitionCache, lake_version: LakeVersion, tables: Sequence[WorkingTable]
) -> ImmediateUpdates:
    """Refresh every immediate stream table that reads what was written, directly or through others."""
    context = definitions.context
    with context.catalog.database.begin_read() as connection:
        streams = read_immediate_streams(connection)
    same = SameImmediateTables(frozenset(stream.table_id for stream in streams.values()))
    written = {table.name: table for table in tables if table.change_files or table.new or table.dropped}
    if not streams or not written:
        return ImmediateUpdates(checks=(same,))
    quiet = replace(context, observer=ignore_event)
    refresh_run = RefreshRun(quiet, definitions, lake_version, dict(streams), "writer")
    results = _refresh_immediate(refresh_run, streams, written)
    moved = frozenset(name for name, table in written.items() if table.is_modified)

    def write_entries(connection: Connection, lsn: int) -> None:
        after = {name: stream_after_commit(refresh_run, results, name, lsn, moved) for name in results}
        for stream in after.values():
            store_progress(connection, stream)
        entries = [history_entry(refresh_run, results[name], after[name], lsn, None, {}) for name in results]
        add_refreshes(connection, [replace(entry, action=IMMEDIATE) for entry in entries])

    staged = [table for result in results.values() for table in (*result.replaced, *result.tables.values())]
    return ImmediateUpdates(
        tuple(table for table in staged if table.is_modified),
        (same, *(check for result in results.values() for check in input_checks(result, written))),
        (write_entries,),
    )


def _refresh_immediate(
    refresh_run: RefreshRun,
    streams: Mapping[TableName, StreamTable],
    written: Mapping[TableName, WorkingTable],
) -> dict[TableName, Result]:
    staged = {name: table for name, table in written.items() if not table.dropped}
    gone = written.keys() - staged.keys()
    results: dict[TableName, Result] = {}
    for name in Graph(graph_of(streams.values()).inputs).order():
        stream = streams[name]
        above = {read: staged[read] for read in stream.inputs if read in staged}
        if not above or gone.intersection(stream.inputs) or stream.status != ACTIVE:
            continue
        _check_newest(refresh_run, stream)
        try:
            results[name] = refresh_member(refresh_run, Job(stream), above, refresh_run.current_state)
        except CommitError:
            raise
        except AnabranchError as error:
            raise ImmediateFailed(
                f'the write did not happen: "{name}", which is to follow at once, could not be maintained',
                detail=str(error).replace("\n", "; "),
                hint="mend the rows, or alter the stream table's query or refresh_mode.",
            ) from error
        if results[name].is_modified:
            staged[name] = results[name].table
    return results


def _check_newest(refresh_run: RefreshRun, stream: StreamTable) -> None:
    """Conflict if the ledger's record of it is newer than the lake version the transaction began at."""
    versions = refresh_run.lake_version.versions
    own = versions.get(stream.name)
    newer = own is None or (stream.version_lsn or 0) > own.lsn
    for name, read in (stream.reads or {}).items():
        newer |= name in versions and read.lsn > versions[name].lsn
    if newer:
        raise WriteConflict(f'another writer changed "{stream.name}" meanwhile', hint="run it again.")
