"""How a differential refresh grows with the data: a thousand changed rows, ten times the data each time."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.harness import Report, Size, geometric_mean, measure_seconds
from bench.tpch import create_stream, open_tpch_lake
from bench.tpch_changes import change_orders

SCALES = (0.1, 1.0, 10.0)
ORDERS = 100
"""So many orders come, with about four lines each, and as many go: a thousand rows."""
CHOSEN = ("q01", "q03", "q05", "q06", "q12", "q14", "q18")
WARM_UP, ROUNDS = 2, 5
"""The first round reads columns of the tables, the second gives them an order."""


@dataclass(frozen=True)
class QueryGrowth:
    """A query: the seconds of its differential refresh at each scale, and the last in units of the first."""

    query: str
    seconds: tuple[float, ...]
    growth: float
    each: tuple[tuple[float, ...], ...]


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic, up to the scale that is asked for."""
    scales = [scale for scale in SCALES if scale <= size.scale]
    scales = scales if len(scales) > 1 else [size.scale / 10, size.scale]
    chosen, rounds = size.queries or CHOSEN, size.measured_rounds(ROUNDS)
    found = {scale: _measure_at_scale(folder, scale, chosen, rounds) for scale in scales}
    rows = [summarise_growth(query, [found[scale][query] for scale in scales]) for query in chosen]
    mean = geometric_mean(row.growth for row in rows)
    document = {
        "scale": size.scale,
        "scales": scales,
        "rounds": rounds,
        "changed_orders": ORDERS,
        "geometric_mean": mean,
        "rows": [asdict(row) for row in rows],
    }
    return Report(_table(scales, rows, mean), {"growth": document})


def summarise_growth(query: str, each: list[list[float]]) -> QueryGrowth:
    """The medians at each scale, and how the last compares with the first.

    >>> summarise_growth("q01", [[1.0, 2.0, 9.0], [3.0, 3.0, 3.0]]).growth
    1.5
    """
    seconds = tuple(round(statistics.median(rounds), 3) for rounds in each)
    growth = round(statistics.median(each[-1]) / statistics.median(each[0]), 2)
    return QueryGrowth(query, seconds, growth, tuple(tuple(round(s, 4) for s in rounds) for rounds in each))


def _measure_at_scale(
    folder: Path, scale: float, chosen: tuple[str, ...], rounds: int
) -> dict[str, list[float]]:
    """The seconds of every round after the first, by query."""
    seconds: dict[str, list[float]] = {query: [] for query in chosen}
    with open_tpch_lake(folder, scale) as lake:
        for query in chosen:
            create_stream(lake, query, "differential")
        for number in range(WARM_UP + rounds):
            changed = change_orders(lake, number, ORDERS)
            for query in chosen:
                spent = measure_seconds(lambda query=query: lake.refresh_stream_table(query))
                seconds[query] += [spent] if number >= WARM_UP else []
            print(f"  scale {scale:g}: round {number}, {changed} rows changed", flush=True)
        for query in chosen:
            assert lake.verify(query).ok, f"{query} is wrong at scale {scale:g}"
    return seconds


def _table(scales: list[float], rows: list[QueryGrowth], mean: float) -> str:
    heads = " | ".join(f"scale {scale:g} (s)" for scale in scales)
    lines = [f"| query | {heads} | growth |", "|---" * (len(scales) + 2) + "|"]
    lines += [f"| {row.query} | {' | '.join(map(str, row.seconds))} | {row.growth} × |" for row in rows]
    return "\n".join([*lines, f"| geometric mean |{' |' * len(scales)} {mean:.2f} × |"])
