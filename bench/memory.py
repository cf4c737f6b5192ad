"""Whether a scheduler's memory stays flat: resident size of its Python process after many ticks.

Not a ratio of times: "ours" is the resident size after the last tick, "theirs" after the first hundred.
"""

from __future__ import annotations

from pathlib import Path

import anabranch as ab
from bench.harness import Row

TICKS = 1_000
SETTLED = 100
EVERY = 50
"""Ticks after which house is kept, as anybody does who lets a scheduler run."""


def measure(folder: Path) -> list[Row]:
    """The rows of this topic."""
    clock = ab.ManualClock()
    settings = {"snapshot_retention": "10m", "history_retention": "1h"}
    with ab.connect(folder / "lake", clock=clock, **settings) as lake:
        lake.create_table("events", "id BIGINT, key BIGINT")
        lake.insert("events", [(0, 0)])
        lake.create_stream_table("kept", "SELECT id, key FROM events", schedule="1s")
        lake.create_stream_table("counted", "SELECT key, COUNT(*) AS n FROM kept GROUP BY key", schedule="1s")
        sizes: dict[int, int] = {}
        for number in range(1, TICKS + 1):
            lake.insert("events", [(number, number % 7)])
            clock.advance(60)
            lake.tick()
            if number % EVERY == 0:
                lake.maintain()
                sizes[number] = resident()
                print(f"  after {number} ticks {sizes[number] >> 20} MiB", flush=True)
        assert lake.verify("counted").ok
    ratio = sizes[TICKS] / sizes[SETTLED]
    return [
        Row(
            f"driver's resident size after {TICKS:,} ticks with changes",
            f"its size after {SETTLED}",
            round(ratio, 3),
            1.05,
            sizes[TICKS],
            sizes[SETTLED],
            1,
        )
    ]


def resident() -> int:
    """Bytes of this process in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise OSError("no VmRSS in /proc/self/status")
