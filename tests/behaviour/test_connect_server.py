"""The core scenarios, on a classic Spark session and on a Spark Connect server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.behaviour import core_scenarios
from tests.behaviour.core_scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # what they do is tested in detail elsewhere; here it is the other kind that matters
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_on_a_classic_session(spark_lake, scenario):
    scenario(spark_lake)


def take_turns(names: list[str], parts: int) -> list[list[str]]:
    """The names in as many parts."""
    return [names[first::parts] for first in range(parts)]


@pytest.mark.spark
@pytest.mark.rotating(3)
@pytest.mark.parametrize("names", take_turns(list(SCENARIOS), 3), ids=lambda names: names[0])
def test_on_a_connect_server(tmp_path, names):
    run_on_connect_server(tmp_path, names)


def run_on_connect_server(tmp_path: Path, names: list[str]) -> None:
    """Run scenarios in a process that has no other session."""
    # Spark takes a free port for a server of tests.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_TESTING": "1"}
    done = subprocess.run(
        [sys.executable, core_scenarios.__file__, str(tmp_path), *names],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    outcomes = json.loads((tmp_path / "outcomes.json").read_text())
    assert outcomes.pop("session").startswith("pyspark.sql.connect")
    assert outcomes == dict.fromkeys(names, "passed")


def test_only_what_connect_has_too_is_used():
    """No JVM objects, no RDDs, no SparkContext, nowhere."""
    source = "\n".join(path.read_text() for path in (ROOT / "anabranch").rglob("*.py"))
    for word in ("._jvm", "._jdf", "._jsparkSession", ".sparkContext", "SparkContext(", ".rdd", ".toJSON("):
        assert word not in source, word
