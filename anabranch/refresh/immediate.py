"""Immediate stream tables: maintained by their writers, in the same commit.

A write to what they read brings them up from the staged rows before anything is committed, and all becomes
visible together. If that fails, the write fails. The commit rests on what was read: no other writer has
changed an input meanwhile, and no other immediate table has appeared. Otherwise it conflicts, and is tried
again on top of what there is then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from anabranch.errors import AnabranchError, CommitError, ImmediateFailed, WriteConflict
from anabranch.events import ignore
from anabranch.graph.graph import Graph
from anabranch.ledger.database import Connection
from anabranch.ledger.history import IMMEDIATE, add_refreshes
from anabranch.ledger.records import Moment
from anabranch.ledger.streams import ACTIVE, StreamTable, read_immediate, store_progress
from anabranch.names import TableName
from anabranch.refresh.definitions import Definitions
from anabranch.refresh.graphs import graph_of
from anabranch.refresh.member import Job, Result, bring_up
from anabranch.refresh.passes import Pass
from anabranch.refresh.publish import after_commit, entry_of, input_checks
from anabranch.storage.commit import SameFollowers
from anabranch.write.follow import Followed
from anabranch.write.working import WorkingTable


def follow(definitions: Definitions, moment: Moment, tables: Sequence[WorkingTable]) -> Followed:
    """Bring up every immediate stream table that reads, near or far, what was written."""
    parts = definitions.parts
    with parts.catalog.database.reading() as connection:
        streams = read_immediate(connection)
    same = SameFollowers(frozenset(stream.table_id for stream in streams.values()))
    written = {table.name: table for table in tables if table.pieces or table.new or table.dropped}
    if not streams or not written:
        return Followed(checks=(same,))
    quiet = replace(parts, observer=ignore)
    a_pass = Pass(quiet, definitions, moment, dict(streams), "writer")
    results = _brought_up(a_pass, streams, written)
    moved = frozenset(name for name, table in written.items() if table.touched)

    def enter(connection: Connection, lsn: int) -> None:
        after = {name: after_commit(a_pass, results, name, lsn, moved) for name in results}
        for stream in after.values():
            store_progress(connection, stream)
        entries = [entry_of(a_pass, results[name], after[name], lsn, None, {}) for name in results]
        add_refreshes(connection, [replace(entry, action=IMMEDIATE) for entry in entries])

    staged = [table for result in results.values() for table in (*result.replaced, *result.tables.values())]
    return Followed(
        tuple(table for table in staged if table.touched),
        (same, *(check for result in results.values() for check in input_checks(result, written))),
        (enter,),
    )


def _brought_up(
    a_pass: Pass, streams: Mapping[TableName, StreamTable], written: Mapping[TableName, WorkingTable]
) -> dict[TableName, Result]:
    staged = {name: table for name, table in written.items() if not table.dropped}
    gone = written.keys() - staged.keys()
    results: dict[TableName, Result] = {}
    for name in Graph(graph_of(streams.values()).inputs).order():
        stream = streams[name]
        above = {read: staged[read] for read in stream.inputs if read in staged}
        if not above or gone.intersection(stream.inputs) or stream.status != ACTIVE:
            continue
        _check_newest(a_pass, stream)
        try:
            results[name] = bring_up(a_pass, Job(stream), above, a_pass.seen)
        except CommitError:
            raise
        except AnabranchError as error:
            raise ImmediateFailed(
                f'the write did not happen: "{name}", which is to follow at once, could not be maintained',
                detail=str(error).replace("\n", "; "),
                hint="mend the rows, or alter the stream table's query or refresh_mode.",
            ) from error
        if results[name].touched:
            staged[name] = results[name].table
    return results


def _check_newest(a_pass: Pass, stream: StreamTable) -> None:
    """What the ledger says of it may be newer than the moment at which the transaction began."""
    versions = a_pass.moment.versions
    own = versions.get(stream.name)
    newer = own is None or (stream.version_lsn or 0) > own.lsn
    for name, read in (stream.reads or {}).items():
        newer |= name in versions and read.lsn > versions[name].lsn
    if newer:
        raise WriteConflict(f'another writer changed "{stream.name}" meanwhile', hint="run it again.")
