"""What the README shows can be run as it stands there."""

from __future__ import annotations

import pytest

import anabranch as ab
from tests.docs.pages import run_page
from tests.engines.lakes import duck_lake

pytestmark = pytest.mark.filterwarnings("ignore::anabranch.Notice")


def test_the_examples_do_what_they_say(place, monkeypatch):
    monkeypatch.setattr(ab, "connect", lambda _, **settings: duck_lake(place, **settings))
    names, _ = run_page("../README.md", after="## Use it")
    with names["lake"] as lake:
        rows = lake.arrow("orders").sort_by("id").to_pylist()
        assert [(row["id"], float(row["amount"])) for row in rows] == [(1, 10.0), (2, 8.0), (4, 9.0)]
        assert lake.arrow("order_lines").num_rows == 0
