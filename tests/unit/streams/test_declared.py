"""Stream tables that are declared to move together, whatever they read."""

from __future__ import annotations

import random

import pytest

from anabranch.names import TableName
from anabranch.streams.consistency_groups import find_groups, tables_between
from anabranch.streams.graph import Graph
from anabranch.streams.refresh_units import build_refresh_units
from tests.unit.streams.drawing import graph, name, names, random_graph

APART = "a > b\nz > c"
"""b and c share nothing."""


def members(drawing: str, *declared: str, free: str = "") -> list[tuple[str, bool]]:
    loose = frozenset(names(free))
    found = find_groups(graph(drawing), lambda table: table not in loose, [names(each) for each in declared])
    return [(" ".join(map(str, group.members)), group.atomic) for group in found]


def test_what_shares_nothing_is_a_group_if_it_is_declared():
    assert members(APART) == []
    assert members(APART, "b c") == [("b c", True)]


def test_what_lies_between_members_is_implied():
    chain = "a > b\nb > m\nm > c\nc > e"
    assert tables_between(graph(chain), names("b c")) == {name("m")}
    assert members(chain, "b c") == [("b m c", True)]


def test_a_declared_group_merges_with_the_diamonds_it_overlaps():
    assert members("a > b c\nb > d\nc > d\nz > e", "c e") == [("b c d e", True)]


def test_a_declared_group_moves_together_even_if_its_members_say_none():
    assert members(APART, "b c", free="b") == [("b c", True)]


def test_a_diamond_that_is_set_free_does_not_set_free_what_was_declared():
    found = members("a > b c\nb > d\nc > d\nz > e", "c e", free="b")
    assert ("c e", True) in found
    assert all(not atomic for group, atomic in found if group != "c e")


def test_two_declared_groups_that_need_each_other_are_one():
    crossed = "a > p s\np > r\ns > q"
    assert members(crossed, "p q", "r s") == [("p r s q", True)]


@pytest.mark.parametrize("seed", range(200))
def test_whatever_is_declared_there_is_an_order(seed: int):
    chance = random.Random(seed)
    drawn: Graph = random_graph(chance, chance.randint(3, 14), 3, 1.7, 6)
    tables = sorted(drawn.stream_tables)
    chance.shuffle(tables)
    declared = [tables[:2], tables[2:4]] if len(tables) >= 4 else [tables[:2]]
    loose = frozenset(chance.sample(tables, chance.randint(0, 2)))
    found = build_refresh_units(drawn, lambda table: table not in loose, declared)
    done: set[TableName] = set()
    for unit in found:
        done.update(unit.members)
        for member in unit.members:
            assert drawn.inputs[member] & drawn.stream_tables <= done
    assert done == drawn.stream_tables
    for together in declared:
        (unit,) = [unit for unit in found if not set(unit.members).isdisjoint(together)]
        assert set(together) | tables_between(drawn, together) <= set(unit.members)
