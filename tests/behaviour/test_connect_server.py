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


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What became of each scenario on a Connect server, in a process that has no other session."""
    folder = tmp_path_factory.mktemp("connect")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, core_scenarios.__file__, str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "outcomes.json").read_text())


@pytest.mark.spark
@pytest.mark.parametrize("name", SCENARIOS)
def test_on_a_connect_server(outcomes, name):
    assert outcomes["session"].startswith("pyspark.sql.connect")
    assert outcomes[name] == "passed"


def test_only_what_connect_has_too_is_used():
    """No JVM objects, no RDDs, no SparkContext, nowhere."""
    source = "\n".join(path.read_text() for path in (ROOT / "anabranch").rglob("*.py"))
    for word in ("._jvm", "._jdf", "._jsparkSession", ".sparkContext", "SparkContext(", ".rdd", ".toJSON("):
        assert word not in source, word
