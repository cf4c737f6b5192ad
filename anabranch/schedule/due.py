"""What a tick should run: a pure function of units, their tables' states, and the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal

from anabranch.durations import format_duration
from anabranch.names import TableName
from anabranch.schedule.schedules import Cron, Effective, Every, next_due
from anabranch.streams.refresh_units import RefreshUnit

Policy = Literal["fastest", "slowest"]
Verdict = Literal["run", "held", "waiting"]


@dataclass(frozen=True)
class MemberState:
    """What decides when one stream table is refreshed.

    `waits` is a reason, if there is one, why its sources are not ready; `held` is any other why it must not
    be, as in `is suspended: 5 failures in a row`, and `held_until` is when that ends by itself.
    """

    name: TableName
    schedule: Effective
    policy: Policy = "fastest"
    last_refresh_at: datetime | None = None
    waits: str | None = None
    held: str | None = None
    held_until: datetime | None = None
    put_off: bool = False
    """Whether its first fill waited for its sources: it comes when they are ready."""


@dataclass(frozen=True)
class Decision:
    """Whether a unit runs, why, which table decided it, and when it was or will be due."""

    unit: RefreshUnit
    verdict: Verdict
    say: Callable[[], str] = field(repr=False, compare=False)
    """Formats the reason on demand: of a thousand decisions, few are asked for it."""
    culprit: TableName | None
    next_due: datetime | None

    @property
    def because(self) -> str:
        """Why, in words."""
        return self.say()


def decide_due_units(
    units: Iterable[RefreshUnit], states: Mapping[TableName, MemberState], now: datetime
) -> tuple[Decision, ...]:
    """A decision for every unit, in their order.

    - A member that waits, or is held, holds its unit; its sources come first.
    - A table is due when `next_due` of its schedule is not later than `now`; one by hand never is, unless
      its first fill was put off.
    - A unit of several runs when any member is due, or, if a convergence point says `slowest`, when all
      are; members by hand are left out of both.
    """
    return tuple(_decide(unit, [states[name] for name in unit.members], now) for unit in units)


def next_wake(decisions: Iterable[Decision]) -> datetime | None:
    """The first time at which a unit that doesn't run now may: because it is due, or no longer held."""
    moments = (each.next_due for each in decisions if each.verdict != "run" and each.next_due is not None)
    return min(moments, default=None)


def _decide(unit: RefreshUnit, members: Sequence[MemberState], now: datetime) -> Decision:
    for member in members:
        if member.waits is not None:
            return Decision(unit, "held", partial(_member_reason, member, member.waits), member.name, None)
    for member in members:
        if member.held is not None:
            because = partial(_member_reason, member, member.held)
            return Decision(unit, "held", because, member.name, member.held_until)
    for member in members:
        if member.put_off:
            because = partial(_member_reason, member, "is filled now: its sources are ready")
            return Decision(unit, "run", because, member.name, now)
    moments = [
        (next_due(member.schedule, member.last_refresh_at), member)
        for member in members
        if isinstance(member.schedule, Every | Cron)
    ]
    if not moments:
        return Decision(unit, "waiting", lambda: "only by hand", None, None)
    # The member that decides: of the fastest the first to be due, of the slowest the last.
    choose = max if _is_slowest_policy(unit, members) else min
    moment, member = choose(moments, key=lambda each: each[0])
    verdict: Verdict = "run" if moment <= now else "waiting"
    return Decision(unit, verdict, partial(_schedule_reason, unit, member, moment, now), member.name, moment)


def _member_reason(member: MemberState, what: str) -> str:
    return f'"{member.name}" {what}'


def _is_slowest_policy(unit: RefreshUnit, members: Sequence[MemberState]) -> bool:
    """Whether a convergence point of the unit asks for all to be due: one is enough."""
    if not unit.atomic or unit.group is None:
        return False
    return any(member.policy == "slowest" for member in members if member.name in unit.group.convergence)


def _schedule_reason(unit: RefreshUnit, member: MemberState, moment: datetime, now: datetime) -> str:
    schedule = f"every {member.schedule}" if isinstance(member.schedule, Every) else f"cron {member.schedule}"
    if moment > now:
        at = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f'waits for "{member.name}", due at {at}' if unit.atomic else f"{schedule}, due at {at}"
    last = member.last_refresh_at
    ago = "never refreshed" if last is None else f"last refreshed {_format_elapsed(now - last)} ago"
    return f'"{member.name}" is due: {schedule}, {ago}' if unit.atomic else f"{schedule}, {ago}"


def _format_elapsed(length: timedelta) -> str:
    seconds = int(length.total_seconds())
    return f"{seconds} s" if seconds < 120 else format_duration(timedelta(seconds=seconds))
