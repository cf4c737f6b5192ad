"""`python -m tests.cluster.driver JOB` is a driver: it runs one scenario on a cluster, or fails as that does.

Its package is the installed wheel, and its working directory nobody else's. Scenarios get a lake that they
share with nobody, and may kill executors and workers, which are named by their processes.
"""

from __future__ import annotations

import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.engine.spark.engine import SparkEngine
from anabranch.errors import EngineFailed
from anabranch.refresh import inputs, run_fixpoint
from tests.behaviour.core_scenarios import SCENARIOS as CORE
from tests.cluster.standalone import (
    application_options,
    find_busy_executors,
    kill_and_wait,
    list_executors,
    wait_for_executors,
)
from tests.cluster.workload import A_FEW, DIAMOND, EVERY_KIND, change_shop, create_shop
from tests.crash.reachable import empty_folders, survey
from tests.streams.at_every_version import Watch

HOUR = 3600
ROUNDS = 3
MANY = 100
"""More executors than can die at work before Spark gives up."""
EVERYTHING_ON_SPARK = {"driver_rows": 0, "driver_rewrite_bytes": 0}


@dataclass(frozen=True)
class Job:
    """A scenario, where the wheel is installed, and the cluster; `connect`: the Connect server in between."""

    scenario: str
    wheel: str
    master: str
    workers: tuple[int, ...]
    connect: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Spark's, for a session of the driver's own."""
    given: bool = False
    """Whether that session is handed to the lake; else the lake starts it."""


@dataclass
class Shop:
    """A lake on the cluster, and all that is known of it."""

    job: Job
    lake: ab.Lake
    clock: ab.ManualClock
    queries: Mapping[str, str] = field(default_factory=lambda: A_FEW)

    @cached_property
    def watch(self) -> Watch:
        """Compares every version with what DuckDB computes from the sources alone."""
        return Watch(self.lake)

    @property
    def location(self) -> Path:
        """The folder of the lake."""
        return Path.cwd() / "lake"

    def fill(self) -> None:
        """Create the tables, all of them filled."""
        create_shop(self.lake, self.queries)
        self.check()

    def catch_up(self) -> None:
        """A tick that refreshes everything; each version of each stream table is right."""
        self.tick_without_failure()
        self.check()
        self.verify()

    def tick_without_failure(self) -> None:
        """A tick that refreshes everything, whatever happens meanwhile."""
        report = self.tick()
        assert report.failed == report.held == ()
        assert set(report.refreshed) | set(report.unchanged) == set(self.queries)
        assert set(report.refreshed) >= set(DIAMOND)

    def tick(self) -> Any:
        """A tick at a moment when everything is due, and no failure of before is waited for."""
        self.clock.advance(HOUR)
        return self.lake.tick()

    def verify(self) -> None:
        """Every stream table is its query at its frontier, as Spark computes it."""
        for name in self.queries:
            assert self.lake.verify(name).ok, name

    def check(self) -> None:
        """The same as DuckDB computes it, of every version since the last look; a diamond moved as one."""
        self.watch.look()
        versions = self.versions()
        assert len({versions[name] for name in DIAMOND}) == 1, versions

    def versions(self) -> dict[str, int]:
        """The lsn of every table."""
        return {info.name: info.lsn for info in self.lake.tables()}

    def check_files(self) -> None:
        """Maintenance leaves the files that some version needs, and nothing else."""
        self.clock.advance(HOUR)
        self.lake.maintain()
        self.lake.maintain()
        found = survey(self.location, None)
        assert not found.missing
        strays = {path for path in found.unneeded if not _is_checksum_of_a_file(path)}
        assert not strays, sorted(strays)[:20]
        assert not empty_folders(self.location)


def _is_checksum_of_a_file(path: Path) -> bool:
    """Hadoop's local file system writes one beside every file, unless a session says otherwise."""
    name = path.name
    return name.startswith(".") and name.endswith(".crc") and path.with_name(name[1:-4]).exists()


# -- scenarios ------------------------------------------------------------------------------------


def core_scenarios_pass(shop: Shop) -> None:
    """What the product can do at all, it can do on a cluster."""
    for name, scenario in CORE.items():
        print(name, flush=True)
        with _connect(shop.job, Path(f"core-{name}"), session=_session(shop)) as lake:
            scenario(lake)


def rounds_are_followed(shop: Shop) -> None:
    """Every version of every stream table is right, and Spark computed it."""
    shop.queries = EVERY_KIND
    shop.fill()
    for number in range(ROUNDS):
        change_shop(shop.lake, number)
        before = _count_statements(shop)
        shop.catch_up()
        assert _count_statements(shop) - before >= len(EVERY_KIND)
    entries = shop.lake.refresh_history(limit=1000)
    actions = {entry.action for entry in entries if entry.initiated_by == "scheduler"}
    assert actions <= {"DIFFERENTIAL", "NO_DATA"}
    shop.watch.look_back()
    shop.check_files()


def rounds_of_large_changes_are_followed(shop: Shop) -> None:
    """The same where nothing is small enough for one task or for the driver: all steps go through files."""
    shop.queries = EVERY_KIND
    with _everything_is_large():
        shop.fill()
        for number in range(2):
            change_shop(shop.lake, number)
            shop.catch_up()
    shop.check_files()


def a_killed_executor_costs_nothing_but_time(shop: Shop) -> None:
    """Tasks that die with their executor are run again, by one that is left or one that comes anew."""
    shop.fill()
    for number, most in enumerate((1, 3)):
        change_shop(shop.lake, number)
        with _everything_is_large(), _executors_die_at_work(shop, most):
            shop.tick_without_failure()
        shop.check()
    shop.verify()
    shop.check_files()


def a_failure_publishes_nothing(shop: Shop) -> None:
    """Where Spark doesn't try again, a refresh or a write fails as a whole, and the next one is right."""
    shop.fill()
    change_shop(shop.lake, 0)
    before, seen = shop.versions(), len(shop.lake.refresh_history(limit=1000))
    with _everything_is_large(), _executors_die_at_work(shop, MANY) as killed:
        report = shop.tick()
    assert killed
    assert report.failed
    after, refreshed = shop.versions(), set(report.refreshed)
    assert {name for name in before if after[name] != before[name]} == refreshed
    assert refreshed.isdisjoint(DIAMOND) or refreshed >= DIAMOND.keys()
    entries = shop.lake.refresh_history(limit=1000)[:-seen]
    assert {entry.stream_table for entry in entries if entry.status == "SUCCEEDED"} == refreshed
    errors = {entry.stream_table: entry.error_code for entry in entries if entry.status == "FAILED"}
    assert errors == dict.fromkeys(dict(report.failed), EngineFailed.code)
    shop.check()
    shop.catch_up()
    lsn = shop.lake.lsn
    with _executors_die_at_work(shop, MANY), pytest.raises(EngineFailed):
        shop.lake.update("orders", {"amount": "amount * 2"})
    assert shop.lake.lsn == lsn
    change_shop(shop.lake, 1)
    shop.catch_up()
    shop.check_files()


def a_step_outlives_the_executor_that_computed_it(shop: Shop) -> None:
    """What a statement left for the next one is read by other executors."""
    shop.fill()
    change_shop(shop.lake, 0)
    killed = []
    materialise = SparkEngine.materialise

    def materialise_and_kill(engine: SparkEngine, frame: Any, folder: str) -> Any:
        made = materialise(engine, frame, folder)
        if len(killed) < 2:
            killed.append(folder)
            for pid in list_executors(shop.job.workers):
                kill_and_wait(pid)
        return made

    with _everything_is_large(), mock.patch.object(SparkEngine, "materialise", materialise_and_kill):
        shop.tick_without_failure()
    assert len(killed) == 2
    shop.check()
    shop.verify()
    shop.check_files()


def a_lost_worker_is_done_without(shop: Shop) -> None:
    """A machine goes while a refresh runs, and doesn't come back: one is enough."""
    shop.fill()
    lost, *left = shop.job.workers
    change_shop(shop.lake, 0)
    with _everything_is_large(), _machine_is_lost_at_work(lost):
        shop.tick_without_failure()
    shop.check()
    assert not list_executors([lost])
    change_shop(shop.lake, 1)
    shop.catch_up()
    assert len(list_executors(left)) == 1
    shop.check_files()


SCENARIOS: dict[str, Callable[[Shop], None]] = {
    scenario.__name__: scenario
    for scenario in (
        core_scenarios_pass,
        rounds_are_followed,
        rounds_of_large_changes_are_followed,
        a_killed_executor_costs_nothing_but_time,
        a_failure_publishes_nothing,
        a_step_outlives_the_executor_that_computed_it,
        a_lost_worker_is_done_without,
    )
}


# -- what happens during a refresh ----------------------------------------------------------------


@contextmanager
def _everything_is_large() -> Iterator[None]:
    """No change counts as small: rows between statements are in files, and no statement is for one task."""
    with (
        mock.patch.object(inputs, "FEW_BYTES", -1),
        mock.patch.object(inputs, "ONE_TASK_BYTES", -1),
        mock.patch.object(run_fixpoint, "FEW_ROWS", -1),
    ):
        yield


@contextmanager
def _executors_die_at_work(shop: Shop, most: int) -> Iterator[list[int]]:
    """Kill up to `most` executors, one after the other, each while a task runs on it; the processes."""
    wait_for_executors(shop.job.workers, len(shop.job.workers))
    killed: list[int] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def kill() -> None:
        try:
            while len(killed) < most and not done.wait(0.02):
                for pid in find_busy_executors(shop.job.workers)[:1]:
                    kill_and_wait(pid)
                    killed.append(pid)
        except BaseException as error:  # noqa: BLE001  (raised below, by the thread that waits)
            failures.append(error)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        done.set()
        killer.join()
    assert killed, "no executor was at work"
    assert not failures, failures


@contextmanager
def _machine_is_lost_at_work(worker: int) -> Iterator[None]:
    """Kill a worker with its executor, while a task runs there."""
    lost = threading.Event()
    done = threading.Event()

    def lose() -> None:
        while not done.wait(0.02) and not lost.is_set():
            if busy := find_busy_executors([worker]):
                kill_and_wait(worker)
                for pid in busy:
                    kill_and_wait(pid)
                lost.set()

    loser = threading.Thread(target=lose)
    loser.start()
    try:
        yield
    finally:
        done.set()
        loser.join()
    assert lost.is_set(), "no task ran on the worker"


def _count_statements(shop: Shop) -> int:
    return shop.lake._context.engine.statements


# -- the program ----------------------------------------------------------------------------------


def _session(shop: Shop) -> Any:
    """The session that a shop's lake runs on."""
    return shop.lake._context.engine.session  # type: ignore[attr-defined]


def _connect(job: Job, place: Path, session: Any = None, **settings: Any) -> ab.Lake:
    options = {**application_options(job.master), **job.options}
    if session is None:
        session = _start_session(job, options)
    return ab.connect(place, spark=session, spark_options=options if session is None else None, **settings)


def _start_session(job: Job, options: Mapping[str, str]) -> SparkSession | None:
    """A session of the job's kind; None if the lake is to start it."""
    if job.connect is not None:
        return SparkSession.builder.remote(job.connect).getOrCreate()
    return SparkSession.builder.config(map=dict(options)).getOrCreate() if job.given else None


def main(given: str) -> None:
    """Run a job given as JSON."""
    told = json.loads(given)
    job = Job(**{**told, "workers": tuple(told["workers"])})
    assert Path(ab.__file__).is_relative_to(job.wheel), f"{ab.__file__} is not the installed one"
    assert not any(Path.cwd().iterdir()), "somebody else works here"
    clock = ab.ManualClock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        # A relative location: executors, which work elsewhere, must not be told of it as such.
        settings = {"snapshot_retention": "30d", "orphan_grace": "0s", **EVERYTHING_ON_SPARK}
        with _connect(job, Path("lake"), clock=clock, **settings) as lake:
            shop = Shop(job, lake, clock)
            lake.sql("SELECT 1").collect()
            wait_for_executors(job.workers, len(job.workers))
            SCENARIOS[job.scenario](shop)
            session = _session(shop)
        session.stop()
    left = {path.name for path in Path.cwd().iterdir() if not path.name.startswith("core-")}
    if job.given:
        # Spark looks an unknown function up in a catalog of its own, and makes a folder for that where the
        # session says; those that a lake starts have it among temporary files.
        left.discard("spark-warehouse")
    assert left == {"lake"}, f"left in the working directory: {left}"


if __name__ == "__main__":
    main(*sys.argv[1:])
