"""A shop as a project, and its lake."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

import anabranch as ab
from tests.project.folders import SHOP, YML, Folder


@pytest.fixture
def folder(tmp_path, clock) -> Folder:
    """An empty project."""
    return Folder(tmp_path / "shop", clock).write({"anabranch.yml": YML})


@pytest.fixture
def shop(folder) -> Folder:
    """A source, and a diamond over it."""
    return folder.write(SHOP)


@pytest.fixture
def lake(shop) -> Iterator[ab.Lake]:
    """The shop's lake, still empty."""
    with shop.connect() as opened:
        yield opened


@pytest.fixture
def applied(shop, lake):
    """The shop, in a lake, with a few sales."""
    shop.load().apply(lake)
    lake.insert("sales", [(1, "north", 1, 1, 10), (2, "south", 1, 2, 20), (3, "south", 2, 1, 5)])
    lake.refresh_stream_table("summary")
    return lake


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Notices are expected here; those that matter are asserted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        yield
