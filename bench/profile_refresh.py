"""What a refresh spends its time on: every moment of it counts once, for the innermost thing that is done.

planning   our own statements, and Spark between their text and its jobs: analysis, optimiser, physical
           plans, code generation, rows handed over
spark      a job of Spark's is running
parquet    the driver itself reads or writes Parquet files
commit     metadata of the tables, and the transaction of the catalog
rest       Python between all that
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.engine.local import lookup
from anabranch.iceberg import parquet_files
from anabranch.refresh import execute, publish
from anabranch.refresh.definition_cache import DefinitionCache

KINDS = ("planning", "spark", "parquet", "commit", "rest")
_ENGINE = "engine"
"""Inside of the engine; the part of it in which a job runs is `spark`, what is left is `planning`."""
_CALLS = (
    "run_query scan scan_changes change_from_query from_arrow collect conform materialise write "
    "change_from_actions schema_of types_of"
).split()
_PARQUET = (
    parquet_files.read_file,
    parquet_files.read_row_count,
    parquet_files.write_rows,
    parquet_files.write_change_file,
    parquet_files.list_written_files,
    parquet_files.list_written_changes,
    lookup.look_up,
)


class TimeProfile:
    """Seconds by kind, added up while work goes on; of kinds inside of each other the inner one counts."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._within: list[str] = []
        self._since = 0.0
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure_as(self, kind: str) -> Iterator[None]:
        """What happens in here is of that kind."""
        self._add_elapsed()
        self._within.append(kind)
        try:
            yield
        finally:
            self._add_elapsed()
            self._within.pop()

    def _add_elapsed(self) -> None:
        now = self._now()
        if self._within:
            kind = self._within[-1]
            self.seconds[kind] = self.seconds.get(kind, 0.0) + now - self._since
        self._since = now


def profile_work(context: LakeContext, work: Callable[[], object]) -> tuple[dict[str, float], int]:
    """Seconds of some work by kind, and how many jobs of Spark's it took."""
    spent, first = TimeProfile(), _read_next_job(context)
    with ExitStack() as patches:
        for name in _CALLS:
            patches.enter_context(_time_method(context.engine, name, spent, _ENGINE))
        for function in _PARQUET:
            patches.enter_context(_time_function(function, spent, "parquet"))
        patches.enter_context(_time_function(execute.change_statements, spent, "planning"))
        patches.enter_context(_time_function(publish.publish, spent, "commit"))
        patches.enter_context(_time_method(DefinitionCache, "get", spent, "planning"))
        with spent.measure_as("rest"):
            work()
    last = _read_next_job(context)
    running = covered_seconds(_read_job_interval(context, job) for job in range(first, last))
    return split_engine_time(spent.seconds, running), last - first


def split_engine_time(seconds: Mapping[str, float], running: float) -> dict[str, float]:
    """The time inside of the engine is Spark's while a job runs, and else planning.

    >>> split_engine_time({"engine": 3.0, "planning": 0.5, "rest": 1.0}, running=2.0)
    {'planning': 1.5, 'spark': 2.0, 'parquet': 0.0, 'commit': 0.0, 'rest': 1.0}
    """
    inside = seconds.get(_ENGINE, 0.0)
    spark = min(running, inside)
    found = dict.fromkeys(KINDS, 0.0) | {kind: value for kind, value in seconds.items() if kind != _ENGINE}
    return {**found, "planning": found["planning"] + inside - spark, "spark": spark}


def covered_seconds(intervals: Iterable[tuple[float, float]]) -> float:
    """How long at least one of some intervals lasts.

    >>> covered_seconds([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    total, end = 0.0, float("-inf")
    for begin, finish in sorted(intervals):
        total += max(0.0, finish - max(begin, end))
        end = max(end, finish)
    return total


def _wrap_with_timer(function: Callable[..., Any], spent: TimeProfile, kind: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call_timed(*args: Any, **kwargs: Any) -> Any:
        with spent.measure_as(kind):
            return function(*args, **kwargs)

    return call_timed


@contextmanager
def _time_method(owner: Any, name: str, spent: TimeProfile, kind: str) -> Iterator[None]:
    """Count what a method takes; on an object it hides the method, of a class it takes its place."""
    own = vars(owner).get(name)
    setattr(owner, name, _wrap_with_timer(getattr(owner, name), spent, kind))
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


@contextmanager
def _time_function(function: Callable[..., Any], spent: TimeProfile, kind: str) -> Iterator[None]:
    """Count what a function takes, in every module that knows it by name."""
    counted = _wrap_with_timer(function, spent, kind)
    places = [
        (module, name)
        for path, module in list(sys.modules.items())
        if path.startswith("anabranch")
        for name, value in list(vars(module).items())
        if value is function
    ]
    for module, name in places:
        setattr(module, name, counted)
    try:
        yield
    finally:
        for module, name in places:
            setattr(module, name, function)


# -- jobs of a classic session --------------------------------------------------------------------


def _spark_context(context: LakeContext) -> Any:
    return context.engine.session.sparkContext._jsc.sc()  # type: ignore[attr-defined]


def _read_next_job(context: LakeContext) -> int:
    """The number that the next job gets, once all that has ended is known to have."""
    if not hasattr(context.engine, "session"):
        return 0
    context = _spark_context(context)
    context.listenerBus().waitUntilEmpty()
    jobs = context.statusStore().jobsList(None)
    return int(jobs.apply(0).jobId()) + 1 if jobs.size() else 0


def _read_job_interval(context: LakeContext, job: int) -> tuple[float, float]:
    """When a job began and ended, in seconds; one that nobody waited for lasts no time."""
    found = _spark_context(context).statusStore().job(job)
    begun, ended = found.submissionTime(), found.completionTime()
    begin = begun.get().getTime() / 1000
    return begin, ended.get().getTime() / 1000 if ended.isDefined() else begin
