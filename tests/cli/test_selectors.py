"""Selectors: which stream tables a call means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.cli.selectors import DependencyMap, Selector, select
from anabranch.errors import AnabranchError, InvalidSelector, NothingSelected, UnknownStreamTable

# sales -> daily -> monthly -> report, sales -> by_region -> report, visits -> traffic
TABLES = DependencyMap(
    {
        "daily": ("sales",),
        "by_region": ("sales",),
        "monthly": ("daily",),
        "report": ("monthly", "by_region"),
        "web.traffic": ("visits",),
    }
)


@pytest.mark.parametrize(
    ("selectors", "meant"),
    [
        ("monthly", "monthly"),
        ("+monthly", "daily monthly"),
        ("monthly+", "monthly report"),
        ("+monthly+", "daily monthly report"),
        ("daily+ web.traffic", "daily monthly report web.traffic"),
        ("*ly", "daily monthly"),
        ("+rep*", "daily by_region monthly report"),
        ("web.*", "web.traffic"),
        ("?aily", "daily"),
        ("[bd]*", "daily by_region"),
        ("*", "daily by_region monthly report web.traffic"),
        ("sales+", "daily by_region monthly report"),
        ("+sales+", "daily by_region monthly report"),
        ("visits+ monthly", "monthly web.traffic"),
        ("MONTHLY main.daily", "daily monthly"),
        ("report report +report", "daily by_region monthly report"),
    ],
)
def test_a_selection_comes_in_the_order_of_refreshes(selectors, meant):
    assert select(selectors.split(), TABLES) == meant.split()


def test_an_unknown_name_is_an_error_even_beside_known_ones():
    with pytest.raises(UnknownStreamTable, match='no stream table "yearly"'):
        select(["daily", "yearly"], TABLES)


def test_a_pattern_without_a_match_is_an_error():
    with pytest.raises(NothingSelected, match="selects no stream table"):
        select(["zz*"], TABLES)


@pytest.mark.parametrize("selector", ["sales", "+sales", "visits"])
def test_a_source_alone_selects_nothing_and_says_what_would(selector):
    with pytest.raises(NothingSelected) as raised:
        select([selector], TABLES)
    assert raised.value.hint == f"{selector.removeprefix('+')}+ selects what is made from it."


@pytest.mark.parametrize("text", ["", "+", "++", "a b", "a;b", "a+b", "é", "a\x1b[31m", "/etc", "a" * 301])
def test_what_is_no_selector_is_refused(text):
    with pytest.raises(InvalidSelector):
        Selector.parse(text)


@given(st.text(max_size=40))
def test_whatever_is_written_selects_or_is_refused(text):
    try:
        found = select([text], TABLES)
    except AnabranchError as error:
        found = [error.message]
    assert found
    assert all(each.isprintable() for each in found)


def test_a_cycle_is_walked_once():
    circle = DependencyMap({"a": ("b", "t"), "b": ("a",)})
    assert select(["+a"], circle) == select(["b+"], circle) == ["a", "b"]
