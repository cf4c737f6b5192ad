"""What a graph of stream tables costs beside its data: one small change, and every table below is refreshed.

The unit is the smallest thing that Spark could do for a table: one statement that writes one row as Parquet,
run in turns with the ticks. A ratio of 1 means that a table costs as much as such a statement.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from pathlib import Path

import anabranch as ab
from bench.harness import Report, Row, Size, compare, ratio_report

ROWS = 100_000
CHANGED = 100


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    graphs = (
        ("chain of 10", chain_queries, 1.5, 5),
        ("diamond of 5", diamond_queries, 1.2, 5),
        ("3 layers of 20", layered_queries, 0.8, 2),
    )
    rows = [
        _measure_graph(folder, name, make, aim, size, size.measured_rounds(usual))
        for name, make, aim, usual in graphs
    ]
    return ratio_report("graphs", rows, size)


def chain_queries() -> dict[str, str]:
    """Ten tables, each made from the one before."""
    names = ["events", *(f"step_{number}" for number in range(10))]
    return {
        name: f"SELECT id, key, amount + {number} AS amount FROM {before} WHERE amount >= 0"
        for number, (before, name) in enumerate(itertools.pairwise(names))
    }


def diamond_queries() -> dict[str, str]:
    """Four ways to group the same rows, and one table in which they meet."""
    keys = {"by_key": "key", "by_ten": "id % 10", "by_hundred": "id % 100", "by_sign": "amount > 50"}
    branches = {
        name: f"SELECT {key} AS k, COUNT(*) AS n, SUM(amount) AS total FROM events GROUP BY {key}"
        for name, key in keys.items()
    }
    sums = ", ".join(f"(SELECT SUM(total) FROM {name}) AS {name}" for name in keys)
    return {**branches, "all_agree": f"SELECT {sums}"}


def layered_queries() -> dict[str, str]:
    """Twenty filters, twenty groupings of them, twenty tops of those."""
    found = {}
    for number in range(20):
        found[f"part_{number}"] = f"SELECT id, key, amount FROM events WHERE id % 20 = {number}"
        found[f"grouped_{number}"] = (
            f"SELECT key, COUNT(*) AS n, SUM(amount) AS total FROM part_{number} GROUP BY key"
        )
        found[f"large_{number}"] = f"SELECT key, total FROM grouped_{number} WHERE total > 100"
    return found


def _measure_graph(
    folder: Path, name: str, make: Callable[[], dict[str, str]], aim: float, size: Size, rounds: int
) -> Row:
    clock = ab.ManualClock()
    rows = size.scale_count(ROWS)
    numbers = itertools.count(rows, CHANGED)
    files = itertools.count()
    with ab.connect(folder / name.replace(" ", "-"), clock=clock) as lake, warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        lake.create_table("events", "id BIGINT, key BIGINT, amount BIGINT")
        lake.insert("events", _rows(0, rows))
        queries = make()
        lake.create_stream_tables([{"name": n, "query": q, "schedule": "1m"} for n, q in queries.items()])
        session = lake.sql("SELECT 1 AS one").sparkSession

        def change() -> None:
            lake.insert("events", _rows(next(numbers), CHANGED))
            clock.advance(3600)

        def tick() -> None:
            told = lake.tick()
            assert len(told.refreshed) == len(queries), told

        def write() -> None:
            for _ in queries:
                session.range(1).write.parquet(f"{folder}/unit/{name}/{next(files)}")

        row = compare(
            name,
            "as many one-row Parquet writes by Spark",
            ours=tick,
            theirs=write,
            aim=aim,
            rounds=rounds,
            warmup=1 if len(queries) > 20 else 2,
            before=change,
        )
        for table in queries:
            assert lake.verify(table).ok, f"{table} is wrong"
    return row


def _rows(start: int, count: int) -> list[tuple[int, int, int]]:
    return [(number, number % 1000, number % 100) for number in range(start, start + count)]
