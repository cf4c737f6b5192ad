"""The first page that people try does what it says, and prints what it says."""

from __future__ import annotations

import warnings

import pytest

import anabranch as ab
from tests.docs.pages import run_page
from tests.engines.lakes import duck_lake


def check(expected_notices: int) -> None:
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always", ab.Notice)
        _, said = run_page("getting-started.md")
    assert len(said) == 7
    for printed, promised in said:
        assert printed == promised
    told = [str(notice.message) for notice in notices if notice.category is ab.Notice]
    assert len([text for text in told if "sales" in text]) == expected_notices


def test_every_step_does_what_it_says(place, monkeypatch):
    monkeypatch.setattr(ab, "connect", lambda _, **settings: duck_lake(place, **settings))
    check(expected_notices=1)


@pytest.mark.spark
def test_on_spark_every_step_does_what_it_says(place, spark, monkeypatch):
    connect = ab.connect
    monkeypatch.setattr(ab, "connect", lambda _, **settings: connect(place, spark=spark, **settings))
    check(expected_notices=1)
