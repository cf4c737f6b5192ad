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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anabranch as ab
from anabranch.errors import EngineFailed
from bench.harness import Report, Size, measure_seconds
from bench.refresh_modes import NO_DATA
from bench.shares import (
    ROUNDS,
    SPARK_ONLY,
    WARM_UP,
    ShareRow,
    Timings,
    mean_speedup,
    run_round,
    share_table,
    summarise,
)
from bench.tpch import create_stream, open_tpch_lake, read_queries
from bench.tpch_changes import change_orders, count_share_of_orders
from tests.cluster.standalone import Cluster, application_options, kill_and_wait, wait_for_executors
from tests.cluster.wheel import install_wheel

SHARE = 0.01
WORKERS = 2
AIM = 4.0
"""So many times as fast as plain Spark a differential refresh is to be, in the geometric mean."""
MIDWAY = 0.5
"""An executor is killed when so much of a refresh's usual time has passed."""
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class KilledRefresh:
    """A refresh one of whose executors was killed."""

    query: str
    action: str
    killed_after_seconds: float
    """From the start of the refresh to when the executor was gone."""
    seconds: float
    during_refresh: bool
    """Whether the refresh was still running by then."""
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
    size = Size(**{**told["size"], "queries": tuple(told["size"]["queries"])})
    report = measure_on_cluster(Path(told["folder"]), size, told["master"], told["workers"])
    Path(told["report"]).write_text(json.dumps({"text": report.text, "documents": dict(report.documents)}))


def measure_on_cluster(folder: Path, size: Size, master: str, workers: Sequence[int]) -> Report:
    """The rows of this topic, with executors of these workers."""
    with open_tpch_lake(folder, size.scale, spark_options=application_options(master), **SPARK_ONLY) as lake:
        texts = read_queries(size.queries)
        for name in texts:
            create_stream(lake, name, "differential")
            print(f"  {name} is there", flush=True)
        timings = {name: Timings(name, SHARE) for name in texts}
        rounds = WARM_UP + size.measured_rounds(ROUNDS)
        for number in range(rounds):
            run_round(lake, texts, timings, number, warm_up=number < WARM_UP, with_full=False)
        _check_all(lake, texts)
        rows = [summarise(each) for each in timings.values()]
        killed = _run_killed_round(lake, rows, rounds, workers)
    return make_report(rows, killed, size)


def _run_killed_round(
    lake: ab.Lake, rows: Sequence[ShareRow], number: int, workers: Sequence[int]
) -> list[KilledRefresh]:
    """One more change, and a refresh of every query in the middle of which an executor is killed."""
    changed = change_orders(lake, number, count_share_of_orders(lake, SHARE))
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
    victim = wait_for_executors(workers, WORKERS)[0]
    gone: list[float] = []
    done = threading.Event()
    during: list[bool] = []

    def kill() -> None:
        done.wait(row.differential_seconds * MIDWAY)
        during.append(not done.is_set())
        kill_and_wait(victim)

    killer = threading.Thread(target=lambda: gone.append(measure_seconds(kill)))
    actions: list[str] = []

    def refresh() -> None:
        killer.start()
        try:
            actions.append(lake.refresh_stream_table(row.query).action)
        except EngineFailed as error:
            print(f"    {row.query} failed: {error}", flush=True)
            actions.append("FAILED")
            actions.append(lake.refresh_stream_table(row.query).action)
        finally:
            done.set()

    seconds = measure_seconds(refresh)
    killer.join()
    if NO_DATA in actions:
        raise AssertionError(f"{row.query} had nothing to do")
    return KilledRefresh(
        query=row.query,
        action=actions[-1],
        killed_after_seconds=round(gone[0], 3),
        seconds=round(seconds, 3),
        during_refresh=during[0],
        refreshes=len(actions),
    )


def _check_all(lake: ab.Lake, queries: Mapping[str, str] | Sequence[str]) -> None:
    """Every stream table has the rows that its query has over its sources, computed anew."""
    for query in queries:
        found = lake.verify(query)
        if not found.ok:
            raise AssertionError(f"{query} is wrong: {found}")


def _describe_kill(killed: KilledRefresh) -> str:
    place = f"after {killed.killed_after_seconds:.1f} s" if killed.during_refresh else "only after it"
    return (
        f"{killed.query} {killed.action.lower()} in {killed.seconds:.1f} s, an executor gone {place}: right"
    )


def make_report(rows: list[ShareRow], killed: Sequence[KilledRefresh], size: Size) -> Report:
    """The table, the geometric mean against its aim, and what became of killed executors."""
    mean, among_changed = mean_speedup(rows, SHARE), mean_speedup(rows, SHARE, changed=True)
    during = sum(each.during_refresh for each in killed)
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
