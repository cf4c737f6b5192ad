"""Which stream tables refresh and publish together."""

from __future__ import annotations

import random

import pytest

from anabranch.streams.consistency_groups import find_groups
from anabranch.streams.diamond_bindings import find_diamond_bindings
from anabranch.streams.graph import Graph
from tests.unit.streams import oracle
from tests.unit.streams.drawing import graph, name, names, random_graph


def members(drawing: str) -> list[str]:
    return [" ".join(map(str, group.members)) for group in find_groups(graph(drawing))]


SIMPLE = "a > b c\nb > d\nc > d"


def test_two_branches_and_their_meeting_point_are_a_group():
    (group,) = find_groups(graph(SIMPLE))
    assert group.members == names("b c d")
    assert group.convergence == names("d")
    assert group.shared_sources == {name("d"): names("a")}


def test_a_longer_branch_is_a_member_all_along():
    assert members("a > b c\nb > e\ne > d\nc > d") == ["b c e d"]


def test_a_chain_is_no_group():
    assert members("a > b\nb > c\nc > d") == []


def test_branches_that_never_meet_are_no_group():
    assert members("a > b c\nb > d\nc > e") == []


def test_unrelated_roots_are_no_group():
    assert members("a > b\nz > c\nb > d\nc > d") == []


def test_directly_and_through_a_branch_is_a_diamond():
    (group,) = find_groups(graph("a > b d\nb > d"))
    assert group.members == names("b d")
    assert group.shared_sources == {name("d"): names("a")}


def test_diamonds_that_share_a_branch_are_one_group():
    (group,) = find_groups(graph("a > b c e\nb > d\nc > d f\ne > f"))
    assert group.members == names("b c d e f")
    assert group.convergence == names("d f")


def test_nested_diamonds_are_one_group_with_two_convergence_points():
    (group,) = find_groups(graph(SIMPLE + "\na > x\nd > y\nx > y"))
    assert group.members == names("b c d x y")
    assert group.convergence == names("d y")
    assert group.shared_sources == {name("d"): names("a"), name("y"): names("a")}


def test_independent_diamonds_over_one_source_stay_two():
    two = "s > b1 c1 b2 c2\nb1 > d1\nc1 > d1\nb2 > d2\nc2 > d2"
    assert members(two) == ["b1 c1 d1", "b2 c2 d2"]
    assert members(two + "\nother > b1 b2") == ["b1 c1 d1", "b2 c2 d2"]


def test_diamonds_one_after_the_other_stay_two():
    assert members(SIMPLE + "\nd > e f\ne > g\nf > g") == ["b c d", "e f g"]


def test_what_reads_a_convergence_point_is_no_member():
    assert members(SIMPLE + "\nd > e") == ["b c d"]


def test_a_stream_table_that_is_shared_is_no_member():
    (group,) = find_groups(graph("s > a\n" + SIMPLE))
    assert group.members == names("b c d")
    assert group.shared_sources == {name("d"): names("a")}


def test_a_shared_stream_table_is_a_member_if_it_is_bypassed():
    (group,) = find_groups(graph("s > a d\n" + SIMPLE))
    assert group.members == names("a b c d")
    assert group.shared_sources == {name("d"): names("a s")}


def test_what_feeds_a_member_from_elsewhere_is_none():
    assert members("z > side\nside > b\n" + SIMPLE) == ["c b d"]


ENTANGLED = """
    a > p q
    b > r s
    p > r d
    q > d
    s > q e
    r > e
"""


def test_groups_that_wait_for_each_other_are_one():
    """{p, q, d} needs s, and {r, s, e} needs p: neither could publish first."""
    assert {frozenset(map(str, bound)) for bound in find_diamond_bindings(graph(ENTANGLED)).bound} == {
        frozenset("pqd"),
        frozenset("rse"),
    }
    (group,) = find_groups(graph(ENTANGLED))
    assert group.members == names("p r s e q d")
    assert group.convergence == names("e d")


def test_groups_that_wait_for_each_other_stay_two_if_one_is_not_atomic():
    found = find_groups(graph(ENTANGLED), atomic=lambda table: table != name("e"))
    assert [group.members for group in found] == [names("p q d"), names("r s e")]


def test_what_lies_between_groups_that_wait_for_each_other_joins_them():
    between = ENTANGLED.replace("p > r d", "p > m d") + "m > r"
    (group,) = find_groups(graph(between))
    assert group.members == names("p m r s e q d")


def check(drawn: Graph) -> None:
    """Groups are those of the definition, closed under paths, in order."""
    found = find_groups(drawn)
    assert {frozenset(group.members) for group in found} == oracle.groups(dict(drawn.inputs))
    closing = {d for _, d in oracle.diamonds(dict(drawn.inputs))}
    order = drawn.order()
    for group in found:
        inside = set(group.members)
        assert list(group.members) == sorted(inside, key=order.index)
        assert set(group.convergence) == inside & closing
        for table in drawn.stream_tables - inside:
            assert not (drawn.upstream(table) & inside and drawn.downstream(table) & inside)
    assert closing <= {table for group in found for table in group.members}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("tables", "sources", "reads", "near"),
    [(12, 1, 1.5, 3), (12, 3, 1.5, 3), (12, 4, 1.5, 99), (9, 2, 3, 99), (9, 5, 3, 99), (14, 6, 1, 99)],
    ids=["deep", "deep of several", "wide", "dense", "dense of many", "sparse"],
)
def test_random_graphs_have_the_groups_of_the_definition(seed, tables, sources, reads, near):
    chance = random.Random(seed)
    for _ in range(10):
        check(random_graph(chance, chance.randint(1, tables), chance.randint(1, sources), reads, near))


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_near_entangled_ones_have_the_groups_of_the_definition(seed):
    chance = random.Random(seed)
    for _ in range(25):
        inputs = {table: set(read) for table, read in graph(ENTANGLED).inputs.items()}
        for place in range(chance.randint(0, 4)):
            new = name(f"z{place}")
            pool = sorted(set(inputs).union(*inputs.values()))
            inputs[new] = set(chance.sample(pool, chance.randint(1, 2)))
            above = Graph({table: frozenset(read) for table, read in inputs.items()}).upstream(new)
            reader = chance.choice(sorted(inputs.keys() - above))
            if reader != new:
                inputs[reader].add(new)
        check(Graph({table: frozenset(read) for table, read in inputs.items()}))
