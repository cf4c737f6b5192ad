"""Recursive tables follow what they are made from, and hold nothing but what follows from it."""

from __future__ import annotations

import pytest

from anabranch.algebra.monotone import non_monotone_operator
from anabranch.algebra.plan import Distinct, Filter, Generate, Join, Project, Scan, UnionAll
from anabranch.algebra.scalar import Literal, Ref, equal
from anabranch.delta.recursion import RecursiveTable
from tests.recursion.draw import COLUMNS, Draw
from tests.recursion.memory import Diverges, Kept, least, zset
from tests.seeds import rotating_seeds

PROGRAMS, MORE_PROGRAMS, ROUNDS = 30, 150, 6


def live(seed: int) -> int:
    """How many rounds a program was followed through; none if it has no finite solution."""
    draw = Draw(seed)
    loops = draw.loops()
    assert not any(non_monotone_operator(loop.plan, draw.members) for loop in loops)
    database = draw.database()
    try:
        meant = least(loops, COLUMNS, database)
    except Diverges:
        return 0
    kept = Kept(loops, COLUMNS, database)
    assert kept.contents == meant, seed
    rounds = 0
    for after in draw.changes(database, ROUNDS):
        try:
            meant = least(loops, COLUMNS, after)
        except Diverges:
            break
        kept.change(after)
        assert kept.contents == meant, (seed, rounds)
        rounds += 1
    return rounds


def test_random_recursive_tables_follow_random_changes() -> None:
    rounds = [live(seed) for seed in rotating_seeds(PROGRAMS)]
    assert sum(map(bool, rounds)) > PROGRAMS // 3


@pytest.mark.slow
def test_more_random_recursive_tables_follow_random_changes() -> None:
    rounds = [live(seed) for seed in range(MORE_PROGRAMS)]
    assert sum(map(bool, rounds)) > MORE_PROGRAMS * 2 // 3


def test_lists_are_followed_element_by_element() -> None:
    """What is reached from 1, where every node lists those it leads to."""
    given, reached, listed = (("n", "a"), ("l", "b")), (("x", "a"), ("m", "b")), (("y", "a"), ("o", "b"))
    begin = Filter(Scan("e", given), equal(Ref("n"), Literal(1)))
    each = Generate(Scan("r", reached), "explode", Ref("m"), ("z",))
    step = Project(
        Join(each, Scan("e", listed), "inner", equal(Ref("z"), Ref("y"))), (("n", Ref("y")), ("l", Ref("o")))
    )
    loop = RecursiveTable("r", Distinct(UnionAll((begin, step))), ("a", "b"))
    columns = {"e": ("a", "b")}
    kept = Kept([loop], columns, {"e": zset((1, (2, 3)), (2, (4,)), (3, (4,)), (4, (2,)), (5, (1,)))})
    assert {row[0] for row in kept.contents["r"]} == {1, 2, 3, 4}
    kept.change({"e": zset((1, (3,)), (2, (4,)), (3, ()), (4, (2,)), (5, (1,)))})
    assert {row[0] for row in kept.contents["r"]} == {1, 3}


@pytest.mark.endless
@pytest.mark.timeout(7200)
def test_many_random_recursive_tables_follow_random_changes() -> None:
    for seed in range(1_000_000, 1_005_000):
        live(seed)
