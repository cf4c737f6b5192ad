"""Whether a scheduler's memory stays flat: resident size after many ticks, each with changes.

Not a ratio of times: "ours" is the resident size in bytes after the last tick, "theirs" after a tenth of
them. The driver is the Python process. Spark's Java process grows as its heap is used, up to the limit that
it was given, and so has no aim.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anabranch as ab
from bench.harness import Report, Row, Size, ratio_report

TICKS = 1_000
PARTS = 20
"""House is kept so many times, as anybody does who lets a scheduler run, and sizes are taken then."""
SETTLED = 2
"""From that time on it must not grow."""


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic; the number of ticks goes by the scale."""
    clock = ab.ManualClock()
    every = size.scale_count(TICKS // PARTS)
    sizes: list[tuple[int, int]] = []
    settings = {"snapshot_retention": "10m", "history_retention": "1h", "orphan_grace": "1h"}
    with ab.connect(folder / "lake", clock=clock, **settings) as lake:
        lake.create_table("events", "id BIGINT, key BIGINT")
        lake.insert("events", [(0, 0)])
        lake.create_stream_table("kept", "SELECT id, key FROM events", schedule="1s")
        lake.create_stream_table("counted", "SELECT key, COUNT(*) AS n FROM kept GROUP BY key", schedule="1s")
        session = lake.sql("SELECT 1 AS one").sparkSession
        java = int(session._jvm.ProcessHandle.current().pid())  # type: ignore[union-attr]
        for number in range(1, PARTS * every + 1):
            lake.insert("events", [(number, number % 7)])
            clock.advance(60)
            told = lake.tick()
            assert len(told.refreshed) == 2, told
            if number % every == 0:
                lake.maintain()
                sizes.append((read_resident_bytes("self"), read_resident_bytes(str(java))))
                driver, other = (each >> 20 for each in sizes[-1])
                print(f"  after {number} ticks: driver {driver} MiB, Java {other} MiB", flush=True)
        assert lake.verify("counted").ok
    ticks = PARTS * every
    rows = [
        _row(f"{who}'s resident size after {ticks:,} ticks with changes", aim, every, list(column))
        for who, aim, column in zip(("driver", "Java"), (1.05, None), zip(*sizes, strict=True), strict=True)
    ]
    found = ratio_report("memory", rows, size, ticks=ticks, unit="bytes")
    return replace(found, text="\n".join(map(_format_row, rows)))


def _row(name: str, aim: float | None, every: int, sizes: list[int]) -> Row:
    last, settled = sizes[-1], sizes[SETTLED - 1]
    peer = f"its size after {SETTLED * every}"
    return Row(name, peer, round(last / settled, 3), aim, last, settled, 1, tuple(sizes))


def _format_row(row: Row) -> str:
    last, settled = (f"{int(each) >> 20} MiB" for each in (row.ours_seconds, row.peer_seconds))
    aim = "" if row.aim is None else f" (aim ≤ {row.aim})"
    return f"{row.name}: {last}, {row.ratio:.2f} × {row.peer}, {settled}{aim}"


def read_resident_bytes(process: str) -> int:
    """Bytes of a process in memory."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise OSError(f"no VmRSS in /proc/{process}/status")
