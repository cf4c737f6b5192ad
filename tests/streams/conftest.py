"""Lakes with stream tables and a clock that moves only when told to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

import anabranch as ab
from tests.engines.lakes import duck_lake
from tests.streams.shop import stock


@pytest.fixture
def shop(place, clock) -> Iterator[ab.Lake]:
    """A few sales, and nothing made from them yet."""
    with duck_lake(place, clock=clock) as lake:
        stock(lake)
        yield lake


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Notices are expected here; those that matter are asserted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        yield
