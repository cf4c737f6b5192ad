"""The members of a cycle, brought up together: one fixed point, staged and not yet visible.

What one of them needs, all get: if one must be filled from nothing, all are, since none can be right before
the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from anabranch.clock import stopwatch
from anabranch.errors import NoFixpoint
from anabranch.ledger.history import DIFFERENTIAL, NO_DATA, REINITIALIZE
from anabranch.ledger.records import Moment, Version
from anabranch.ledger.streams import StreamTable
from anabranch.names import TableName
from anabranch.refresh.choose import Sizes
from anabranch.refresh.fixpoint import MemberFailed, Progress
from anabranch.refresh.loops import fill_loops, follow_loops
from anabranch.refresh.member import (
    Job,
    Result,
    check_count,
    definition_of,
    tables_of,
    touched_by,
    weighed_by_fuse,
    with_staged,
)
from anabranch.refresh.passes import Pass, Seen
from anabranch.refresh.pending import pending_rows, read_last
from anabranch.refresh.plan import Planned, Situation, plan
from anabranch.refresh.recursive import MemberDefinition, fellows
from anabranch.refresh.sources import Sources
from anabranch.refresh.weigh import Weighed, rebuilt_because
from anabranch.write.rewrite import RowCounts
from anabranch.write.working import WorkingTable

FOLLOWS = "a cycle follows its changes to the next fixed point"


class CycleMemberFailed(Exception):
    """One member's query failed, and so the cycle."""

    def __init__(self, member: TableName, error: Exception) -> None:
        super().__init__(str(member))
        self.member = member
        self.error = error


@dataclass(frozen=True)
class _Prepared:
    """A member before the fixed point."""

    job: Job
    definition: MemberDefinition
    tables: Mapping[TableName, WorkingTable]
    replaced: tuple[WorkingTable, ...]
    other_shape: str | None

    @cached_property
    def outside(self) -> frozenset[TableName]:
        """What it reads that isn't a member."""
        return self.definition.tables - self.definition.members


def bring_up_cycle(
    a_pass: Pass, jobs: Sequence[Job], staged: Mapping[TableName, WorkingTable], seen: Seen
) -> dict[TableName, Result]:
    """Stage what the contents of all members become, given what else is staged and what there is to see."""
    started_at, started = a_pass.parts.clock.now(), stopwatch()
    members = frozenset(job.name for job in jobs)
    until = with_staged(seen.moment, staged)
    prepared = [_prepared(a_pass, job, members, until, seen) for job in jobs]
    until = with_staged(until, {each.job.name: each.tables[each.job.name] for each in prepared})
    outside = frozenset(name for each in prepared for name in each.outside)
    since, lost = _since(a_pass, prepared, until, outside)
    below = {name: table for name, table in staged.items() if name in outside}
    planned = {each.job.name: _planned(a_pass, each, until, below, lost) for each in prepared}
    changes = Sources(a_pass.parts, since, until, below)
    weighed = {each.job.name: _weighed(a_pass, each, planned[each.job.name], changes) for each in prepared}
    action = _together({name: each.planned for name, each in weighed.items()})
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
    # What is filled from nothing has no beginning.
    sources = Sources(a_pass.parts, since if action.action == DIFFERENTIAL else until, until, below)
    counts, iterations = _run(a_pass, prepared, sources, action, outside)
    seconds = stopwatch() - started
    return {
        name: _finished(a_pass, result, sources, counts[name], iterations, seconds)
        for name, result in results.items()
    }


def _prepared(a_pass: Pass, job: Job, members: frozenset[TableName], until: Moment, seen: Seen) -> _Prepared:
    a_pass.parts.failpoints.hit("refresh.before_member")
    definition = job.definition or definition_of(a_pass, job.stream, until, members)
    assert isinstance(definition, MemberDefinition)
    tables, replaced, other_shape = tables_of(a_pass, job, definition, seen.moment)
    return _Prepared(job, definition, tables, replaced, other_shape)


def _since(
    a_pass: Pass, prepared: Sequence[_Prepared], until: Moment, outside: frozenset[TableName]
) -> tuple[Moment, frozenset[TableName]]:
    """What is outside, as it was read last: by all members at once, or it counts as lost."""
    versions: dict[TableName, Version] = {}
    lost: set[TableName] = set()
    for each in prepared:
        inputs = {name: until.version(name) for name in each.outside}
        read = read_last(a_pass.parts, each.job.stream, inputs)
        lost |= each.outside & (each.job.stream.reads or {}).keys() - read.keys()
        for name, version in read.items():
            if name in outside and versions.setdefault(name, version).lsn != version.lsn:
                lost.add(name)
    return replace(a_pass.moment, versions=versions), frozenset(lost)


def _planned(
    a_pass: Pass,
    each: _Prepared,
    until: Moment,
    below: Mapping[TableName, WorkingTable],
    lost: frozenset[TableName],
) -> Planned:
    stream = each.job.stream
    situation = Situation(
        stream=_differential(stream),
        inputs={name: until.version(name) for name in each.outside},
        staged=frozenset(below) & each.outside,
        lost=lost & each.outside,
        touched_by=touched_by(a_pass, stream, each.tables.get(stream.name)),
        asked_full=each.job.asked_full,
        anew=each.job.anew or each.other_shape or rebuilt_because(stream),
    )
    return plan(situation, lambda: Sizes(0, 0, 0), lambda: ())


def _weighed(a_pass: Pass, each: _Prepared, planned: Planned, sources: Sources) -> Weighed:
    """What a member's fuse lets be done: what comes from outside of the cycle counts, not what it derives."""
    inputs = {name: sources.until.version(name) for name in each.outside}
    reshaped = each.other_shape is not None
    return weighed_by_fuse(
        a_pass, each.job, planned, lambda: pending_rows(sources, inputs), reshaped=reshaped
    )


def _differential(stream: StreamTable) -> StreamTable:
    return replace(stream, options=replace(stream.options, refresh_mode="differential"))


def _together(planned: Mapping[TableName, Planned]) -> Planned | None:
    """What all members do; None if there is nothing to do."""
    anew = [(name, each) for name, each in planned.items() if each.action not in (DIFFERENTIAL, NO_DATA)]
    if anew:
        name, first = anew[0]
        reason = first.because if len(anew) == len(planned) else f'"{name}": {first.because}'
        return Planned(REINITIALIZE if first.action == REINITIALIZE else first.action, reason)
    if all(each.action == NO_DATA for each in planned.values()):
        return None
    return Planned(DIFFERENTIAL, FOLLOWS)


def _run(
    a_pass: Pass,
    prepared: Sequence[_Prepared],
    sources: Sources,
    action: Planned,
    outside: frozenset[TableName],
) -> tuple[dict[TableName, RowCounts], int]:
    parts = a_pass.parts
    for each in prepared:
        a_pass.say("refresh_started", each.job.name, action=action.action, reason=action.because)
    loops = fellows([each.definition for each in prepared])
    tables = {name: table for each in prepared for name, table in each.tables.items()}
    owner = {str(name): each.job.name for each in prepared for name in each.tables}
    last = prepared[-1].job.name

    def say(progress: Progress) -> None:
        a_pass.say(
            "refresh_iterated",
            last,
            iteration=progress.iteration,
            derived=progress.derived,
            added=progress.added,
            removed=progress.removed,
        )

    try:
        if action.action == DIFFERENTIAL:
            changed = sources.changed(outside)
            return follow_loops(parts, loops, tables, sources, changed, say)
        return fill_loops(parts, loops, tables, sources, say)
    except MemberFailed as failed:
        raise CycleMemberFailed(owner[failed.table], failed.error) from failed.error
    except NoFixpoint as error:
        raise CycleMemberFailed(prepared[0].job.name, error) from error


def _finished(
    a_pass: Pass, result: Result, sources: Sources, counts: RowCounts, iterations: int, seconds: float
) -> Result:
    stored = check_count(result.table, counts)
    changed = 0
    if result.planned.action == DIFFERENTIAL:
        own = frozenset(result.inputs) & sources.since.versions.keys()  # members have no beginning
        changed = sources.rows_changed(sources.changed(own))
    read = sum(version.rows for version in result.inputs.values())
    a_pass.parts.failpoints.hit("refresh.after_member")
    a_pass.say(
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
