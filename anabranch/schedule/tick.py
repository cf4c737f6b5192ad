"""One pass of the scheduler: what is due is refreshed, what is held is said to be, the rest is left alone.

A tick reads everything at the lsn at which it began. With nothing to do it starts no Spark job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.errors import WriteConflict
from anabranch.events import Event, Observer, ignore
from anabranch.graph.units import Unit
from anabranch.ledger.declared import RefreshGroup, read_declared
from anabranch.ledger.history import NO_DATA, SKIP
from anabranch.ledger.records import Fence
from anabranch.ledger.streams import retries
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.definitions import Definitions
from anabranch.refresh.graphs import units_of
from anabranch.refresh.group import ONE_LSN, GroupFailed, refresh_group
from anabranch.refresh.hold import held_because, unreadable
from anabranch.refresh.member import Job
from anabranch.refresh.parallel import Failed, in_order
from anabranch.refresh.passes import Pass, newest, pinned
from anabranch.refresh.terms import terms_of
from anabranch.refresh.weigh import Blown
from anabranch.schedule.blown import note_blown
from anabranch.schedule.due import Decision, due, next_wake
from anabranch.schedule.lease import Lease
from anabranch.schedule.notes import note_holds, note_nothing_to_do
from anabranch.schedule.stale import tell_of_stale_gates
from anabranch.schedule.work import behind, chosen, member_states


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
    definitions: Definitions,
    lease: Lease,
    *,
    observer: Observer = ignore,
    stopped: Callable[[], bool] = lambda: False,
) -> TickReport:
    """One pass. Whoever doesn't lead does nothing."""
    parts = definitions.parts
    say = _both(parts.observer, observer)
    fence = lease.take()
    if fence is None:
        return TickReport(leads=False, lsn=parts.catalog.moment().lsn)
    moment, streams = newest(parts)
    say(Event("tick_started", detail={"lsn": moment.lsn, "term": fence.term}))
    units = units_of(streams, parts.settings)
    now = parts.clock.now()
    decisions = due(units, member_states(parts, streams, moment, now), now)
    held = note_holds(parts, decisions, streams, fence)
    for name, reason in held.items():
        say(Event("skipped", str(name), detail={"reason": reason}))
    outcomes = [_Outcome(held=list(held.items()))]
    to_run = chosen(decisions, streams, moment)
    running = {unit.number for unit in to_run}
    idle = [
        name
        for decision in decisions
        if decision.verdict == "run" and decision.unit.number not in running
        for name in decision.unit.members
    ]
    note_nothing_to_do(parts, [streams[name] for name in idle], moment.lsn, fence)
    outcomes.append(_Outcome(unchanged=idle))
    lsn = moment.lsn
    late = behind(streams, moment, now)
    if to_run or late:
        with lease.kept():
            lsn, done = _run(definitions, to_run, late, fence, observer, stopped)
            outcomes += done
    tell_of_stale_gates(parts, moment, fence)
    after_work = bool(to_run or late)
    report = _report(lsn, outcomes, _next_look(parts, decisions, after_work=after_work))
    say(Event("tick_finished", detail={"refreshed": report.refreshed, "failed": report.failed}))
    return report


def _both(one: Observer, other: Observer) -> Observer:
    def say(event: Event) -> None:
        one(event)
        other(event)

    return say


def _next_look(parts: Parts, decisions: Sequence[Decision], *, after_work: bool) -> datetime | None:
    """When something is due, or tried again after a failure of this very tick."""
    moments = [next_wake(decisions)]
    if after_work:
        with parts.catalog.database.reading() as connection:
            moments += retries(connection)
    now = parts.clock.now()
    return min((when for when in moments if when is not None and when > now), default=None)


# -- running --------------------------------------------------------------------------------------


def _run(
    definitions: Definitions,
    units: Sequence[Unit],
    late: Unit | None,
    fence: Fence,
    observer: Observer,
    stopped: Callable[[], bool],
) -> tuple[int, list[_Outcome]]:
    """Refresh the units; the lsn at which they were read, and what became of them."""
    parts = definitions.parts
    numbers = {unit.number: unit for unit in units}
    needs = {number: frozenset(unit.after) & numbers.keys() for number, unit in numbers.items()}

    def run_at(a_pass: Pass, number: int) -> _Outcome:
        return _Outcome() if stopped() else _refresh(a_pass, numbers[number])

    def run_alone(number: int) -> _Outcome:
        with pinned(parts) as (moment, streams):
            alone = Pass(parts, definitions, moment, streams, "scheduler", fence, None, observer, bound=False)
            return run_at(alone, number)

    try:
        with pinned(parts) as (moment, streams):
            a_pass = Pass(parts, definitions, moment, streams, "scheduler", fence, moment.lsn, observer)
            caught_up = [] if late is None else [_refresh(a_pass, late)]
            work = (lambda number: run_at(a_pass, number)) if _one_moment(parts) else run_alone
            done = in_order(list(numbers), needs, work, parts.settings["parallelism"]) if numbers else {}
            return moment.lsn, [*caught_up, *done.values()]
    except Failed as failed:
        # Not of one unit: the lease or the database is lost, or an observer raised.
        raise failed.error from failed.error.__cause__


def _one_moment(parts: Parts) -> bool:
    enabled: bool = parts.settings["tick_watermark_enabled"]
    return enabled


def _refresh(a_pass: Pass, unit: Unit) -> _Outcome:
    """Refresh one unit; what goes wrong with it stays with it."""
    if any(name not in a_pass.streams for name in unit.members):
        return _Outcome()  # dropped since the tick began
    waiting = _not_yet(a_pass, unit)
    if waiting is not None:
        return _Outcome(held=[(name, waiting) for name in unit.members])
    jobs = [Job(a_pass.streams[name]) for name in unit.members]
    group_id = jobs[0].stream.group_id if unit.atomic and unit.group is not None else None
    try:
        terms = terms_of(unit.members, a_pass.streams, _declared(a_pass.parts)) if unit.atomic else ONE_LSN
        results = refresh_group(a_pass, jobs, group_id=group_id, terms=terms)
    except GroupFailed as failed:
        return _Outcome(failed=[(failed.member, str(failed.error))])
    except Blown as blown:
        return _Outcome(held=list(note_blown(a_pass, unit, blown).items()))
    except WriteConflict as error:
        a_pass.say("skipped", unit.members[-1], reason=error.message)
        return _Outcome(
            held=[(name, f"another refresh was faster: {error.message}") for name in unit.members]
        )
    outcome = _Outcome()
    for name, result in results.items():
        still = result.planned.action in (NO_DATA, SKIP)
        (outcome.unchanged if still else outcome.refreshed).append(name)
    return outcome


def _declared(parts: Parts) -> dict[str, RefreshGroup]:
    with parts.catalog.database.reading() as connection:
        return read_declared(connection)


def _not_yet(a_pass: Pass, unit: Unit) -> str | None:
    """What has come in between since the tick began, or hasn't come about."""
    now = a_pass.parts.clock.now()
    for name in unit.members:
        stream = a_pass.streams[name]
        why = (
            a_pass.waiting.get(name)
            or held_because(stream, now)
            or unreadable(stream, a_pass.streams, a_pass.moment, unit.members)
        )
        if why is not None:
            return f'"{name}" {why}'
    return None


# -- saying so ----------------------------------------------------------------------------------


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
