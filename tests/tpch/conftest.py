"""TPC-H's rows, generated once per run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tpch.data import generate

SCALE = float(os.environ.get("TPCH_SCALE", "0.01"))
"""More on request: `TPCH_SCALE=0.1 TPCH_ROUNDS=5 .venv/bin/pytest tests/tpch/test_maintained.py`."""


@pytest.fixture(scope="session")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the eight tables at scale factor 0.01."""
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, 0.01)
    return folder


@pytest.fixture(scope="session")
def tpch_at_scale(tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same at the scale factor that was asked for."""
    if SCALE == 0.01:
        return tpch
    folder = tmp_path_factory.mktemp("tpch_at_scale")
    generate(folder, SCALE)
    return folder
