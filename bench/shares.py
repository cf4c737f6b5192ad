"""Spark alone keeps the 22 queries of TPC-H while 0.1, 1 or 5 percent of the orders change.

Nothing is computed in the process but what is left of a change at the end. A differential refresh is held
against the better of two that compute from nothing: our own full refresh, over tables as they are, and plain
Spark over compacted Parquet files, which commits nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import anabranch as ab
from bench.harness import Report, Size, geometric_mean, measure_seconds
from bench.plain_spark import PlainSpark
from bench.profile_refresh import KINDS, profile_work
from bench.refresh_modes import NO_DATA, check_rows
from bench.tpch import create_stream, open_tpch_lake, read_queries, stream_name
from bench.tpch_changes import change_share_of_orders
from tests.tpch.rounds import KEYS

SHARES = (0.001, 0.01, 0.05)
ROUNDS = 3
WARM_UP = 1
MODES = ("full", "differential")
SPARK_ONLY = {"driver_rows": 0}


@dataclass(frozen=True)
class Course:
    """How many rounds are measured at every share, and who takes part in which of them."""

    rounds: int
    full_rounds: int
    """Our own full refresh takes part in the last so many rounds of a share."""
    compute_all_to_warm_up: bool = True
    """Whether plain Spark and full refreshes take part in rounds that warm up."""


def choose_course(size: Size) -> Course:
    """Everything in every round; at larger scales, where it takes hours, only what the medians need.

    There a full refresh, which plain Spark outruns, is measured once at every share.
    """
    rounds = size.measured_rounds(ROUNDS)
    return Course(rounds, rounds) if size.scale <= 1 else Course(rounds, 1, compute_all_to_warm_up=False)


@dataclass(frozen=True)
class Workload:
    """The queries that are kept, by name, and the tables that they read."""

    texts: Mapping[str, str]
    tables: Collection[str]
    change: Callable[[ab.Lake, int, float], int]
    """Changes a share of the rows for the round of that number; how many rows that is."""


@dataclass
class Timings:
    """The measured rounds of one query at one share of change."""

    query: str
    share: float
    plain: list[float] = field(default_factory=list)
    full: list[float] = field(default_factory=list)
    differential: list[float] = field(default_factory=list)
    spent: list[Mapping[str, float]] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)
    reads_changes: bool = True


@dataclass(frozen=True)
class ShareRow:
    """One query at one share: medians, and how many times as fast a differential refresh is."""

    query: str
    share: float
    plain_seconds: float
    full_seconds: float | None
    """None: only plain Spark was measured."""
    differential_seconds: float
    speedup: float
    spark_jobs: int
    reads_changes: bool
    spent: Mapping[str, float]
    each: Mapping[str, list[float]]


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    with open_tpch_lake(folder, size.scale, **SPARK_ONLY) as lake:
        workload = Workload(read_queries(size.queries), KEYS, change_share_of_orders)
        rows = measure_workload(lake, workload, size.measured_shares(SHARES), choose_course(size))
        for name in workload.texts:
            check_rows(lake, name, MODES)
        print("  all results are those of the full refresh", flush=True)
    means = {f"{share:g}": mean_speedup(rows, share) for share in dict.fromkeys(row.share for row in rows)}
    document = {"scale": size.scale, "geometric_means": means, "rows": [asdict(row) for row in rows]}
    return Report(share_table(rows), {"shares": document})


def measure_workload(
    lake: ab.Lake, workload: Workload, shares: Collection[float], course: Course
) -> list[ShareRow]:
    """Create the stream tables of a workload, and refresh them in turns after rounds of changes."""
    texts = workload.texts
    for name, text in texts.items():
        for mode in MODES:
            create_stream(lake, name, mode, initialize=mode != "full", text=text)
        print(f"  {name} is there", flush=True)
    rows: list[ShareRow] = []
    number = 0
    for share in shares:
        timings = {name: Timings(name, share) for name in texts}
        for place in range(WARM_UP + course.rounds):
            warm_up = place < WARM_UP
            run_round(
                lake,
                workload,
                timings,
                number,
                share,
                warm_up=warm_up,
                with_plain=not warm_up or course.compute_all_to_warm_up,
                with_full=course.compute_all_to_warm_up
                if warm_up
                else place >= WARM_UP + course.rounds - course.full_rounds,
            )
            number += 1
        rows += [summarise(each) for each in timings.values()]
        print(f"  {share:.1%}: {format_means(rows, share)}", flush=True)
    return rows


def run_round(
    lake: ab.Lake,
    workload: Workload,
    timings: Mapping[str, Timings],
    number: int,
    share: float,
    *,
    warm_up: bool,
    with_plain: bool = True,
    with_full: bool = True,
) -> None:
    """Change a share of the rows; then measure every query by plain Spark and by refreshes."""
    changed = workload.change(lake, number, share)
    print(f"  {share:.1%}, {changed:,} rows changed{', to warm up' if warm_up else ''}", flush=True)
    with TemporaryDirectory() as place:
        plain_spark = PlainSpark(lake, Path(place), workload.tables) if with_plain else None
        for name, text in workload.texts.items():
            plain = [plain_spark.measure_query(text)[0]] if plain_spark else []
            full = [measure_full_refresh(lake, name)] if with_full else []
            record: list[str] = []
            spent, jobs = profile_work(
                lake._context,
                lambda: record.append(lake.refresh_stream_table(stream_name(name, "differential")).action),  # noqa: B023
            )
            found = timings[name]
            found.reads_changes = record[0] != NO_DATA
            seconds = sum(spent.values())
            if not warm_up:
                found.plain += plain
                found.full += full
                found.differential.append(seconds)
                found.spent.append(spent)
                found.jobs.append(jobs)
            parts = ", ".join(f"{kind} {spent[kind]:.2f}" for kind in KINDS)
            others = {"plain": plain, "full": full}
            shown = "".join(f"{mode} {one:.2f}, " for mode, found_of in others.items() for one in found_of)
            print(f"    {name} {shown}differential {seconds:.2f} s, {jobs} jobs ({parts})", flush=True)


def measure_full_refresh(lake: ab.Lake, query: str) -> float:
    """The seconds of a full refresh."""
    return measure_seconds(lambda: lake.refresh_stream_table(stream_name(query, "full"), full=True))


def summarise(found: Timings) -> ShareRow:
    """The medians of a query at a share."""
    plain, differential = statistics.median(found.plain), statistics.median(found.differential)
    full = [statistics.median(found.full)] if found.full else []
    each = {"plain": found.plain, "full": found.full, "differential": found.differential}
    return ShareRow(
        query=found.query,
        share=found.share,
        plain_seconds=round(plain, 3),
        full_seconds=round(full[0], 3) if full else None,
        differential_seconds=round(differential, 3),
        speedup=round(min([plain, *full]) / differential, 2),
        spark_jobs=int(statistics.median(found.jobs)),
        reads_changes=found.reads_changes,
        spent={kind: round(statistics.fmean(one[kind] for one in found.spent), 3) for kind in KINDS},
        each={mode: [round(seconds, 3) for seconds in all_of] for mode, all_of in each.items()},
    )


def mean_speedup(rows: list[ShareRow], share: float, *, changed: bool = False) -> float:
    """The geometric mean of the speed-ups at a share, or of those where something changed."""
    return geometric_mean(
        row.speedup for row in rows if row.share == share and (row.reads_changes or not changed)
    )


def format_means(rows: list[ShareRow], share: float) -> str:
    """The geometric means at a share as text."""
    return (
        f"{mean_speedup(rows, share):.2f} over all, "
        f"{mean_speedup(rows, share, changed=True):.2f} where something changed"
    )


def share_table(rows: list[ShareRow]) -> str:
    """All rows as a Markdown table."""
    lines = [
        "| query | changed | plain Spark (s) | full (s) | differential (s) | speed-up | jobs |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.query} | {row.share:.1%} | {row.plain_seconds:.2f} | {_format_seconds(row.full_seconds)} "
        f"| {row.differential_seconds:.2f} | {row.speedup:.1f} × | {row.spark_jobs} |"
        for row in rows
    ]
    shares = dict.fromkeys(row.share for row in rows)
    return "\n".join([*lines, "", *(f"{share:.1%}: {format_means(rows, share)}" for share in shares)])


def _format_seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.2f}"
