"""Differential or full: which is likely to be faster, by sizes that are known before the work.

    seconds of an action = seconds estimated from its sizes × correction
    correction           = what recent refreshes took ÷ what was estimated for them

Estimates come from `estimate_work` and `cost_estimate`. The correction is a weighted median of ratios: one
slow refresh moves nothing, a few in a row do. The newest weigh most, and those of a size like this one.
Without any, it is how much slower this machine is than the one that the constants were measured on, by the
refreshes of all stream tables. A refresh that began cold is no evidence.

Differential is preferred. Full must be clearly faster to be chosen, and stays until it isn't faster at all.
A correction that is never tested may stay wrong for ever. So the action that keeps losing is tried again when
its sizes alone say that it should win, rarely enough to cost no more than a fraction of the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Action = Literal["FULL", "DIFFERENTIAL"]

RECENT = 20
"""So many refreshes of each kind are remembered."""
HALF_LIFE = 3.0
"""A refresh counts half as much as the one so many after it, of its kind."""
ALIKE = 10.0
"""A refresh whose estimate was so many times smaller or larger counts half as much."""
PRIOR = 0.1
"""How much counts what else is known, where a refresh just done at this size counts one."""
MACHINE_RECENT = 200
"""So many refreshes of all stream tables tell how fast the machine is."""
WIDEST = 100.0
"""No correction is larger than this factor, or smaller than its inverse."""
CLEARLY = 0.87
"""Full is chosen if it takes this part of a differential's time, or less: a preference may cost a seventh."""
WORTH = 0.25
"""While no differential refresh was measured, full must save so many estimated seconds, too."""
TRY_AGAIN = 12
"""What loses by a factor f is tried again after this many times f refreshes of the other kind."""
SHORTEST = 0.001
"""Seconds below which nothing is told apart."""


@dataclass(frozen=True)
class Sizes:
    """Rows that changed since the last refresh, rows of all inputs, and rows stored."""

    rows_changed: int
    rows_read: int
    rows_stored: int


@dataclass(frozen=True)
class Estimates:
    """Seconds of both actions, estimated from sizes alone."""

    full: float
    differential: float

    def of(self, action: Action) -> float:
        """Those of one action."""
        return max(SHORTEST, self.full if action == "FULL" else self.differential)


@dataclass(frozen=True)
class PastRefresh:
    """A refresh that succeeded: how it was done, what it took, and what was estimated from its sizes."""

    action: Action
    seconds: float
    estimated: float | None
    """None: it began cold, or met what nobody expected; it is no evidence."""


@dataclass(frozen=True)
class Choice:
    """The chosen action, and the reason in words with numbers."""

    action: Action
    because: str


def choose(sizes: Sizes, estimates: Estimates, past: Sequence[PastRefresh], machine: float = 1.0) -> Choice:
    """How to refresh a stream table that can be maintained incrementally; `past` has the oldest first.

    `machine`: how many times longer than estimated refreshes of other stream tables take.
    """
    share = f"{sizes.rows_changed:,} of {sizes.rows_read:,} rows changed"
    full = _expect("FULL", estimates, past, machine)
    differential = _expect("DIFFERENTIAL", estimates, past, machine)
    better, other = differential, full
    if _is_full_better(full, differential, estimates, past):
        better, other = full, differential
    factor = other.seconds / max(better.seconds, SHORTEST)
    if other.known and other.hoped < better.seconds and other.untried >= TRY_AGAIN * factor:
        return Choice(
            other.action,
            f"{other.action.lower()}: {share}, tried again after {other.untried} refreshes, "
            f"{_format_seconds(other.seconds)} before, "
            f"{better.action.lower()} about {_format_seconds(better.seconds)}",
        )
    return Choice(
        better.action,
        f"{better.action.lower()}: {share}, about {_format_seconds(better.seconds)}, "
        f"{other.action.lower()} about {_format_seconds(other.seconds)}",
    )


def choose_again(
    what: str, estimates: Estimates, past: Sequence[PastRefresh], machine: float = 1.0
) -> Choice:
    """Whether to go on with a differential refresh that has met more than was assumed.

    `what`: what it met, in words. `estimates.differential`: what going on is expected to take.
    """
    full = _expect("FULL", estimates, past, machine).seconds
    # What differential refreshes took says little: they were estimated without what was met.
    going_on = estimates.of("DIFFERENTIAL") * _prior("DIFFERENTIAL", estimates, past, machine)
    action: Action = "FULL" if full < going_on * CLEARLY else "DIFFERENTIAL"
    return Choice(
        action,
        f"{action.lower()}: {what}, going on about {_format_seconds(going_on)}, "
        f"full about {_format_seconds(full)}",
    )


def machine_factor(ratios: Mapping[str, Sequence[float]]) -> float:
    """How many times longer than estimated refreshes take on this machine, by those of several stream tables.

    Each of them counts once, however often it was refreshed.

    >>> machine_factor({"a": [2.0, 1.9, 40.0], "b": [3.0], "c": [1.0, 1.0, 1.0, 1.0]}), machine_factor({})
    (2.0, 1.0)
    """
    each = [_weighted_median((ratio, 1.0) for ratio in of_table) for of_table in ratios.values() if of_table]
    return _clip(_weighted_median((ratio, 1.0) for ratio in each)) if each else 1.0


@dataclass(frozen=True)
class _Expectation:
    """The expected time of one action.

    `known`: whether it was measured; `hoped`: what its sizes alone would say; `untried` counts the refreshes
    since its last.
    """

    action: Action
    seconds: float
    hoped: float
    known: bool
    untried: int


def _is_full_better(
    full: _Expectation, differential: _Expectation, estimates: Estimates, past: Sequence[PastRefresh]
) -> bool:
    """Whether full is the faster one, by enough to leave the preferred one."""
    if not differential.known:
        saved = estimates.differential - estimates.full
        return full.seconds < differential.seconds * CLEARLY and saved >= WORTH
    # Staying with full takes less than going to it, so that noise doesn't move it to and fro.
    stays = bool(past) and past[-1].action == "FULL"
    return full.seconds < differential.seconds * (1.0 if stays else CLEARLY)


def _expect(
    action: Action, estimates: Estimates, past: Sequence[PastRefresh], machine: float
) -> _Expectation:
    estimate = estimates.of(action)
    ratios = _recent_ratios(action, estimate, past)
    untried = next((age for age, each in enumerate(reversed(past)) if each.action == action), len(past))
    prior = _prior(action, estimates, past, machine)
    seconds = estimate * _correction(ratios, prior)
    return _Expectation(action, seconds, estimate * prior, bool(ratios), untried)


def _prior(action: Action, estimates: Estimates, past: Sequence[PastRefresh], machine: float) -> float:
    """The factor by which an estimate is wrong, as far as it isn't measured for this action.

    What the other action's estimate is wrong by is due in part to the machine, in part to that action alone:
    half of it counts.
    """
    other: Action = "DIFFERENTIAL" if action == "FULL" else "FULL"
    others = _recent_ratios(other, estimates.of(other), past)
    machine = _clip(machine)
    return math.sqrt(machine * _correction(others, machine)) if others else machine


def _recent_ratios(action: Action, estimate: float, past: Sequence[PastRefresh]) -> list[tuple[float, float]]:
    """What recent refreshes of a kind took ÷ what was estimated, each with how much it counts."""
    known = [
        (each.seconds, each.estimated)
        for each in reversed(past)
        if each.action == action and each.estimated is not None and each.estimated > 0
    ]
    return [
        (
            max(seconds, SHORTEST) / max(estimated, SHORTEST),
            0.5 ** (age / HALF_LIFE) * _likeness(estimated, estimate),
        )
        for age, (seconds, estimated) in enumerate(known[:RECENT])
    ]


def _likeness(one: float, other: float) -> float:
    """One for equal estimates, a half for those that differ by a factor of `ALIKE`, and so on."""
    apart = math.log(max(one, SHORTEST) / max(other, SHORTEST)) / math.log(ALIKE)
    return 1 / (1 + apart * apart)


def _correction(ratios: Sequence[tuple[float, float]], prior: float) -> float:
    """The factor by which an estimate is wrong here: the table's own, the more of it the more is known."""
    if not ratios:
        return prior
    weight = sum(each for _, each in ratios)
    own = math.log(_clip(_weighted_median(ratios)))
    return math.exp((own * weight + math.log(prior) * PRIOR) / (weight + PRIOR))


def _clip(factor: float) -> float:
    return min(WIDEST, max(1 / WIDEST, factor))


def _weighted_median(weighted: Iterable[tuple[float, float]]) -> float:
    """The least value such that it and those below have half the weight or more."""
    ordered = sorted(weighted)
    half = sum(weight for _, weight in ordered) / 2
    passed = 0.0
    for value, weight in ordered:
        passed += weight
        if passed >= half:
            return value
    return ordered[-1][0]


def _format_seconds(seconds: float) -> str:
    """Two digits that matter, as in 0.034 s, 0.8 s, 4.1 s and 1,250 s."""
    seconds = max(seconds, SHORTEST)
    if seconds >= 10:
        return f"{seconds:,.0f} s"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds:.2g} s"
