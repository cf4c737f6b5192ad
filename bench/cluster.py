"""A standalone Spark cluster of two workers keeps TPC-H's 22 queries while 1 percent of the orders change.

The package is the wheel that it builds, in a driver of its own. A differential refresh is held against plain
Spark over compacted Parquet files, on the same executors. In a last round an executor is killed in the middle
of each refresh: every stream table must be right after it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anabranch as ab
from anabranch.errors import EngineFailed
from bench.harness import Report, Size
from bench.shares import (
    ROUNDS,
    SPARK_ONLY,
    WARM_UP,
    ShareRow,
    Timings,
    Workload,
    mean_speedup,
    run_round,
    share_table,
    summarise,
)
from bench.tpch import create_stream, open_tpch_lake, read_queries
from bench.tpch_changes import change_share_of_orders
from tests.cluster.standalone import (
    Cluster,
    application_options,
    find_busy_executors,
    kill_and_wait,
    wait_for_executors,
)
from tests.cluster.wheel import install_wheel
from tests.tpch.rounds import KEYS

SHARE = 0.01
WORKERS = 2
AIM = 4.0
"""So many times as fast as plain Spark a differential refresh is to be, in the geometric mean."""
MIDWAY = 0.5
"""An executor at work is killed when so much of a refresh's shortest time has passed, or in its only job."""
POLLING = 0.05
"""So many seconds pass between looks at who is at work."""
MOST_REFRESHES = 2
"""If a refresh fails with its executor, the next one is to be right."""
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class KilledRefresh:
    """A refresh during which an executor was to be killed."""

    query: str
    action: str
    killed_after_seconds: float | None
    """From its start to when the executor was gone; None: none was at work when it could have been."""
    seconds: float
    refreshes: int
    """How many it took: one, if Spark ran the tasks again by itself."""


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic, measured by a driver of its own."""
    with TemporaryDirectory() as place:
        installed = install_wheel(Path(place))
        with Cluster(Path(place) / "cluster", WORKERS) as cluster:
            work, found = Path(place) / "driver", Path(place) / "report.json"
            work.mkdir()
            told = {
                "folder": str(folder.absolute()),
                "report": str(found),
                "package": str(installed),
                "master": cluster.url,
                "workers": cluster.worker_pids,
                "size": asdict(size),
            }
            subprocess.run(
                [sys.executable, "-m", "bench.cluster", json.dumps(told)],
                cwd=work,
                env={**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"},
                check=True,
            )
            report = json.loads(found.read_text())
    return Report(**report)


def main(given: str) -> None:
    """Be the driver: measure, and write the report to a file."""
    told = json.loads(given)
    if not Path(ab.__file__).is_relative_to(told["package"]):
        raise ImportError(f"{ab.__file__} is not of the wheel")
    size = Size(**{name: tuple(v) if isinstance(v, list) else v for name, v in told["size"].items()})
    report = measure_on_cluster(Path(told["folder"]), size, told["master"], told["workers"])
    Path(told["report"]).write_text(json.dumps({"text": report.text, "documents": dict(report.documents)}))


def measure_on_cluster(folder: Path, size: Size, master: str, workers: Sequence[int]) -> Report:
    """The rows of this topic, with executors of these workers."""
    with open_tpch_lake(folder, size.scale, spark_options=application_options(master), **SPARK_ONLY) as lake:
        texts = read_queries(size.queries)
        for name in texts:
            create_stream(lake, name, "differential")
            print(f"  {name} is there", flush=True)
        workload = Workload(texts, KEYS, change_share_of_orders)
        timings = {name: Timings(name, SHARE) for name in texts}
        rounds = WARM_UP + size.measured_rounds(ROUNDS)
        for number in range(rounds):
            run_round(lake, workload, timings, number, SHARE, warm_up=number < WARM_UP, with_full=False)
        _check_all(lake, texts)
        rows = [summarise(each) for each in timings.values()]
        killed = _run_killed_round(lake, rows, rounds, workers)
    return make_report(rows, killed, size)


def _run_killed_round(
    lake: ab.Lake, rows: Sequence[ShareRow], number: int, workers: Sequence[int]
) -> list[KilledRefresh]:
    """One more change, and a refresh of every query in the middle of which an executor is killed."""
    changed = change_share_of_orders(lake, number, SHARE)
    print(f"  {SHARE:.1%}, {changed:,} rows changed, executors are killed", flush=True)
    killed = []
    for row in rows:
        if row.reads_changes:
            killed.append(_refresh_and_kill(lake, row, workers))
            _check_all(lake, [row.query])
            print(f"    {_describe_kill(killed[-1])}", flush=True)
    return killed


def _refresh_and_kill(lake: ab.Lake, row: ShareRow, workers: Sequence[int]) -> KilledRefresh:
    """Refresh the stream table of a query; what Spark gives up is refreshed once more."""
    wait_for_executors(workers, WORKERS)
    delay = MIDWAY * min(row.each["differential"]) if row.spark_jobs > 1 else 0.0
    done, started, killed = threading.Event(), time.perf_counter(), list[float]()

    def kill() -> None:
        done.wait(delay)
        while not done.is_set() and not killed:
            for victim in find_busy_executors(workers)[:1]:
                kill_and_wait(victim)
                killed.append(round(time.perf_counter() - started, 3))
            done.wait(POLLING)

    killer = threading.Thread(target=kill)
    killer.start()
    refreshes = 0
    try:
        action = None
        while action is None:
            refreshes += 1
            try:
                action = lake.refresh_stream_table(row.query).action
            except EngineFailed as error:
                if refreshes == MOST_REFRESHES:
                    raise
                print(f"    {row.query} failed: {error}", flush=True)
    finally:
        done.set()
        killer.join()
    seconds = round(time.perf_counter() - started, 3)
    return KilledRefresh(row.query, action, killed[0] if killed else None, seconds, refreshes)


def _check_all(lake: ab.Lake, queries: Mapping[str, str] | Sequence[str]) -> None:
    """Every stream table has the rows that its query has over its sources, computed anew."""
    for query in queries:
        found = lake.verify(query)
        if not found.ok:
            raise AssertionError(f"{query} is wrong: {found}")


def _describe_kill(killed: KilledRefresh) -> str:
    after = killed.killed_after_seconds
    gone = "no executor was at work" if after is None else f"an executor was killed after {after:.1f} s"
    return f"{killed.query} {killed.action.lower()} in {killed.seconds:.1f} s, {gone}: right"


def make_report(rows: list[ShareRow], killed: Sequence[KilledRefresh], size: Size) -> Report:
    """The table, the geometric mean against its aim, and what became of killed executors."""
    mean, among_changed = mean_speedup(rows, SHARE), mean_speedup(rows, SHARE, changed=True)
    during = sum(each.killed_after_seconds is not None for each in killed)
    lines = [
        share_table(rows),
        "",
        f"{mean:.2f} × as fast as plain Spark (aim ≥ {AIM:g}); "
        f"{among_changed:.2f} × where something changed.",
        f"An executor was killed during {during} of {len(killed)} refreshes; all stream tables are right. "
        f"Spark gave up {sum(each.refreshes > 1 for each in killed)}.",
    ]
    document = {
        "scale": size.scale,
        "workers": WORKERS,
        "geometric_mean": mean,
        "geometric_mean_where_changed": among_changed,
        "aim": AIM,
        "met": mean >= AIM,
        "rows": [asdict(row) for row in rows],
        "killed": [asdict(each) for each in killed],
    }
    return Report("\n".join(lines), {"cluster": document})


if __name__ == "__main__":
    main(*sys.argv[1:])
