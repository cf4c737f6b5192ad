"""Whether a batch of changes is too large to be applied without asking: the rule of the fuse.

    blows  ⇔  pending > ceiling, for the last time of `sensitivity` batches in a row
    ceiling = its own, else the lake's; in mode auto the lower of that and what it learned
    learned = mean + 4 × deviation of recent batches

Batches of one size scatter by chance as the square root of it, so the deviation is never taken to be less:
a table whose batches were all alike is not stopped by the first that has one row more.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

OFF, ON, AUTO = "off", "on", "auto"
RECENT = 20
"""Batches that are learned from."""
NEEDED = 5
"""Batches before what was learned counts: fewer say little about how much they scatter."""
DEVIATIONS = 4


@dataclass(frozen=True)
class Fuse:
    """What was chosen for a fuse; `ceiling` is its own, else the lake's, if there is one."""

    mode: str = OFF
    ceiling: int | None = None
    sensitivity: int = 1


@dataclass(frozen=True)
class Verdict:
    """Whether a batch exceeds the ceiling, the how manieth in a row it is, and if the fuse blows."""

    exceeds: bool
    in_a_row: int
    blows: bool
    because: str | None = None
    """Both numbers, in words, if it exceeds the ceiling."""


def judge(fuse: Fuse, batches: Sequence[int], in_a_row: int, pending: int) -> Verdict:
    """What a fuse makes of a batch, given recent ones and how many in a row exceeded the ceiling before it.

    >>> judge(Fuse(ON, ceiling=10), (), 0, pending=10)
    Verdict(exceeds=False, in_a_row=0, blows=False, because=None)
    >>> judge(Fuse(ON, ceiling=10), (), 0, pending=11).because
    '11 pending changes exceed the ceiling of 10'
    """
    ceiling = effective_ceiling(fuse, batches)
    if ceiling is None or pending <= ceiling:
        return Verdict(exceeds=False, in_a_row=0, blows=False)
    number = in_a_row + 1
    learned = "" if ceiling == fuse.ceiling else "learned "
    text = f"{pending:,} pending changes exceed the {learned}ceiling of {ceiling:,}"
    if fuse.sensitivity > 1:
        text += f", {number} of {fuse.sensitivity} times in a row"
    return Verdict(exceeds=True, in_a_row=number, blows=number >= fuse.sensitivity, because=text)


def effective_ceiling(fuse: Fuse, batches: Sequence[int]) -> int | None:
    """How many changes a batch may have; None if there is no limit, or none yet."""
    if fuse.mode == OFF:
        return None
    bounds = [fuse.ceiling, learned_ceiling(batches) if fuse.mode == AUTO else None]
    return min((bound for bound in bounds if bound is not None), default=None)


def learned_ceiling(batches: Sequence[int]) -> int | None:
    """What recent batches say about how large one may be, once there are enough of them.

    >>> learned_ceiling([100] * 5), learned_ceiling([100] * 4)
    (140, None)
    """
    recent = batches[-RECENT:]
    if len(recent) < NEEDED:
        return None
    mean = statistics.fmean(recent)
    return math.ceil(mean + DEVIATIONS * max(statistics.stdev(recent), math.sqrt(mean)))


def remember(batches: Sequence[int], batch: int) -> tuple[int, ...]:
    """Recent batches with one more; those without a change say nothing.

    >>> remember((1, 2), 3), remember((1, 2), 0)
    ((1, 2, 3), (1, 2))
    """
    return (*batches, batch)[-RECENT:] if batch > 0 else tuple(batches)
