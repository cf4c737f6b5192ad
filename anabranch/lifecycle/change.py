"""Changing many definitions in one commit: sources, stream tables and groups come, change and go together.

What has to be filled or rebuilt is staged first, unseen. Then one transaction of the ledger swings all tables
and stores all definitions, groups and owners; whatever fails before it ends leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from anabranch.errors import NameTaken, WriteConflict
from anabranch.ledger.database import Connection
from anabranch.ledger.declared import remove_declared
from anabranch.ledger.projects import own_groups, own_stream_tables
from anabranch.ledger.records import Version
from anabranch.ledger.streams import (
    ACTIVE,
    ERROR,
    read_streams,
    remove_stream,
    store_definition,
    store_fuse,
    store_status,
)
from anabranch.ledger.watermarks import remove_watermark_group
from anabranch.lifecycle.alter import check_forward
from anabranch.lifecycle.blueprint import Blueprint, draw
from anabranch.lifecycle.changes import NOBODY, Changes, Known
from anabranch.lifecycle.choose import Choice, chosen_jobs
from anabranch.lifecycle.create import (
    add_created,
    define_checked,
    empty_tables,
    tell_of_cycles,
    tell_of_diamonds,
)
from anabranch.lifecycle.cycles import check_members
from anabranch.lifecycle.declare import add_group, shrink_groups, tell_of_groups_gone, tell_of_joined_groups
from anabranch.lifecycle.fuse import tell_of_missing_ceiling
from anabranch.lifecycle.status import resumed
from anabranch.lifecycle.watermarks import enter_watermark_group
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.definitions import Definitions
from anabranch.refresh.fuse import OFF
from anabranch.refresh.graphs import Streams, regroup, scheduled
from anabranch.refresh.group import stage
from anabranch.refresh.parallel import Failed
from anabranch.refresh.passes import Pass, pinned
from anabranch.refresh.publish import Groups, publish
from anabranch.refresh.weigh import fuse_of
from anabranch.write.working import WorkingTable

TRIES = 5
SOURCE = "source"

Decide = Callable[[Known], Changes | None]
"""What to change, given what is there; None: nothing. Asked again when somebody was faster."""


def change_together(definitions: Definitions, decide: Decide) -> int | None:
    """Make all changes in one commit; its lsn, or None if there was nothing to change."""
    for _ in range(TRIES):
        try:
            return _change(definitions, decide)
        except WriteConflict:
            # A refresh moved what is rebuilt here, or somebody changed a definition.
            continue
    return _change(definitions, decide)


def _change(definitions: Definitions, decide: Decide) -> int | None:
    parts = definitions.parts
    with pinned(parts) as (moment, streams):
        known = Known(moment, streams, {}, NOBODY).with_groups(parts)
        changes = decide(known)
        if changes is None:
            return None
        sources = _new_sources(parts, changes, known)
        versions = {table.name: table.version for table in sources}
        a_pass = pass_over(definitions, known, changes, versions)
        plan = draw(a_pass, changes, partial(define_checked, a_pass))
        choice = chosen_jobs(a_pass, plan, changes)
        lsn, groups_gone = _commit(a_pass, known, changes, plan, choice, sources)
    _tell(parts, changes, plan, groups_gone)
    return lsn


def blueprint(definitions: Definitions, known: Known, changes: Changes) -> Blueprint:
    """What the stream tables would be, without reading or writing anything."""
    sources = {
        source.name: Version("", source.name, SOURCE, source.schema, 0, None, 0, "")
        for source in changes.sources
    }
    return draw(pass_over(definitions, known, changes, sources), changes)


def pass_over(
    definitions: Definitions, known: Known, changes: Changes, sources: Mapping[TableName, Version]
) -> Pass:
    """A pass that sees what is there, with the sources and the watermark groups that are to come."""
    readiness = known.moment.readiness
    kept = tuple(group for group in readiness.groups if group.name not in changes.watermark_groups_dropped)
    moment = replace(
        known.moment,
        versions={**known.moment.versions, **sources},
        readiness=replace(readiness, groups=kept + changes.watermark_groups),
    )
    initiated_by = "manual" if changes.altered else "create"
    return Pass(definitions.parts, definitions, moment, dict(known.streams), initiated_by)


def _new_sources(parts: Parts, changes: Changes, known: Known) -> list[WorkingTable]:
    for source in changes.sources:
        if source.name in known.moment.versions:
            raise NameTaken(f'the name "{source.name}" is taken')
    return [
        WorkingTable.create(parts.reader, parts.clock.new_id(), source.name, SOURCE, source.schema)
        for source in changes.sources
    ]


def _commit(
    a_pass: Pass,
    known: Known,
    changes: Changes,
    plan: Blueprint,
    choice: Choice,
    sources: Sequence[WorkingTable],
) -> tuple[int, list[str]]:
    parts = a_pass.parts
    try:
        results = stage(a_pass, choice.jobs) if choice.jobs else {}
    except Failed as failed:
        raise failed.error from None
    check_members(a_pass, results)
    check_forward(a_pass, results)
    created = [job for job in choice.created if job.name in plan.created]
    empty = empty_tables(parts, created, results)
    tables = empty | {name: result.table for name, result in results.items()}
    groups_gone: list[str] = []

    def enter(connection: Connection, staged: Streams) -> Groups:
        if not known.still_so(connection):
            raise WriteConflict("a definition was changed meanwhile", detail="nothing of it happened.")
        for name in changes.dropped:
            remove_stream(connection, a_pass.streams[name].table_id)
        for title in changes.groups_dropped:
            remove_declared(connection, title)
        for title in changes.watermark_groups_dropped:
            remove_watermark_group(connection, title)
        for job in created:
            stream = staged.get(job.name, job.stream)
            waiting, put_off = choice.waiting, choice.put_off
            add_created(
                connection, a_pass, replace(stream, declared=None), tables[job.name], waiting, put_off
            )
        _store_altered(connection, a_pass, plan, changes)
        for group in changes.groups:
            add_group(connection, group, parts.clock.now())
        for watermarks in changes.watermark_groups:
            enter_watermark_group(parts, connection, replace(watermarks, created_at=parts.clock.now()))
        groups_gone[:] = shrink_groups(connection)
        _own(connection, changes)
        return regroup(connection, parts.settings)

    others = [*_dropped(a_pass, changes.dropped), *sources, *empty.values()]
    return publish(a_pass, results, before=enter, others=others), groups_gone


def _store_altered(connection: Connection, a_pass: Pass, plan: Blueprint, changes: Changes) -> None:
    """What people chose for those that are there; their tables may have moved in this commit."""
    now = read_streams(connection)
    for name in sorted({altered.name for altered in changes.altered} | plan.redefined.keys()):
        before, after, table_id = a_pass.streams[name], plan.after[name], now[name].table_id
        store_definition(connection, replace(after, table_id=table_id))
        if name in plan.redefined and before.status == ERROR:
            # What was broken has been replaced: that is the decision that an error waits for.
            settled = replace(before, table_id=table_id, status=ACTIVE, status_reason=None)
            store_status(connection, settled)
        elif name in plan.redefined and before.fuse.blown_at is not None:
            # So is what its fuse had stopped: it is part of what is published here.
            store_status(connection, resumed(replace(before, table_id=table_id)))
            store_fuse(connection, resumed(replace(before, table_id=table_id)))
        elif after.options.fuse == OFF != before.options.fuse:
            forgotten = replace(before.fuse, batches=(), in_a_row=0)
            store_fuse(connection, replace(before, table_id=table_id, fuse=forgotten))


def _own(connection: Connection, changes: Changes) -> None:
    own_stream_tables(connection, changes.project, (new.name for new in changes.created))
    own_groups(
        connection,
        changes.project,
        (group.name for group in changes.groups),
        (group.name for group in changes.watermark_groups),
    )


def _dropped(a_pass: Pass, names: Iterable[TableName]) -> list[WorkingTable]:
    found = []
    for name in names:
        for table in (name, *a_pass.streams[name].state_tables):
            if (version := a_pass.moment.versions.get(table)) is not None:
                found.append(WorkingTable(version, a_pass.parts.reader, dropped=True))
    return found


def _tell(parts: Parts, changes: Changes, plan: Blueprint, groups_gone: Iterable[str]) -> None:
    names = [*sorted(plan.created), *sorted(plan.redefined)]
    tell_of_cycles(plan.graph, names)
    for name in names:
        tell_of_diamonds(scheduled(plan.after), name)
        tell_of_joined_groups(plan.after, name, plan.after[name].inputs)
        tell_of_missing_ceiling(name, fuse_of(plan.after[name].options, parts.settings))
    tell_of_groups_gone(groups_gone)
