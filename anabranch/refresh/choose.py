"""Differential or full: which is likely to be faster, judged by a stream table's own past.

    seconds of a full refresh    = fixed + rows read and stored × cost of a row
    seconds of a differential    = fixed + rows changed × cost of a changed row

Both lines are fitted to recent refreshes by weighted medians: one slow refresh moves nothing, a few in a row
do, and the newest weigh most. Of what was never seen only this is assumed: fixed costs are alike, and a
changed row costs as much as a few rows of a full refresh.

Differential is preferred. Full must be clearly faster to be chosen, and stays until it isn't faster at all.
An estimate that is never tested may stay wrong for ever. So the action that keeps losing is tried again when
the other's line says that it should win, rarely enough to cost no more than a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

Action = Literal["FULL", "DIFFERENTIAL"]

RECENT = 20
"""So many refreshes of each kind are remembered."""
HALF_LIFE = 3.0
"""A refresh counts half as much as the one so many after it, of its kind."""
OVERHEAD = 0.5
"""Seconds that any refresh takes, as long as nothing tells that apart from the cost of rows."""
CHANGED_ROW = 4.0
"""What a changed row costs, in rows of a full refresh, as long as it isn't known."""
CLEARLY = 0.87
"""Full is chosen if it takes this part of a differential's time, or less: a preference may cost a seventh."""
SPREAD = 2.0
"""Sizes that differ less than so many times say nothing about the cost of a row."""
BEYOND = 4.0
"""Sizes so many times larger than any seen are not judged by what was seen alone."""
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

    def work(self, action: Action) -> int:
        """The number of rows that decides how long an action takes."""
        return self.rows_changed if action == "DIFFERENTIAL" else self.rows_read + self.rows_stored


@dataclass(frozen=True)
class PastRefresh:
    """A refresh that succeeded: how it was done, how long it took, and the sizes it met."""

    action: Action
    seconds: float
    rows_changed: int
    rows_read: int
    rows_stored: int

    @property
    def sizes(self) -> Sizes:
        """The sizes it met."""
        return Sizes(self.rows_changed, self.rows_read, self.rows_stored)


@dataclass(frozen=True)
class Choice:
    """The chosen action, and the reason in words with numbers."""

    action: Action
    because: str


def choose(sizes: Sizes, past: Sequence[PastRefresh]) -> Choice:
    """How to refresh a stream table that can be maintained incrementally; `past` has the oldest first."""
    share = f"{sizes.rows_changed:,} of {sizes.rows_read:,} rows changed"
    if not past:
        return Choice("DIFFERENTIAL", f"differential: {share}, nothing known yet about the time")
    full, differential = _cost_estimates(sizes, past)
    # Staying with full takes less than going to it, so that noise doesn't move it to and fro.
    stays = past[-1].action == "FULL" and differential.known
    if full.seconds < differential.seconds * (1.0 if stays else CLEARLY):
        better, other = full, differential
    else:
        better, other = differential, full
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


@dataclass(frozen=True)
class _CostEstimate:
    """The expected time of one kind of refresh.

    `seconds` is estimated from its own past, if that is `known`; `hoped` from that of the other kind;
    `untried` counts the refreshes since its last.
    """

    action: Action
    seconds: float
    hoped: float
    known: bool
    untried: int


def _cost_estimates(sizes: Sizes, past: Sequence[PastRefresh]) -> tuple[_CostEstimate, _CostEstimate]:
    full = _fit_line(_points(past, "FULL"), None)
    differential = _fit_line(_points(past, "DIFFERENTIAL"), CHANGED_ROW * full.per_row if full else None)
    hoped_full = differential.seconds_for(sizes.work("FULL"), 1 / CHANGED_ROW) if differential else None
    hoped_differential = full.seconds_for(sizes.work("DIFFERENTIAL"), CHANGED_ROW) if full else None
    return (
        _cost_estimate("FULL", sizes, past, full, hoped_full),
        _cost_estimate("DIFFERENTIAL", sizes, past, differential, hoped_differential),
    )


def _cost_estimate(
    action: Action, sizes: Sizes, past: Sequence[PastRefresh], line: _Line | None, hoped: float | None
) -> _CostEstimate:
    own = None if line is None else line.seconds_for(sizes.work(action))
    seconds = own if own is not None else hoped
    assert seconds is not None, "of two kinds of refresh one is known"
    untried = next((age for age, each in enumerate(reversed(past)) if each.action == action), len(past))
    return _CostEstimate(action, seconds, seconds if hoped is None else hoped, own is not None, untried)


# -- fitting a line -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Point:
    """A refresh: its rows, its seconds, and how much it counts."""

    rows: int
    seconds: float
    weight: float


@dataclass(frozen=True)
class _Line:
    """seconds = fixed + rows × per_row, and far beyond the `most` rows seen × `beyond`, if that is more."""

    fixed: float
    per_row: float
    most: int
    beyond: float

    def seconds_for(self, rows: int, factor: float = 1.0) -> float:
        """The seconds for `rows` rows that each cost `factor` times as much as those of this line."""
        per_row = self.per_row if rows <= BEYOND * self.most else max(self.per_row, self.beyond)
        return self.fixed + rows * per_row * factor


def _points(past: Sequence[PastRefresh], action: Action) -> list[_Point]:
    """The recent refreshes of a kind, newest first."""
    recent = [each for each in reversed(past) if each.action == action][:RECENT]
    return [
        _Point(max(1, each.sizes.work(action)), each.seconds, 0.5 ** (age / HALF_LIFE))
        for age, each in enumerate(recent)
    ]


def _fit_line(points: Sequence[_Point], guess: float | None) -> _Line | None:
    """The line through the points; where they don't tell what a row costs, `guess` does."""
    if not points:
        return None
    most = max(point.rows for point in points)
    if most >= SPREAD * min(point.rows for point in points):
        # Theil and Sen: the median of all slopes, where those between points far apart count more.
        slopes = [
            ((one.seconds - other.seconds) / (one.rows - other.rows), one.weight * other.weight * gap)
            for one, other in combinations(points, 2)
            if (gap := abs(one.rows - other.rows))
        ]
        per_row = max(0.0, _weighted_median(slopes))
    else:
        level = _weighted_median((point.seconds, point.weight) for point in points)
        rows = _weighted_median((float(point.rows), point.weight) for point in points)
        per_row = max(0.0, level - OVERHEAD) / rows if guess is None else min(guess, level / rows)
    fixed = _weighted_median((point.seconds - per_row * point.rows, point.weight) for point in points)
    return _Line(max(0.0, fixed), per_row, most, guess or 0.0)


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
    if seconds >= 10:
        return f"{seconds:,.0f} s"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds:.2g} s"
