"""A full refresh against plain Spark: the 22 queries of TPC-H over tables with position deletes.

In ten rounds a hundredth of the orders and their lines go, and as many come. Then both compute every query in
turns, in one session: plain Spark over compacted Parquet files, which commits nothing, and a full refresh
over the tables as they are. Both results must have the same rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import anabranch as ab
from bench.harness import Report, Size, geometric_mean
from bench.plain_spark import PlainSpark, read_result
from bench.profile_refresh import KINDS, profile_work
from bench.refresh_modes import sort_rows
from bench.shares import SPARK_ONLY
from bench.tpch import create_stream, open_tpch_lake, read_queries, stream_name
from bench.tpch_changes import change_orders, count_share_of_orders
from tests.tpch.rounds import KEYS

SHARE, CHANGES = 0.01, 10
WARM_UP, ROUNDS = 1, 3
AIM = 1.25


@dataclass
class Timings:
    """The measured turns of one query."""

    plain: list[float] = field(default_factory=list)
    full: list[float] = field(default_factory=list)
    spent: list[Mapping[str, float]] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class FullRow:
    """One query: medians, and a full refresh in units of plain Spark."""

    query: str
    ratio: float
    plain_seconds: float
    full_seconds: float
    spark_jobs: int
    spent: Mapping[str, float]
    """Seconds of a full refresh by kind, on average."""
    each: Mapping[str, list[float]]


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    texts = read_queries(size.queries)
    timings = {name: Timings() for name in texts}
    with open_tpch_lake(folder, size.scale, **SPARK_ONLY) as lake:
        for name in texts:
            create_stream(lake, name, "full", initialize=False)
        for number in range(CHANGES):
            changed = change_orders(lake, number, count_share_of_orders(lake, SHARE))
            print(f"  {changed:,} rows changed", flush=True)
        with TemporaryDirectory() as place:
            plain_spark = PlainSpark(lake, Path(place), KEYS)
            for number in range(WARM_UP + size.measured_rounds(ROUNDS)):
                for name, text in texts.items():
                    _measure_turn(lake, plain_spark, name, text, timings[name], warm_up=number < WARM_UP)
    rows = [summarise(name, found) for name, found in timings.items()]
    mean = geometric_mean(row.ratio for row in rows)
    document = {
        "scale": size.scale,
        "aim": AIM,
        "geometric_mean": mean,
        "spent": mean_shares(rows),
        "rows": [asdict(row) for row in rows],
    }
    return Report(full_table(rows, mean), {"full": document})


def _measure_turn(
    lake: ab.Lake, plain_spark: PlainSpark, name: str, text: str, found: Timings, *, warm_up: bool
) -> None:
    stream = stream_name(name, "full")
    plain, result = plain_spark.measure_query(text)
    spent, jobs = profile_work(lake._context, lambda: lake.refresh_stream_table(stream, full=True))
    full = sum(spent.values())
    if warm_up:
        stored = sort_rows(lake.arrow(stream))
        expected = sort_rows(read_result(result).select(stored.column_names).cast(stored.schema))
        assert stored.equals(expected), f"{name} differs from plain Spark"
    else:
        found.plain.append(plain)
        found.full.append(full)
        found.spent.append(spent)
        found.jobs.append(jobs)
    parts = ", ".join(f"{kind} {spent[kind]:.2f}" for kind in KINDS)
    print(
        f"    {name} plain {plain:.2f}, full {full:.2f} s, {full / plain:.2f} ×, {jobs} jobs ({parts})"
        f"{', to warm up' if warm_up else ''}",
        flush=True,
    )


def summarise(query: str, found: Timings) -> FullRow:
    """The medians of a query."""
    plain, full = map(statistics.median, (found.plain, found.full))
    each = {"plain": found.plain, "full": found.full}
    return FullRow(
        query=query,
        ratio=round(full / plain, 2),
        plain_seconds=round(plain, 3),
        full_seconds=round(full, 3),
        spark_jobs=int(statistics.median(found.jobs)),
        spent={kind: round(statistics.fmean(one[kind] for one in found.spent), 3) for kind in KINDS},
        each={mode: [round(seconds, 3) for seconds in all_of] for mode, all_of in each.items()},
    )


def mean_shares(rows: list[FullRow]) -> dict[str, float]:
    """What share of all full refreshes each kind of work takes."""
    total = sum(sum(row.spent.values()) for row in rows)
    return {kind: round(sum(row.spent[kind] for row in rows) / total, 3) for kind in KINDS}


def full_table(rows: list[FullRow], mean: float) -> str:
    """All rows as a Markdown table."""
    lines = [
        f"| query | plain Spark (s) | full refresh (s) | ratio | jobs | {' | '.join(KINDS)} |",
        "|---" * (5 + len(KINDS)) + "|",
    ]
    lines += [
        f"| {row.query} | {row.plain_seconds:.2f} | {row.full_seconds:.2f} | {row.ratio:.2f} "
        f"| {row.spark_jobs} | {' | '.join(f'{row.spent[kind]:.2f}' for kind in KINDS)} |"
        for row in rows
    ]
    shares = ", ".join(f"{kind} {share:.0%}" for kind, share in mean_shares(rows).items())
    return "\n".join([*lines, "", f"geometric mean: {mean:.2f} (aim {AIM}); {shares}"])
