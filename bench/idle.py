"""What the scheduler costs while nothing changes."""

from __future__ import annotations

from pathlib import Path

import anabranch as ab
from bench.harness import Report, Row, Size, compare, ratio_report
from tests.streams.many import enter_many

MANY = 1_000


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    clock = ab.ManualClock()
    with ab.connect(folder / "lake", clock=clock) as lake:
        enter_many(lake, size.scale_count(MANY))
        clock.advance(3600)
        return ratio_report("idle", [measure_idle_tick(lake, size)], size)


def measure_idle_tick(lake: ab.Lake, size: Size) -> Row:
    """A thousand stream tables are due and nothing changed; the peer is the smallest statement of Spark."""
    session = lake.sql("SELECT 1 AS one").sparkSession
    return compare(
        f"idle tick over {size.scale_count(MANY):,} stream tables",
        "one SELECT 1 on Spark",
        ours=lake.tick,
        theirs=lambda: session.sql("SELECT 1").collect(),
        aim=1.0,
        rounds=size.measured_rounds(40),
        warmup=10,
    )
