"""Measuring ratios: ours and a peer's take turns, so that a busy machine slows both alike."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
SMALL_RESULTS = Path(__file__).parent.parent / "build" / "bench"
"""Where the numbers of reduced runs go: they say that it works, not how fast it is."""


@dataclass(frozen=True)
class Size:
    """How much is measured: 1 is what the documentation speaks of, less is for trying it out.

    `scale` is the scale factor of TPC-H or TPC-DS, and elsewhere the share of rows, tables and ticks.
    """

    scale: float = 1.0
    rounds: int | None = None
    """Measured rounds; None: as many as the topic thinks right."""
    queries: tuple[str, ...] = ()
    """Of TPC-H or TPC-DS; none: all, or those that the topic thinks right."""
    shares: tuple[float, ...] = ()
    """Of changed rows, where a topic measures several; none: all of these."""

    def scale_count(self, count: int, least: int = 1) -> int:
        """So much of a number of rows, tables or ticks.

        >>> [Size(scale).scale_count(50) for scale in (0.01, 1, 10)]
        [1, 50, 500]
        """
        return max(least, round(count * self.scale))

    def measured_rounds(self, usual: int) -> int:
        """How many rounds are measured, where `usual` many are without being asked otherwise."""
        return usual if self.rounds is None else self.rounds

    def measured_shares(self, usual: Sequence[float]) -> tuple[float, ...]:
        """The shares of changed rows that are measured, where these are without being asked otherwise."""
        return self.shares or tuple(usual)

    @property
    def suffix(self) -> str:
        """What the names of files end with: other scales than 1, and chosen shares, have files of their own.

        >>> Size().suffix, Size(10, shares=(0.2, 0.5)).suffix
        ('', '-10-0.2-0.5')
        """
        parts = [*([] if self.scale == 1 else [self.scale]), *self.shares]
        return "".join(f"-{part:g}" for part in parts)

    @property
    def folder(self) -> Path:
        """Where the numbers go."""
        return RESULTS if self.scale >= 1 and not self.queries else SMALL_RESULTS


@dataclass(frozen=True)
class Row:
    """One line of the table: how long ours took in units of the peer's time."""

    name: str
    peer: str
    ratio: float
    aim: float | None
    """None: it is only told."""
    ours_seconds: float
    peer_seconds: float
    rounds: int
    ours_each: tuple[float, ...] = ()
    """Seconds of every round, in order."""
    peer_each: tuple[float, ...] = ()

    @property
    def is_met(self) -> bool | None:
        """Whether the aim is reached."""
        return None if self.aim is None else self.ratio <= self.aim


@dataclass(frozen=True)
class Report:
    """What a topic found: text to print, and documents to save, by name."""

    text: str
    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def save(self, size: Size) -> None:
        """Write every document to a file of its name."""
        size.folder.mkdir(parents=True, exist_ok=True)
        for name, document in self.documents.items():
            (size.folder / f"{name}{size.suffix}.json").write_text(json.dumps(document, indent=2) + "\n")


def compare(
    name: str,
    peer: str,
    *,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    aim: float,
    rounds: int,
    warmup: int,
    before: Callable[[], object] = lambda: None,
) -> Row:
    """Run both `warmup + rounds` times in turns; medians of the rounds. What runs `before` isn't measured."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(warmup + rounds):
        before()
        for side, action in enumerate((ours, theirs)):
            spent = measure_seconds(action)
            if number >= warmup:
                seconds[side].append(spent)
    row = ratio_row(name, peer, aim, *seconds)
    print(f"  {row.name:<44} {row.ratio:>7.2f} × {row.peer} (aim ≤ {row.aim})", flush=True)
    return row


def measure_seconds(action: Callable[[], object]) -> float:
    """The seconds that something takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratio_row(name: str, peer: str, aim: float, ours: Sequence[float], theirs: Sequence[float]) -> Row:
    """A line made of the seconds of all rounds: the ratio of their medians.

    >>> ratio_row("a", "b", 1.0, [1, 9, 2], [4, 4, 5]).ratio
    0.5
    """
    mine, other = statistics.median(ours), statistics.median(theirs)
    each = [tuple(round(seconds, 4) for seconds in side) for side in (ours, theirs)]
    return Row(name, peer, round(mine / other, 3), aim, round(mine, 4), round(other, 4), len(ours), *each)


def geometric_mean(ratios: Iterable[float]) -> float:
    """The mean of ratios: that of twice as fast and half as fast is one.

    >>> geometric_mean([2, 0.5, 1])
    1.0
    """
    return round(math.exp(statistics.fmean(math.log(ratio) for ratio in ratios)), 6)


def ratio_report(topic: str, rows: list[Row], size: Size, **about: object) -> Report:
    """What a topic found, if all of it is ratios."""
    documents = [asdict(row) | {"met": row.is_met} for row in rows]
    rounds = max((row.rounds for row in rows), default=0)
    about = {"scale": size.scale, "rounds": rounds, **about}
    return Report(ratio_table(rows), {topic: {**about, "rows": documents}})


def ratio_table(rows: list[Row]) -> str:
    """All rows as a Markdown table."""
    lines = ["| row | ratio | against | aim | ours (s) | theirs (s) |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {row.name} | {row.ratio:.2f} | {row.peer} | {'' if row.aim is None else f'≤ {row.aim}'} "
        f"| {row.ours_seconds} | {row.peer_seconds} |"
        for row in rows
    ]
    return "\n".join(lines)
