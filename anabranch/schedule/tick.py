"""One pass of the scheduler: due stream tables are refreshed, held ones are reported, others are left alone.

A tick reads everything at the lsn at which it began. With nothing to do it starts no Spark job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import WriteConflict
from anabranch.events import Event, Observer, ignore_event
from anabranch.ledger.declared_groups import RefreshGroup, read_declared_groups
from anabranch.ledger.history import NO_DATA, SKIP
from anabranch.ledger.records import Fence
from anabranch.ledger.stream_tables import read_retry_times
from anabranch.names import TableName
from anabranch.refresh.definition_cache import DefinitionCache
from anabranch.refresh.fuse_decision import Blown
from anabranch.refresh.isolation import isolation_of
from anabranch.refresh.parallel_jobs import Failed, run_in_order
from anabranch.refresh.refresh_group import ONE_LSN, GroupFailed, refresh_group
from anabranch.refresh.refresh_member import Job
from anabranch.refresh.run_context import RefreshRun, pin_lake_version, read_newest_state
from anabranch.schedule.blown_fuse import suspend_for_blown_fuse
from anabranch.schedule.due import Decision, decide_due_units, next_wake
from anabranch.schedule.lease import Lease
from anabranch.schedule.pending_work import member_states, stale_immediate_unit, units_with_work
from anabranch.schedule.skipped_refreshes import note_holds, note_nothing_to_do
from anabranch.schedule.stale_gates import warn_of_stale_gates
from anabranch.streams.hold_reasons import hold_reason, unreadable_reason
from anabranch.streams.refresh_units import RefreshUnit
from anabranch.streams.stream_graph import units_of


@dataclass(frozen=True)
class TickReport:
    """What a tick did; names of stream tables, each with a reason where one is due."""

    leads: bool
    lsn: int
    """The lsn at which everything was read."""
    refreshed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    held: tuple[tuple[str, str], ...] = ()
    next_due: datetime | None = None
    """When something is due next, if nothing else happens."""


@dataclass
class _Outcome:
    """What became of a unit, by member."""

    refreshed: list[TableName] = field(default_factory=list)
    unchanged: list[TableName] = field(default_factory=list)
    failed: list[tuple[TableName, str]] = field(default_factory=list)
    held: list[tuple[TableName, str]] = field(default_factory=list)


def tick(
    definitions: DefinitionCache,
    lease: Lease,
    *,
    observer: Observer = ignore_event,
    stopped: Callable[[], bool] = lambda: False,
) -> TickReport:
    """One pass of the scheduler. One that doesn't lead does nothing."""
    context = definitions.context
    say = _combine_observers(context.observer, observer)
    fence = lease.take()
    if fence is None:
        return TickReport(leads=False, lsn=context.catalog.lake_version().lsn)
    lake_version, streams = read_newest_state(context)
    say(Event("tick_started", detail={"lsn": lake_version.lsn, "term": fence.term}))
    units = units_of(streams, context.settings)
    now = context.clock.now()
    decisions = decide_due_units(units, member_states(context, streams, lake_version, now), now)
    held = note_holds(context, decisions, streams, fence)
    for name, reason in held.items():
        say(Event("skipped", str(name), detail={"reason": reason}))
    outcomes = [_Outcome(held=list(held.items()))]
    to_run = units_with_work(decisions, streams, lake_version)
    running = {unit.number for unit in to_run}
    idle = [
        name
        for decision in decisions
        if decision.verdict == "run" and decision.unit.number not in running
        for name in decision.unit.members
    ]
    note_nothing_to_do(context, [streams[name] for name in idle], lake_version.lsn, fence)
    outcomes.append(_Outcome(unchanged=idle))
    lsn = lake_version.lsn
    late = stale_immediate_unit(streams, lake_version, now)
    if to_run or late:
        with lease.renew_in_background():
            lsn, done = _refresh_units(definitions, to_run, late, fence, observer, stopped)
            outcomes += done
    warn_of_stale_gates(context, lake_version, fence)
    after_work = bool(to_run or late)
    report = _report(lsn, outcomes, _find_next_due(context, decisions, after_work=after_work))
    say(Event("tick_finished", detail={"refreshed": report.refreshed, "failed": report.failed}))
    return report


def _combine_observers(one: Observer, other: Observer) -> Observer:
    def say(event: Event) -> None:
        one(event)
        other(event)

    return say


def _find_next_due(
    context: LakeContext, decisions: Sequence[Decision], *, after_work: bool
) -> datetime | None:
    """When something is due, or tried again after a failure of this very tick."""
    moments = [next_wake(decisions)]
    if after_work:
        with context.catalog.database.begin_read() as connection:
            moments += read_retry_times(connection)
    now = context.clock.now()
    return min((when for when in moments if when is not None and when > now), default=None)


# -- running --------------------------------------------------------------------------------------


def _refresh_units(
    definitions: DefinitionCache,
    units: Sequence[RefreshUnit],
    late: RefreshUnit | None,
    fence: Fence,
    observer: Observer,
    stopped: Callable[[], bool],
) -> tuple[int, list[_Outcome]]:
    """Refresh the units; the lsn at which they were read, and what became of them."""
    context = definitions.context
    numbers = {unit.number: unit for unit in units}
    needs = {number: frozenset(unit.after) & numbers.keys() for number, unit in numbers.items()}

    def run_at(refresh_run: RefreshRun, number: int) -> _Outcome:
        return _Outcome() if stopped() else _refresh_unit(refresh_run, numbers[number])

    def run_alone(number: int) -> _Outcome:
        with pin_lake_version(context) as (lake_version, streams):
            alone = RefreshRun(
                context, definitions, lake_version, streams, "scheduler", fence, None, observer, bound=False
            )
            return run_at(alone, number)

    try:
        with pin_lake_version(context) as (lake_version, streams):
            refresh_run = RefreshRun(
                context, definitions, lake_version, streams, "scheduler", fence, lake_version.lsn, observer
            )
            caught_up = [] if late is None else [_refresh_unit(refresh_run, late)]
            work = (
                (lambda number: run_at(refresh_run, number))
                if _is_tick_watermark_enabled(context)
                else run_alone
            )
            done = (
                run_in_order(list(numbers), needs, work, context.settings["parallelism"]) if numbers else {}
            )
            return lake_version.lsn, [*caught_up, *done.values()]
    except Failed as failed:
        # Not of one unit: the lease or the database is lost, or an observer raised.
        raise failed.error from failed.error.__cause__


def _is_tick_watermark_enabled(context: LakeContext) -> bool:
    enabled: bool = context.settings["tick_watermark_enabled"]
    return enabled


def _refresh_unit(refresh_run: RefreshRun, unit: RefreshUnit) -> _Outcome:
    """Refresh one unit; what goes wrong with it stays with it."""
    if any(name not in refresh_run.streams for name in unit.members):
        return _Outcome()  # dropped since the tick began
    waiting = _hold_reason(refresh_run, unit)
    if waiting is not None:
        return _Outcome(held=[(name, waiting) for name in unit.members])
    jobs = [Job(refresh_run.streams[name]) for name in unit.members]
    group_id = jobs[0].stream.group_id if unit.atomic and unit.group is not None else None
    try:
        terms = (
            isolation_of(unit.members, refresh_run.streams, _read_declared_groups(refresh_run.context))
            if unit.atomic
            else ONE_LSN
        )
        results = refresh_group(refresh_run, jobs, group_id=group_id, terms=terms)
    except GroupFailed as failed:
        return _Outcome(failed=[(failed.member, str(failed.error))])
    except Blown as blown:
        return _Outcome(held=list(suspend_for_blown_fuse(refresh_run, unit, blown).items()))
    except WriteConflict as error:
        refresh_run.notify_observers("skipped", unit.members[-1], reason=error.message)
        return _Outcome(
            held=[(name, f"another refresh was faster: {error.message}") for name in unit.members]
        )
    outcome = _Outcome()
    for name, result in results.items():
        still = result.planned.action in (NO_DATA, SKIP)
        (outcome.unchanged if still else outcome.refreshed).append(name)
    return outcome


def _read_declared_groups(context: LakeContext) -> dict[str, RefreshGroup]:
    with context.catalog.database.begin_read() as connection:
        return read_declared_groups(connection)


def _hold_reason(refresh_run: RefreshRun, unit: RefreshUnit) -> str | None:
    """Why a unit can't be refreshed after all: because of what happened, or failed, since the tick began."""
    now = refresh_run.context.clock.now()
    for name in unit.members:
        stream = refresh_run.streams[name]
        why = (
            refresh_run.waiting_reasons.get(name)
            or hold_reason(stream, now)
            or unreadable_reason(stream, refresh_run.streams, refresh_run.lake_version, unit.members)
        )
        if why is not None:
            return f'"{name}" {why}'
    return None


# -- reporting ----------------------------------------------------------------------------------


def _report(lsn: int, outcomes: Sequence[_Outcome], next_due: datetime | None) -> TickReport:
    return TickReport(
        leads=True,
        lsn=lsn,
        refreshed=tuple(str(name) for outcome in outcomes for name in outcome.refreshed),
        unchanged=tuple(str(name) for outcome in outcomes for name in outcome.unchanged),
        failed=tuple((str(name), why) for outcome in outcomes for name, why in outcome.failed),
        held=tuple((str(name), why) for outcome in outcomes for name, why in outcome.held),
        next_due=next_due,
    )
