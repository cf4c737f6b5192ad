"""What the consistency tests share: a lake on either catalog, and its address as others take it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab


@pytest.fixture
def uri(catalog: str | None, place: Path) -> str:
    """The catalog's address, also where it is the SQLite file inside the lake."""
    return catalog or f"sqlite:///{place}/catalog.db"


@pytest.fixture
def address(catalog: str | None, place: Path) -> dict[str, str | None]:
    """Where the lake is, as workers take it."""
    return {"place": str(place), "catalog": catalog}


@pytest.fixture
def both(catalog: str | None, place: Path) -> Iterator[ab.Lake]:
    """A fresh lake, once on SQLite and once on PostgreSQL."""
    with ab.connect(place, catalog=catalog) as opened:
        yield opened


@pytest.fixture
def other(both: ab.Lake, catalog: str | None, place: Path) -> Iterator[ab.Lake]:
    """The same lake, opened once more: somebody else's connection, caches and all."""
    with ab.connect(place, catalog=catalog) as opened:
        yield opened
