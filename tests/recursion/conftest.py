"""Lakes in which stream tables may read each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import anabranch as ab
from tests.engines.lakes import duck_lake
from tests.streams.conftest import quiet  # noqa: F401  (Notices are expected here too)


@pytest.fixture
def lake(place, clock) -> Iterator[ab.Lake]:
    """Edges (1,2), (2,3), (3,4), and nothing made from them yet."""
    with duck_lake(place, clock=clock, allow_circular="true") as lake:
        lake.create_table("edges", "a INT, b INT")
        lake.insert("edges", [(1, 2), (2, 3), (3, 4)])
        yield lake
