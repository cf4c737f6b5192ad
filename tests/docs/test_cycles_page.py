"""The page about cycles says nothing that isn't so: its examples are run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.engines.lakes import duck_lake

PAGE = Path(__file__).parents[2] / "docs" / "cycles.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.filterwarnings("ignore::anabranch.Notice")


def run_page() -> dict[str, Any]:
    """Execute all blocks in one namespace, on the lines where they stand; the names they leave."""
    text = PAGE.read_text()
    names: dict[str, Any] = {}
    for block in BLOCK.finditer(text):
        lines = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(lines + block[1], str(PAGE), "exec"), names)
    return names


def test_every_example_does_what_it_says(place, monkeypatch):
    monkeypatch.setattr(ab, "connect", lambda _, **settings: duck_lake(place, **settings))
    lake = run_page()["lake"]
    assert len(lake.scc_status()) == 3
    assert all(lake.verify(each.name).ok for each in lake.status())
    lake.close()


@pytest.mark.slow
def test_on_spark_every_example_does_what_it_says(place, spark, monkeypatch):
    connect = ab.connect
    monkeypatch.setattr(ab, "connect", lambda _, **settings: connect(place, spark=spark, **settings))
    run_page()["lake"].close()
