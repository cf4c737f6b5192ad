"""The first minutes with a project, as a new user types them: real processes, real Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def anabranch(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run a command in a folder; what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.timeout(1800)
def test_from_nothing_to_fresh_tables(tmp_path):
    shop = tmp_path / "shop"
    assert "anabranch apply" in anabranch(tmp_path, "init", "--example", "shop")
    planned = anabranch(shop, "plan", "--check", code=4)
    assert "+ stream table   revenue_check  schedule calculated, incremental" in planned
    assert not (shop / "lake").exists()
    assert "applied, at lsn 1" in anabranch(shop, "apply", "--yes")
    anabranch(shop, "sql", "-f", "load.sql")
    ticked = json.loads(anabranch(shop, "-o", "json", "tick"))
    assert len(ticked["refreshed"]) == 4
    status = json.loads(anabranch(shop, "-o", "json", "status"))
    assert {each["name"]: (each["status"], each["rows"]) for each in status} == {
        "by_product": ("ACTIVE", 3),
        "by_region": ("ACTIVE", 3),
        "revenue_check": ("ACTIVE", 1),
        "top_customers": ("ACTIVE", 3),
    }
    assert "nothing to change" in anabranch(shop, "plan", "--check")
