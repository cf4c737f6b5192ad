"""The page about cycles says nothing that isn't so: its examples are run, one after the other."""

from __future__ import annotations

import pytest

import anabranch as ab
from tests.docs.pages import run_page
from tests.engines.lakes import duck_lake

pytestmark = pytest.mark.filterwarnings("ignore::anabranch.Notice")


def test_every_example_does_what_it_says(place, monkeypatch):
    monkeypatch.setattr(ab, "connect", lambda _, **settings: duck_lake(place, **settings))
    lake = run_page("cycles.md")[0]["lake"]
    assert len(lake.scc_status()) == 3
    assert all(lake.verify(each.name).ok for each in lake.status())
    lake.close()


@pytest.mark.slow
def test_on_spark_every_example_does_what_it_says(place, spark, monkeypatch):
    connect = ab.connect
    monkeypatch.setattr(ab, "connect", lambda _, **settings: connect(place, spark=spark, **settings))
    run_page("cycles.md")[0]["lake"].close()
