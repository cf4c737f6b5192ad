"""Recursive tables follow what they are made from, and hold nothing but what follows from it."""

from __future__ import annotations

import pytest

from anabranch.algebra.monotone import not_monotone
from tests.recursion.draw import COLUMNS, Draw
from tests.recursion.memory import Diverges, Kept, least

PROGRAMS, ROUNDS = 150, 6


def live(seed: int) -> int:
    """How many rounds a program was followed through; none if it has no finite solution."""
    draw = Draw(seed)
    loops = draw.loops()
    assert not any(not_monotone(loop.plan, draw.members) for loop in loops)
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
    rounds = [live(seed) for seed in range(PROGRAMS)]
    assert sum(map(bool, rounds)) > PROGRAMS * 2 // 3


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_many_random_recursive_tables_follow_random_changes() -> None:
    for seed in range(1_000_000, 1_005_000):
        live(seed)
