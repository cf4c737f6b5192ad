"""TPC-H's rows, generated once per run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tpch.data import generate


@pytest.fixture(scope="session")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the eight tables at scale factor 0.01."""
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, 0.01)
    return folder
