"""Making the results of a group visible: all of them in one commit, or none.

The commit swings the tables' pointers, moves the frontiers, advances the epoch and writes the history, in one
transaction of the database, if the lease under which it was prepared is still held.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from anabranch.commit.group_commit import (
    Committed,
    Conflict,
    Entry,
    Fenced,
    GroupCommit,
    Outcome,
    Step,
    Unchanged,
    Unknown,
)
from anabranch.errors import CatalogUnavailable, WriteConflict
from anabranch.ledger.database import Connection
from anabranch.ledger.group_epochs import advance_epoch
from anabranch.ledger.history import (
    NO_DATA,
    REINITIALIZE,
    SKIP,
    SKIPPED,
    SUCCEEDED,
    Refresh,
    add_refreshes,
)
from anabranch.ledger.stream_tables import read_streams, set_stream_table_id, store_progress
from anabranch.names import TableName
from anabranch.refresh.plan import PlannedAction
from anabranch.refresh.refresh_member import Result
from anabranch.refresh.run_context import RefreshRun, fenced_off_error
from anabranch.streams.stream_table import ACTIVE, Read, StreamTable
from anabranch.streams.versions import STREAM
from anabranch.write.working_table import WorkingTable

COMMIT_TRIES = 10

Results = Mapping[TableName, Result]
Groups = Mapping[TableName, int]
"""The ids of the groups that are published together, by member."""
Before = Callable[[Connection, Mapping[TableName, StreamTable]], Groups]
"""Something to write first, given the stream tables as they will be; the groups they are then in."""


def publish(
    refresh_run: RefreshRun,
    results: Results,
    *,
    before: Before | None = None,
    others: Sequence[WorkingTable] = (),
    groups: Groups = MappingProxyType({}),
) -> int:
    """Commit the staged results; the lsn. `before` and `others` are for changes of definitions."""
    context = refresh_run.context
    context.failpoints.hit("refresh.before_publish")
    tables = [*others, *(table for result in results.values() for table in result.replaced)]
    tables += [table for result in results.values() for table in result.tables.values() if table.is_modified]
    new = frozenset(table.name for table in others if table.new is not None)
    attempt = context.clock.new_id()
    entered: dict[TableName, StreamTable] = {}

    def write_entries(connection: Connection, lsn: int) -> None:
        _check_members_unchanged(refresh_run, results, connection)
        streams = {name: stream_after_commit(refresh_run, results, name, lsn, new) for name in results}
        for name, result in results.items():
            if result.job.stream.table_id not in ("", streams[name].table_id):
                set_stream_table_id(connection, result.job.stream.table_id, streams[name].table_id)
        of = before(connection, streams) if before is not None else groups
        moved = {of[name] for name, result in results.items() if name in of and result.is_modified}
        epochs = {group: advance_epoch(connection, group) for group in sorted(moved)}
        cycles = {} if before is None else {name: s.scc_id for name, s in read_streams(connection).items()}
        for name, stream in streams.items():
            scc_id = cycles.get(name, stream.scc_id)
            streams[name] = replace(stream, group_id=of.get(name, stream.group_id), scc_id=scc_id)
            store_progress(connection, streams[name])
        add_refreshes(
            connection,
            [
                history_entry(refresh_run, results[name], streams[name], lsn, of.get(name), epochs)
                for name in results
            ],
        )
        entered.update(streams)

    def stage_commit() -> GroupCommit:
        new_id = context.clock.new_id
        steps: list[Step] = [step for table in tables for step in table.stage(attempt, new_id())]
        numbered = bool(steps) or before is not None
        kind = "refresh" if any(result.is_modified for result in results.values()) else "define"
        immediate = [result for result in results.values() if result.job.stream.is_immediate]
        checks = tuple(check for result in immediate for check in input_checks(result, {*results, *new}))
        entry: Entry = write_entries
        return GroupCommit(
            attempt, kind, tuple(steps), (entry,), refresh_run.fence, checks, numbered=numbered
        )

    context.failpoints.hit("commit.before_metadata")
    commit = stage_commit()
    context.failpoints.hit("commit.after_metadata")
    outcome: Outcome = context.catalog.commit_group(commit)
    for _ in range(COMMIT_TRIES):
        match outcome:
            case Committed(lsn):
                context.failpoints.hit("refresh.after_publish")
                refresh_run.add_published(commit.steps, lsn, entered)
                return lsn
            case Fenced(fence):
                raise fenced_off_error(fence)
            case Conflict(name):
                _rebase(refresh_run, tables, name)
                commit = stage_commit()
                outcome = context.catalog.commit_group(commit)
            case Unknown():
                outcome = context.catalog.settle(outcome) or context.catalog.commit_group(commit)
    raise CatalogUnavailable(
        "the catalog database takes no commits", detail="nothing of the refresh happened."
    )


def input_checks(result: Result, written: Container[TableName] = ()) -> list[Unchanged]:
    """The checks for a result that must be as new as its inputs: none has changed, except `written`."""
    return [
        Unchanged(version.table_id, name, version.lsn)
        for name, version in result.inputs.items()
        if name not in written
    ]


def _rebase(refresh_run: RefreshRun, tables: Sequence[WorkingTable], name: TableName | None) -> None:
    """Rebase the tables on their current metadata, if only that has changed: expiry rewrites it."""
    lake_version = refresh_run.context.catalog.lake_version()
    if all(table.name != name for table in tables):
        raise _conflict_error(name)  # something that was read
    for table in tables:
        if table.new is not None:
            if table.name in lake_version.versions and not any(
                other.dropped and other.name == table.name for other in tables
            ):
                raise _conflict_error(table.name)
            continue
        head = lake_version.versions.get(table.name)
        if head is None or (head.table_id, head.lsn) != (table.version.table_id, table.version.lsn):
            raise _conflict_error(name)
        table.rebase(head)


def _check_members_unchanged(refresh_run: RefreshRun, results: Results, connection: Connection) -> None:
    """Conflict if somebody refreshed a member meanwhile: a refresh that changes no rows touches no table."""
    now = read_streams(connection)
    for name in results:
        if (before := refresh_run.streams.get(name)) is not None and (
            (found := now.get(name)) is None
            or (found.table_id, found.query, found.reads, found.version_lsn)
            != (before.table_id, before.query, before.reads, before.version_lsn)
        ):
            raise _conflict_error(name)


def _conflict_error(name: TableName | None) -> WriteConflict:
    return WriteConflict(f'"{name}" was changed meanwhile', detail="nothing of this refresh happened.")


def stream_after_commit(
    refresh_run: RefreshRun, results: Results, name: TableName, lsn: int, written: Container[TableName] = ()
) -> StreamTable:
    """The record of a stream table after the commit under `lsn`, with what was `written` in it."""
    result = results[name]
    stream, idle = result.job.stream, result.planned.action == NO_DATA
    reads = {
        table: Read(
            version.table_id, lsn if table in written or _is_modified(results, table) else version.lsn
        )
        for table, version in result.inputs.items()
    }
    frontier = {
        source: lsn if source in written else then for source, then in frontier_of(results, name).items()
    }
    after = replace(
        stream,
        table_id=result.table.version.table_id,
        status=ACTIVE if stream.status != "SUSPENDED" else stream.status,
        reads=reads,
        frontier=frontier,
        version_lsn=lsn if result.is_modified else stream.version_lsn,
        last_refresh_at=refresh_run.context.clock.now(),
        failures=0,
        retry_at=None,
        error_code=None,
        error=None,
        held=None
        if refresh_run.waiting_reasons.keys().isdisjoint(results)
        else stream.held,  # passed by hand
        idle=idle,
        put_off=False,
        fuse=result.fuse,
    )
    if idle or result.planned.action == SKIP:
        return after
    mode, reason = _effective_mode(stream, result.planned)
    return replace(after, effective_mode=mode, mode_reason=reason)


def _effective_mode(stream: StreamTable, planned: PlannedAction) -> tuple[str, str]:
    """How it is maintained, and why: a reinitialisation says nothing about later refreshes."""
    if planned.action != REINITIALIZE:
        return planned.action.lower(), planned.because
    if stream.options.refresh_mode == "full":
        return "full", "refresh_mode is full"
    if stream.refusal is not None:
        return "full", stream.refusal
    return "differential", "changes of what it reads suffice"


def _is_modified(results: Results, name: TableName) -> bool:
    return name in results and results[name].is_modified


def frontier_of(results: Results, name: TableName) -> dict[TableName, int]:
    """The lsn of every base source that the contents reflect; over two paths, the older one."""
    frontier: dict[TableName, int] = {}
    pending, met = [name], {name}
    while pending:
        result = results[pending.pop()]
        for table, version in result.inputs.items():
            if table in results:
                if table not in met:
                    met.add(table)
                    pending.append(table)
                continue
            own: Mapping[TableName, int] = {table: result.seen.lake_version.lsn}
            if version.kind == STREAM and (stream := result.seen.streams.get(table)) is not None:
                own = stream.frontier
            for source, lsn in own.items():
                frontier[source] = min(lsn, frontier.get(source, lsn))
    return frontier


def history_entry(
    refresh_run: RefreshRun,
    result: Result,
    after: StreamTable,
    lsn: int,
    group: int | None,
    epochs: Mapping[int, int],
) -> Refresh:
    """A line of the history for a result that is committed under `lsn`."""
    stream = result.job.stream
    return Refresh(
        stream_table=stream.name,
        action=result.planned.action,
        status=SKIPPED if result.planned.action == SKIP else SUCCEEDED,
        reason=result.planned.because,
        started_at=result.started_at,
        finished_at=refresh_run.context.clock.now(),
        initiated_by=refresh_run.initiated_by,
        rows_inserted=result.counts.inserted,
        rows_deleted=result.counts.deleted,
        tick_watermark_lsn=refresh_run.watermark,
        since=stream.frontier,
        until=after.frontier,
        reads=after.reads or {},
        lsn=lsn if result.is_modified else None,
        group_id=group,
        epoch=None if group is None else epochs.get(group),
        scc_id=after.scc_id,
        fixpoint_iteration=result.iterations,
        seconds=result.seconds,
        rows_changed=result.sizes.rows_changed,
        rows_read=result.sizes.rows_read,
        rows_stored=result.sizes.rows_stored,
        table_id=result.table.version.table_id,
        estimated_seconds=result.estimated_seconds,
    )
