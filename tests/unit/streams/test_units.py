"""What runs as one, and after what."""

from __future__ import annotations

import random

import pytest

from anabranch.streams.refresh_units import build_refresh_units
from tests.unit.streams.drawing import graph, name, names, random_graph

DRAWN = graph("""
    s > clean other
    clean > b c
    b > d
    c > d
    d > last
""")


def test_an_atomic_group_is_one_unit_and_all_others_are_units_of_one():
    found = build_refresh_units(DRAWN)
    assert [unit.members for unit in found] == [names("clean"), names("b c d"), names("last"), names("other")]
    assert [unit.atomic for unit in found] == [False, True, False, False]
    assert [unit.group is not None for unit in found] == [False, True, False, False]


def test_a_unit_knows_the_units_that_it_reads_from():
    assert [unit.after for unit in build_refresh_units(DRAWN)] == [(), (0,), (1,), ()]


def test_a_group_with_a_member_that_is_not_atomic_is_refreshed_table_by_table():
    found = build_refresh_units(DRAWN, atomic=lambda table: table != name("c"))
    assert [unit.members for unit in found] == [
        names(each) for each in ("clean", "b", "c", "d", "last", "other")
    ]
    assert not any(unit.atomic for unit in found)
    assert [unit.group and unit.group.members for unit in found[1:4]] == [names("b c d")] * 3
    assert found[3].after == (1, 2)


def test_a_unit_comes_after_what_any_of_its_members_reads():
    found = build_refresh_units(graph("a > b c\nb > d\nc > d\nz > zz\nzz > b"))
    assert [unit.members for unit in found] == [names("zz"), names("c b d")]


def test_there_may_be_nothing_to_run():
    assert build_refresh_units(graph("")) == ()


@pytest.mark.parametrize("seed", range(100))
def test_no_unit_reads_from_a_later_one_whoever_is_atomic(seed):
    chance = random.Random(seed)
    drawn = random_graph(chance, chance.randint(1, 40), chance.randint(1, 8), 1.5, chance.choice([4, 99]))
    apart = {table for table in sorted(drawn.stream_tables) if chance.random() < 0.05}
    found = build_refresh_units(drawn, atomic=lambda table: table not in apart)
    number = {table: unit.number for unit in found for table in unit.members}
    assert number.keys() == drawn.stream_tables
    assert [unit.number for unit in found] == list(range(len(found)))
    for unit in found:
        reads = {number[read] for table in unit.members for read in drawn.inputs[table] if read in number}
        assert set(unit.after) == reads - {unit.number}
        assert all(before < unit.number for before in unit.after)
        assert not unit.atomic or not apart & set(unit.members)
