"""Nexmark's rows, generated once per run."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest

from tests.nexmark.data import generate


@pytest.fixture(scope="session")
def nexmark() -> Mapping[str, pa.Table]:
    """The three tables: hundreds of people and auctions, five thousand bids."""
    return generate()
