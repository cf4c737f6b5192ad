"""Random queries × random changes on DuckDB: what is rendered means what the reference says."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from anabranch.algebra.evaluate import Tables, ZSet, evaluate, plus
from anabranch.algebra.plan import Plan
from anabranch.delta import differentiate
from anabranch.delta.simplify import simplify
from tests.equivalence.check import Kept, changed_tables, kept_ways, varied
from tests.equivalence.draw import Draw
from tests.equivalence.duck import Duck, connect
from tests.seeds import rotating_seeds

QUERIES = 20
MORE_QUERIES = 200
MANY_QUERIES = 5_000


def check(seed: int, connection: DuckDBPyConnection, rounds: int = 10) -> None:
    """The rules in one round, what is stored and maintained in steps in the next, in turns."""
    draw = Draw(seed)
    database = draw.database()
    plan = draw.query(database, 3)
    change = differentiate(plan)
    smaller: dict[frozenset[str], Plan] = {}
    ways = kept_ways(varied(plan, seed))
    duck = Duck(database, connection)
    before = draw.contents(database)
    for number in range(rounds):
        after = draw.changed(database, before)
        tables = Tables(database.columns, before, after)
        duck.whole_changes = number % 4 in (1, 2)
        ways_to_find = ("by scans", "by look-ups") if duck.whole_changes else ("by rules",)
        duck.load(before, after)
        if number % 2 == 0:
            changed = changed_tables(tables)
            if changed not in smaller:
                smaller[changed] = simplify(change, changed=changed)
            old, new = duck.store("result", plan, plan.names)
            assert new == evaluate(plan, tables), seed
            assert plus(old, duck.evaluate(smaller[changed])) == new, seed
        else:
            for way in ways:
                for found in ways_to_find:
                    check_kept(seed, duck, way, changed_tables(tables), found)
        before = after


def check_kept(seed: int, duck: Duck, way: list[Kept], changed: frozenset[str], found: str) -> None:
    for kept in way:
        old, new = duck.store(kept.piece.table, kept.root.stored, kept.root.columns)
        _, steps = kept.smaller(changed, found)
        assert plus(old, duck.run(steps)) == new, (seed, kept.piece.table)
        if dict(old) != dict(new):
            changed |= {kept.piece.table}
    shown: ZSet = duck.evaluate(way[-1].piece.plan)
    width = len(way[-1].piece.columns)
    assert plus(*({row[:width]: weight} for row, weight in new.items())) == shown, seed


def test_random_queries_change_exactly_as_their_results_do() -> None:
    connection = connect()
    for seed in rotating_seeds(QUERIES):
        check(seed, connection)


@pytest.mark.slow
def test_two_hundred_random_queries_change_exactly_as_their_results_do() -> None:
    connection = connect()
    for seed in range(MORE_QUERIES):
        check(seed, connection)


@pytest.mark.endless
@pytest.mark.timeout(7200)
def test_five_thousand_random_queries_change_exactly_as_their_results_do() -> None:
    connection = connect()
    for seed in range(1_000_000, 1_000_000 + MANY_QUERIES):
        check(seed, connection)
