"""Measuring ratios: ours and a peer's take turns, so that a busy machine slows both alike."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One line of the table: how long ours took in units of the peer's time."""

    name: str
    peer: str
    ratio: float
    aim: float
    ours_seconds: float
    peer_seconds: float
    rounds: int

    @property
    def met(self) -> bool:
        """Whether the aim is reached."""
        return self.ratio <= self.aim


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
            start = time.perf_counter()
            action()
            if number >= warmup:
                seconds[side].append(time.perf_counter() - start)
    mine, other = (statistics.median(times) for times in seconds)
    row = Row(name, peer, round(mine / other, 3), aim, round(mine, 4), round(other, 4), rounds)
    print(f"  {row.name:<44} {row.ratio:>7.2f} × {row.peer} (aim ≤ {row.aim})", flush=True)
    return row


def save(topic: str, rows: list[Row]) -> Path:
    """Write the rows of a topic to `bench/results/<topic>.json`."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{topic}.json"
    path.write_text(json.dumps([asdict(row) | {"met": row.met} for row in rows], indent=2) + "\n")
    return path


def table(topics: dict[str, list[Row]]) -> str:
    """All rows as a Markdown table."""
    lines = ["| row | ratio | against | aim | ours (s) | theirs (s) |", "|---|---|---|---|---|---|"]
    for rows in topics.values():
        lines += [
            f"| {row.name} | {row.ratio:.2f} | {row.peer} | ≤ {row.aim} "
            f"| {row.ours_seconds} | {row.peer_seconds} |"
            for row in rows
        ]
    return "\n".join(lines)
