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


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Notices are expected here; those that matter are asserted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        yield
