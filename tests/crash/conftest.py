"""A place for a lake on either catalog, and processes that die there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.crash.children import Children, Job
from tests.engines.lakes import duck_lake


@dataclass(frozen=True)
class Spot:
    """Where a lake is, and its one clock."""

    location: Path
    catalog: str | None
    clock: ab.ManualClock

    def open(self, **options: Any) -> ab.Lake:
        """Connect to it, as anybody would after a restart: there is no repair."""
        return ab.connect(self.location, catalog=self.catalog, **{"clock": self.clock, **options})

    def job(self, script: str, failpoints: str = "", attempt: str | None = None, **settings: str) -> Job:
        """A script for a child to run here."""
        now = self.clock.now().isoformat()
        return Job(script, str(self.location), self.catalog, failpoints, attempt, now, settings)

    def open_duck(self, **options: Any) -> ab.Lake:
        """The same on the engine for tests."""
        return duck_lake(self.location, catalog=self.catalog, **{"clock": self.clock, **options})

    def duck_job(self, script: str, failpoints: str = "", attempt: str | None = None, **settings: str) -> Job:
        """A script for a child to run on the engine for tests."""
        return replace(self.job(script, failpoints, attempt, **settings), engine="duck")


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    server = Children()
    yield server
    server.close()


@pytest.fixture
def spot(place: Path, catalog: str | None) -> Spot:
    """On SQLite, then on PostgreSQL."""
    return Spot(place, catalog, ab.ManualClock())


@pytest.fixture
def sqlite_spot(place: Path) -> Spot:
    return Spot(place, None, ab.ManualClock())


@pytest.fixture
def opened() -> Iterator[Callable[..., ab.Lake]]:
    """Opens lakes and closes them at the end, for tests with several connections."""
    lakes: list[ab.Lake] = []

    def open_one(spot: Spot, **options: Any) -> ab.Lake:
        lakes.append(spot.open(**options))
        return lakes[-1]

    yield open_one
    for lake in lakes:
        lake.close()
