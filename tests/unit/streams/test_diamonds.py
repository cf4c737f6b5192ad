"""Which diamonds a table closes, and how that is said."""

from __future__ import annotations

import random

import pytest

from anabranch.streams.diamonds import diamonds_closed_by
from tests.unit.streams import oracle
from tests.unit.streams.drawing import graph, name, names, random_graph


def closed(drawing: str, table: str) -> list[tuple[str, str]]:
    found = diamonds_closed_by(graph(drawing), name(table))
    return [(str(each.shared), " ".join(map(str, each.branches))) for each in found]


def test_a_table_that_joins_two_branches_closes_a_diamond():
    drawn = graph("""
        sales > revenue_by_region revenue_by_product
        revenue_by_region > exec_summary
        revenue_by_product > exec_summary
    """)
    (diamond,) = diamonds_closed_by(drawn, name("exec_summary"))
    assert diamond.shared == name("sales")
    assert diamond.branches == names("revenue_by_product revenue_by_region")
    assert str(diamond) == '"sales" reaches it through "revenue_by_product" and "revenue_by_region"'
    assert diamonds_closed_by(drawn, name("revenue_by_region")) == ()


def test_a_table_that_is_read_directly_and_through_another_says_so():
    (diamond,) = diamonds_closed_by(graph("a > b d\nb > d"), name("d"))
    assert diamond.direct
    assert str(diamond) == '"a" reaches it directly and through "b"'


def test_three_branches_are_listed():
    (diamond,) = diamonds_closed_by(graph("s > a b c\na > d\nb > d\nc > d"), name("d"))
    assert str(diamond) == '"s" reaches it through "a", "b" and "c"'


def test_the_nearest_shared_table_is_named():
    assert closed("s > a\na > b c\nb > d\nc > d", "d") == [("a", "b c")]


def test_a_second_shared_table_is_named_with_its_own_branches():
    assert closed("s > a d\na > b c\nb > d\nc > d", "d") == [("a", "b c"), ("s", "b c s")]
    assert closed("s > a b\nt > b c\na > d\nb > d\nc > d", "d") == [("s", "a b"), ("t", "b c")]


def test_unrelated_inputs_and_tables_that_are_not_there_close_nothing():
    assert closed("s > a\nt > b\na > d\nb > d", "d") == []
    assert closed("s > a", "s") == []


@pytest.mark.parametrize("seed", range(300))
def test_what_is_named_is_a_diamond_and_every_one_is_covered(seed):
    chance = random.Random(seed)
    drawn = random_graph(chance, chance.randint(1, 11), chance.randint(1, 4), 2, chance.choice([3, 20]))
    every = oracle.diamonds(dict(drawn.inputs))
    for table in drawn.stream_tables:
        found = diamonds_closed_by(drawn, table)
        shared = {a for a, d in every if d == table}
        assert {each.shared for each in found} <= shared
        # Whoever isn't named feeds one who is.
        named = {each.shared for each in found}
        assert all(a in named or drawn.downstream(a) & named for a in shared)
        for each in found:
            for branch in each.branches:
                assert branch == each.shared or each.shared in drawn.upstream(branch)
                assert branch in drawn.inputs[table]
