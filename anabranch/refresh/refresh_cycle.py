"""The members of a cycle, refreshed together: one fixed point, staged and not yet visible.

If one of them must be refreshed in full or reinitialised, all are, since none can be right before the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from anabranch.clock import read_stopwatch
from anabranch.errors import NoFixpoint
from anabranch.ledger.history import DIFFERENTIAL, NO_DATA, REINITIALIZE
from anabranch.names import TableName
from anabranch.refresh.choose import Sizes
from anabranch.refresh.fixpoint import MemberFailed, Progress
from anabranch.refresh.fuse_decision import FuseDecision, rebuild_reason
from anabranch.refresh.inputs import Sources
from anabranch.refresh.pending_changes import count_pending_rows, load_last_read_versions
from anabranch.refresh.plan import PlannedAction, Situation, plan_refresh
from anabranch.refresh.recursive_definitions import CycleMemberDefinition, all_recursive_tables
from anabranch.refresh.refresh_member import (
    Job,
    Result,
    apply_fuse,
    check_row_count,
    find_foreign_writer,
    get_definition,
    prepare_tables,
    with_staged_tables,
)
from anabranch.refresh.run_context import RefreshRun
from anabranch.refresh.run_fixpoint import fill_recursive_tables, update_recursive_tables
from anabranch.streams.state import State
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.versions import LakeVersion, TableVersion
from anabranch.write.row_level_writes import RowCounts
from anabranch.write.working_table import WorkingTable

FOLLOWS = "a cycle follows its changes to the next fixed point"


class CycleMemberFailed(Exception):
    """One member's query failed, and so the cycle."""

    def __init__(self, member: TableName, error: Exception) -> None:
        super().__init__(str(member))
        self.member = member
        self.error = error


@dataclass(frozen=True)
class _PreparedMember:
    """A member before the fixed point."""

    job: Job
    definition: CycleMemberDefinition
    tables: Mapping[TableName, WorkingTable]
    replaced: tuple[WorkingTable, ...]
    other_shape: str | None

    @cached_property
    def outside_inputs(self) -> frozenset[TableName]:
        """The inputs that aren't members."""
        return self.definition.tables - self.definition.members


def refresh_cycle(
    refresh_run: RefreshRun, jobs: Sequence[Job], staged: Mapping[TableName, WorkingTable], seen: State
) -> dict[TableName, Result]:
    """Stage the new contents of all members, given what else is staged and the state to read."""
    started_at, started = refresh_run.context.clock.now(), read_stopwatch()
    members = frozenset(job.name for job in jobs)
    until = with_staged_tables(seen.lake_version, staged)
    prepared = [_prepare_member(refresh_run, job, members, until, seen) for job in jobs]
    until = with_staged_tables(until, {each.job.name: each.tables[each.job.name] for each in prepared})
    outside = frozenset(name for each in prepared for name in each.outside_inputs)
    since, lost = _read_since_version(refresh_run, prepared, until, outside)
    below = {name: table for name, table in staged.items() if name in outside}
    planned = {each.job.name: _plan_member(refresh_run, each, until, below, lost) for each in prepared}
    changes = Sources(refresh_run.context, since, until, below)
    weighed = {
        each.job.name: _apply_member_fuse(refresh_run, each, planned[each.job.name], changes)
        for each in prepared
    }
    action = _common_action({name: each.planned for name, each in weighed.items()})
    inputs = {
        each.job.name: {name: until.version(name) for name in sorted(each.definition.tables)}
        for each in prepared
    }
    results = {
        each.job.name: Result(
            each.job,
            each.definition,
            action or weighed[each.job.name].planned,
            inputs[each.job.name],
            each.tables,
            seen,
            started_at,
            replaced=each.replaced,
            fuse=weighed[each.job.name].fuse,
            notice=weighed[each.job.name].notice,
        )
        for each in prepared
    }
    if action is None:
        return results
    # Only a differential refresh starts from an earlier version.
    sources = Sources(refresh_run.context, since if action.action == DIFFERENTIAL else until, until, below)
    counts, iterations = _run_fixpoint(refresh_run, prepared, sources, action, outside)
    seconds = read_stopwatch() - started
    return {
        name: _finish_member(refresh_run, result, sources, counts[name], iterations, seconds)
        for name, result in results.items()
    }


def _prepare_member(
    refresh_run: RefreshRun, job: Job, members: frozenset[TableName], until: LakeVersion, seen: State
) -> _PreparedMember:
    refresh_run.context.failpoints.hit("refresh.before_member")
    definition = job.definition or get_definition(refresh_run, job.stream, until, members)
    assert isinstance(definition, CycleMemberDefinition)
    tables, replaced, other_shape = prepare_tables(refresh_run, job, definition, seen.lake_version)
    return _PreparedMember(job, definition, tables, replaced, other_shape)


def _read_since_version(
    refresh_run: RefreshRun,
    prepared: Sequence[_PreparedMember],
    until: LakeVersion,
    outside: frozenset[TableName],
) -> tuple[LakeVersion, frozenset[TableName]]:
    """The outer inputs as they were read last: at one version by all members, or they count as lost."""
    versions: dict[TableName, TableVersion] = {}
    lost: set[TableName] = set()
    for each in prepared:
        inputs = {name: until.version(name) for name in each.outside_inputs}
        read = load_last_read_versions(refresh_run.context, each.job.stream, inputs)
        lost |= each.outside_inputs & (each.job.stream.reads or {}).keys() - read.keys()
        for name, version in read.items():
            if name in outside and versions.setdefault(name, version).lsn != version.lsn:
                lost.add(name)
    return replace(refresh_run.lake_version, versions=versions), frozenset(lost)


def _plan_member(
    refresh_run: RefreshRun,
    each: _PreparedMember,
    until: LakeVersion,
    below: Mapping[TableName, WorkingTable],
    lost: frozenset[TableName],
) -> PlannedAction:
    stream = each.job.stream
    situation = Situation(
        stream=_with_differential_mode(stream),
        inputs={name: until.version(name) for name in each.outside_inputs},
        staged=frozenset(below) & each.outside_inputs,
        lost=lost & each.outside_inputs,
        touched_by=find_foreign_writer(refresh_run, stream, each.tables.get(stream.name)),
        asked_full=each.job.asked_full,
        anew=each.job.anew or each.other_shape or rebuild_reason(stream),
    )
    return plan_refresh(situation, None)


def _apply_member_fuse(
    refresh_run: RefreshRun, each: _PreparedMember, planned: PlannedAction, sources: Sources
) -> FuseDecision:
    """What a member's fuse allows. Changes from outside of the cycle count, derived rows don't."""
    inputs = {name: sources.until.version(name) for name in each.outside_inputs}
    reshaped = each.other_shape is not None
    return apply_fuse(
        refresh_run, each.job, planned, lambda: count_pending_rows(sources, inputs), reshaped=reshaped
    )


def _with_differential_mode(stream: StreamTable) -> StreamTable:
    return replace(stream, options=replace(stream.options, refresh_mode="differential"))


def _common_action(planned: Mapping[TableName, PlannedAction]) -> PlannedAction | None:
    """What all members do; None if there is nothing to do."""
    anew = [(name, each) for name, each in planned.items() if each.action not in (DIFFERENTIAL, NO_DATA)]
    if anew:
        name, first = anew[0]
        reason = first.because if len(anew) == len(planned) else f'"{name}": {first.because}'
        return PlannedAction(REINITIALIZE if first.action == REINITIALIZE else first.action, reason)
    if all(each.action == NO_DATA for each in planned.values()):
        return None
    return PlannedAction(DIFFERENTIAL, FOLLOWS)


def _run_fixpoint(
    refresh_run: RefreshRun,
    prepared: Sequence[_PreparedMember],
    sources: Sources,
    action: PlannedAction,
    outside: frozenset[TableName],
) -> tuple[dict[TableName, RowCounts], int]:
    context = refresh_run.context
    for each in prepared:
        refresh_run.notify_observers(
            "refresh_started", each.job.name, action=action.action, reason=action.because
        )
    loops = all_recursive_tables([each.definition for each in prepared])
    tables = {name: table for each in prepared for name, table in each.tables.items()}
    owner = {str(name): each.job.name for each in prepared for name in each.tables}
    last = prepared[-1].job.name

    def report_progress(progress: Progress) -> None:
        refresh_run.notify_observers(
            "refresh_iterated",
            last,
            iteration=progress.iteration,
            derived=progress.derived,
            added=progress.added,
            removed=progress.removed,
        )

    try:
        if action.action == DIFFERENTIAL:
            changed = sources.changed_tables(outside)
            return update_recursive_tables(context, loops, tables, sources, changed, report_progress)
        return fill_recursive_tables(context, loops, tables, sources, report_progress)
    except MemberFailed as failed:
        raise CycleMemberFailed(owner[failed.table], failed.error) from failed.error
    except NoFixpoint as error:
        raise CycleMemberFailed(prepared[0].job.name, error) from error


def _finish_member(
    refresh_run: RefreshRun,
    result: Result,
    sources: Sources,
    counts: RowCounts,
    iterations: int,
    seconds: float,
) -> Result:
    stored = check_row_count(result.table, counts)
    changed = 0
    if result.planned.action == DIFFERENTIAL:
        own = frozenset(result.inputs) & sources.since.versions.keys()  # not for members
        changed = sources.count_changed_rows(sources.changed_tables(own))
    read = sum(version.rows for version in result.inputs.values())
    refresh_run.context.failpoints.hit("refresh.after_member")
    refresh_run.notify_observers(
        "refresh_finished",
        result.job.name,
        inserted=counts.inserted,
        deleted=counts.deleted,
        seconds=seconds,
    )
    return replace(
        result,
        counts=counts,
        seconds=seconds,
        sizes=Sizes(changed, read, stored),
        iterations=iterations,
    )
