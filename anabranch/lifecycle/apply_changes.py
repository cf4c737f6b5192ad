"""Changing many definitions in one commit: sources, stream tables and groups come, change and go together.

What has to be filled or rebuilt is staged first, unseen. Then one transaction of the ledger swaps all
pointers, and stores all definitions, groups and owners; whatever fails before its end changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import NameTaken, WriteConflict
from anabranch.ledger.database import Connection
from anabranch.ledger.declared_groups import remove_declared_group
from anabranch.ledger.projects import store_group_owner, store_table_owner
from anabranch.ledger.stream_tables import (
    read_streams,
    remove_stream,
    store_definition,
    store_fuse,
    store_status,
)
from anabranch.ledger.watermarks import remove_watermark_group
from anabranch.lifecycle.alter import check_frontier_advances
from anabranch.lifecycle.create import (
    define_and_check,
    empty_tables,
    store_new_stream,
    warn_of_cycles,
    warn_of_diamonds,
)
from anabranch.lifecycle.cycles import check_cycle_members
from anabranch.lifecycle.definition_changes import NOBODY, CurrentDefinitions, DefinitionChanges
from anabranch.lifecycle.fuse import warn_of_missing_ceiling
from anabranch.lifecycle.refresh_groups import (
    add_group,
    remove_undersized_groups,
    warn_of_reader_outside_group,
    warn_of_removed_groups,
)
from anabranch.lifecycle.select_jobs import JobSelection, select_jobs
from anabranch.lifecycle.store_groups import regroup
from anabranch.lifecycle.suspend_resume import resumed_stream
from anabranch.lifecycle.target_streams import TargetStreams, resolve_target_streams
from anabranch.lifecycle.watermark_groups import store_watermark_group
from anabranch.names import TableName
from anabranch.refresh.definition_cache import DefinitionCache
from anabranch.refresh.fuse_decision import fuse_of
from anabranch.refresh.parallel_jobs import Failed
from anabranch.refresh.publish import Groups, publish
from anabranch.refresh.refresh_group import stage_members
from anabranch.refresh.run_context import RefreshRun, pin_lake_version
from anabranch.streams.fuse import OFF
from anabranch.streams.stream_graph import Streams, scheduled_graph
from anabranch.streams.stream_table import ACTIVE, ERROR
from anabranch.streams.versions import TableVersion
from anabranch.write.working_table import WorkingTable

TRIES = 5
SOURCE = "source"

Decide = Callable[[CurrentDefinitions], DefinitionChanges | None]
"""What to change, given what is there; None: nothing. Asked again when somebody was faster."""


def apply_definition_changes(definitions: DefinitionCache, decide: Decide) -> int | None:
    """Make all changes in one commit; its lsn, or None if there was nothing to change."""
    for _ in range(TRIES):
        try:
            return _try_apply(definitions, decide)
        except WriteConflict:
            # A refresh moved what this call rebuilds, or somebody changed a definition.
            continue
    return _try_apply(definitions, decide)


def _try_apply(definitions: DefinitionCache, decide: Decide) -> int | None:
    context = definitions.context
    with pin_lake_version(context) as (lake_version, streams):
        known = CurrentDefinitions(lake_version, streams, {}, NOBODY).read_groups_and_owners(context)
        changes = decide(known)
        if changes is None:
            return None
        sources = _new_sources(context, changes, known)
        versions = {table.name: table.version for table in sources}
        refresh_run = refresh_run_with_new_sources(definitions, known, changes, versions)
        plan = resolve_target_streams(refresh_run, changes, partial(define_and_check, refresh_run))
        choice = select_jobs(refresh_run, plan, changes)
        lsn, groups_gone = _stage_and_commit(refresh_run, known, changes, plan, choice, sources)
    _warn_of_consequences(context, changes, plan, groups_gone)
    return lsn


def preview_target_streams(
    definitions: DefinitionCache, known: CurrentDefinitions, changes: DefinitionChanges
) -> TargetStreams:
    """What the stream tables would be, without reading or writing anything."""
    sources = {
        source.name: TableVersion("", source.name, SOURCE, source.schema, 0, None, 0, "")
        for source in changes.sources
    }
    return resolve_target_streams(refresh_run_with_new_sources(definitions, known, changes, sources), changes)


def refresh_run_with_new_sources(
    definitions: DefinitionCache,
    known: CurrentDefinitions,
    changes: DefinitionChanges,
    sources: Mapping[TableName, TableVersion],
) -> RefreshRun:
    """A refresh run over what exists, with the sources and the watermark groups that are to be created."""
    readiness = known.lake_version.readiness
    kept = tuple(group for group in readiness.groups if group.name not in changes.watermark_groups_dropped)
    lake_version = replace(
        known.lake_version,
        versions={**known.lake_version.versions, **sources},
        readiness=replace(readiness, groups=kept + changes.watermark_groups),
    )
    initiated_by = "manual" if changes.altered else "create"
    return RefreshRun(definitions.context, definitions, lake_version, dict(known.streams), initiated_by)


def _new_sources(
    context: LakeContext, changes: DefinitionChanges, known: CurrentDefinitions
) -> list[WorkingTable]:
    for source in changes.sources:
        if source.name in known.lake_version.versions:
            raise NameTaken(f'the name "{source.name}" is taken')
    return [
        WorkingTable.create(context.reader, context.clock.new_id(), source.name, SOURCE, source.schema)
        for source in changes.sources
    ]


def _stage_and_commit(
    refresh_run: RefreshRun,
    known: CurrentDefinitions,
    changes: DefinitionChanges,
    plan: TargetStreams,
    choice: JobSelection,
    sources: Sequence[WorkingTable],
) -> tuple[int, list[str]]:
    context = refresh_run.context
    try:
        results = stage_members(refresh_run, choice.jobs) if choice.jobs else {}
    except Failed as failed:
        raise failed.error from None
    check_cycle_members(refresh_run, results)
    check_frontier_advances(refresh_run, results)
    created = [job for job in choice.created if job.name in plan.created]
    empty = empty_tables(context, created, results)
    tables = empty | {name: result.table for name, result in results.items()}
    groups_gone: list[str] = []

    def update_ledger(connection: Connection, staged: Streams) -> Groups:
        if not known.is_current(connection):
            raise WriteConflict("a definition was changed meanwhile", detail="nothing of it happened.")
        for name in changes.dropped:
            remove_stream(connection, refresh_run.streams[name].table_id)
        for title in changes.groups_dropped:
            remove_declared_group(connection, title)
        for title in changes.watermark_groups_dropped:
            remove_watermark_group(connection, title)
        for job in created:
            stream = staged.get(job.name, job.stream)
            waiting, put_off = choice.waiting, choice.put_off
            store_new_stream(
                connection, refresh_run, replace(stream, declared=None), tables[job.name], waiting, put_off
            )
        _store_altered_definitions(connection, refresh_run, plan, changes)
        for group in changes.groups:
            add_group(connection, group, context.clock.now())
        for watermarks in changes.watermark_groups:
            store_watermark_group(context, connection, replace(watermarks, created_at=context.clock.now()))
        groups_gone[:] = remove_undersized_groups(connection)
        _store_owners(connection, changes)
        return regroup(connection, context.settings)

    others = [*_tables_to_drop(refresh_run, changes.dropped), *sources, *empty.values()]
    return publish(refresh_run, results, before=update_ledger, others=others), groups_gone


def _store_altered_definitions(
    connection: Connection, refresh_run: RefreshRun, plan: TargetStreams, changes: DefinitionChanges
) -> None:
    """What people chose for those that are there; their tables may have moved in this commit."""
    now = read_streams(connection)
    for name in sorted({altered.name for altered in changes.altered} | plan.redefined.keys()):
        before, after, table_id = refresh_run.streams[name], plan.after[name], now[name].table_id
        store_definition(connection, replace(after, table_id=table_id))
        if name in plan.redefined and before.status == ERROR:
            # What was broken has been replaced: that is the decision that an error waits for.
            settled = replace(before, table_id=table_id, status=ACTIVE, status_reason=None)
            store_status(connection, settled)
        elif name in plan.redefined and before.fuse.blown_at is not None:
            # So is what its fuse had stopped: it is part of what this commit publishes.
            store_status(connection, resumed_stream(replace(before, table_id=table_id)))
            store_fuse(connection, resumed_stream(replace(before, table_id=table_id)))
        elif after.options.fuse == OFF != before.options.fuse:
            forgotten = replace(before.fuse, batches=(), in_a_row=0)
            store_fuse(connection, replace(before, table_id=table_id, fuse=forgotten))


def _store_owners(connection: Connection, changes: DefinitionChanges) -> None:
    store_table_owner(connection, changes.project, (new.name for new in changes.created))
    store_group_owner(
        connection,
        changes.project,
        (group.name for group in changes.groups),
        (group.name for group in changes.watermark_groups),
    )


def _tables_to_drop(refresh_run: RefreshRun, names: Iterable[TableName]) -> list[WorkingTable]:
    found = []
    for name in names:
        for table in (name, *refresh_run.streams[name].state_tables):
            if (version := refresh_run.lake_version.versions.get(table)) is not None:
                found.append(WorkingTable(version, refresh_run.context.reader, dropped=True))
    return found


def _warn_of_consequences(
    context: LakeContext, changes: DefinitionChanges, plan: TargetStreams, groups_gone: Iterable[str]
) -> None:
    names = [*sorted(plan.created), *sorted(plan.redefined)]
    warn_of_cycles(plan.graph, names)
    for name in names:
        warn_of_diamonds(scheduled_graph(plan.after), name)
        warn_of_reader_outside_group(plan.after, name, plan.after[name].inputs)
        warn_of_missing_ceiling(name, fuse_of(plan.after[name].options, context.settings))
    warn_of_removed_groups(groups_gone)
