"""TPC-DS's rows, generated once per run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tpcds.data import generate


@pytest.fixture(scope="session")
def tpcds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the 24 tables at scale factor 0.01, the least that the generator comes to an end with."""
    folder = tmp_path_factory.mktemp("tpcds")
    generate(folder, 0.01)
    return folder
