"""Keeping the 22 queries of TPC-H: differential against full, on the same storage and in the same session.

Every round inserts and deletes a thousandth of the orders with their lines. Then, query by query, the text
is computed from nothing and replaces a table's rows, and the change is computed and applied to another; both
commit. Beside the ratio stand the Spark jobs of the differential refresh, and which share of its time is
planning: ours, and Spark's analysis, optimiser and physical planning, measured in a round of its own.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.parts import Parts
from anabranch.refresh.define import recomputed
from anabranch.refresh.run import change_statements, refresh
from anabranch.refresh.sources import Sources
from bench.harness import RESULTS
from tests.equivalence.kept import Kept
from tests.tpch.data import generate, load
from tests.tpch.rounds import apply_round, contents_of, refresh_functions

QUERIES = Path(__file__).parent.parent / "tests" / "tpch" / "queries"
SHARE = 0.001
ROUNDS = 3
"""The first one warms up, the medians are of the others."""


@dataclass(frozen=True)
class Measured:
    """One query: seconds for both, and what the differential refresh is made of."""

    query: str
    strategy: str
    full_seconds: float
    differential_seconds: float
    speedup: float
    spark_jobs: int
    planning_share: float


def measure(folder: Path, scale: float = 1.0) -> list[Measured]:
    """Run all rounds; prints as it goes."""
    generate(folder / "data", scale)
    with ab.connect(folder / "lake") as lake:
        load(lake, folder / "data")
        queries = {path.stem: path.read_text() for path in sorted(QUERIES.glob("*.sql"))}
        kept = {name: _created(lake, name, text) for name, text in queries.items()}
        runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in queries}
        for number in range(ROUNDS):
            _changed(lake, number)
            for name, one in kept.items():
                full = _full(lake, name, one)
                runs[name].append((full, *_differential(lake, one)))
                print(f"  {name} full {full:6.2f} s, differential {runs[name][-1][1]:6.2f} s", flush=True)
        for name, one in kept.items():
            assert one.verify().ok, f"{name} is wrong"
        _changed(lake, ROUNDS)
        shares = {name: _planning(lake, one) for name, one in kept.items()}
        return [_row(name, kept[name], rounds[1:], shares[name]) for name, rounds in runs.items()]


def _created(lake: ab.Lake, name: str, text: str) -> Kept:
    kept = Kept(lake, f"kept_{name}", text)
    lake.create_table(f"full_{name}", str(kept.definition.result.schema.visible))
    print(f"  {name} is kept by {' + '.join(kept.strategies)}", flush=True)
    return kept


def _changed(lake: ab.Lake, number: int) -> None:
    apply_round(lake, refresh_functions(contents_of(lake), number, SHARE))
    print(f"  round {number} is committed", flush=True)


def _row(name: str, kept: Kept, rounds: list[tuple[float, float, int]], planning: float) -> Measured:
    full, differential, jobs = (statistics.median(column) for column in zip(*rounds, strict=True))
    return Measured(
        name,
        " + ".join(kept.strategies),
        round(full, 2),
        round(differential, 2),
        round(full / differential, 2),
        int(jobs),
        round(planning, 2),
    )


def _full(lake: ab.Lake, name: str, kept: Kept) -> float:
    """Seconds to compute the text from nothing, and to commit its rows in place of those before."""
    parts = lake._parts
    start = time.perf_counter()
    until = parts.catalog.moment()
    with lake.transaction() as tx:
        tx.truncate(f"full_{name}")
        tx.insert(f"full_{name}", recomputed(kept.definition, Sources(parts, until, until)))
    return time.perf_counter() - start


def _differential(lake: ab.Lake, kept: Kept) -> tuple[float, int]:
    jobs = _jobs(lake._parts)
    start = time.perf_counter()
    kept.refresh()
    return time.perf_counter() - start, _jobs(lake._parts) - jobs


def _planning(lake: ab.Lake, kept: Kept) -> float:
    """Which share of a refresh is planning: one that is forgotten, its statements planned apart first."""
    parts, definition = lake._parts, kept.definition
    change_statements.cache_clear()
    spent = [0.0]
    start = time.perf_counter()
    transaction = lake.transaction()
    with _timed(parts.engine, spent):
        moments = parts.catalog.moment(kept.lsn), parts.catalog.moment()
        before = time.perf_counter()
        changed = Sources(parts, *moments).changed(definition.tables)
        changed |= {str(piece.table) for piece in definition.pieces}
        for piece in definition.pieces:
            change_statements(piece.maintained, changed & frozenset(map(str, piece.reads)))
        spent[0] += time.perf_counter() - before
        tables = {piece.table: transaction.working(piece.table) for piece in definition.pieces}
        refresh(parts, definition, tables, *moments)
    transaction.rollback()
    return spent[0] / (time.perf_counter() - start - spent[0])


@contextmanager
def _timed(engine: Any, spent: list[float]) -> Iterator[None]:
    """Count the time from a statement's text to its physical plan."""
    plain = engine.query

    def query(template: str, relations: Any) -> Any:
        start = time.perf_counter()
        frame = plain(template, relations)
        frame._jdf.queryExecution().executedPlan()
        spent[0] += time.perf_counter() - start
        return frame

    engine.query = query
    try:
        yield
    finally:
        del engine.query


def _jobs(parts: Parts) -> int:
    """How many jobs the session has run so far."""
    store = parts.engine.session.sparkContext._jsc.sc().statusStore()  # type: ignore[attr-defined]
    return max((job.jobId() for job in _listed(store.jobsList(None))), default=-1) + 1


def _listed(jobs: Any) -> Iterator[Any]:
    return (jobs.apply(place) for place in range(min(jobs.size(), 50)))


def save(rows: list[Measured]) -> Path:
    """Write the rows to `bench/results/maintenance.json`."""
    path = RESULTS / "maintenance.json"
    path.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return path


def table(rows: list[Measured]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| query | full (s) | differential (s) | speed-up | Spark jobs | planning | kept by |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.query} | {row.full_seconds} | {row.differential_seconds} | {row.speedup} × "
        f"| {row.spark_jobs} | {row.planning_share:.0%} | {row.strategy} |"
        for row in rows
    ]
    mean = math.exp(statistics.fmean(math.log(row.speedup) for row in rows))
    return "\n".join([*lines, f"| geometric mean | | | {mean:.2f} × | | | |"])


def main(arguments: list[str]) -> None:
    """`python -m bench.maintenance [scale]`; only the numbers of scale 1 are saved."""
    scale = float(arguments[0]) if arguments else 1.0
    print(f"maintenance of TPC-H's queries, scale factor {scale:g}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), scale)
    if scale == 1.0:
        save(rows)
    print()
    print(table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
