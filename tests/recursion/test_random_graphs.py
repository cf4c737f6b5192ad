"""Whatever edges come and go, what is stored is what can be reached: no more, and no less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.engines.lakes import duck_lake
from tests.recursion.graphs import COLUMNS, IN_A_QUERY, PROGRAMS, Edges, Program, graphs
from tests.recursion.memory import Kept
from tests.recursion.on_duckdb import KeptOnDuckDB
from tests.streams.shop import rows

ROUNDS = 10
MANY = 200
ON_LAKES = {**PROGRAMS, "in_a_query": IN_A_QUERY}

pytestmark = [pytest.mark.filterwarnings("ignore::anabranch.Notice"), pytest.mark.rotating(4)]


def kept_in_memory(program: Program, edges: Edges) -> Kept:
    return Kept(program.loops(), {"edges": ("a", "b")}, {"edges": dict(edges)})


def kept_on_duckdb(program: Program, edges: Edges) -> KeptOnDuckDB:
    return KeptOnDuckDB(program.loops(), {"edges": dict(edges)})


def follow(keep: Callable[[Program, Edges], Any], program: Program, seed: int) -> None:
    """One graph through its rounds, looked at after each."""
    history = graphs(seed, ROUNDS)
    edges = next(history)
    kept = keep(program, edges)
    assert kept.contents == program.meaning(edges), seed
    for number, edges in enumerate(history):
        kept.change({"edges": dict(edges)})
        assert kept.contents == program.meaning(edges), (seed, number, edges)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_in_memory_what_is_kept_is_what_can_be_reached(program):
    for seed in range(8):
        follow(kept_in_memory, program, seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_in_memory_in_many_graphs_what_is_kept_is_what_can_be_reached(program):
    for seed in range(MANY):
        follow(kept_in_memory, program, seed)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_on_duckdb_what_is_kept_is_what_can_be_reached(program):
    for seed in range(4):
        follow(kept_on_duckdb, program, seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_on_duckdb_in_many_graphs_what_is_kept_is_what_can_be_reached():
    for seed in range(MANY):
        follow(kept_on_duckdb, list(PROGRAMS.values())[seed % len(PROGRAMS)], seed)


# -- through a lake -------------------------------------------------------------------------------


def rewrite(lake: ab.Lake, before: Edges, after: Edges) -> None:
    """From one graph to the next in one commit."""
    with lake.transaction() as tx:
        for a, b in before:
            if before[a, b] > after[a, b]:
                tx.delete("edges", where=f"a = {a} AND b = {b}")
        came = [
            pair
            for pair, copies in after.items()
            for _ in range(copies - (before[pair] if copies >= before[pair] else 0))
        ]
        if came:
            tx.insert("edges", came)


def follow_on_a_lake(
    lake: ab.Lake, clock: ab.ManualClock, program: Program, seed: int, rounds: int = ROUNDS
) -> None:
    """The same with storage, a schedule and ticks."""
    history = graphs(seed, rounds)
    before = next(history)
    lake.create_table("edges", COLUMNS)
    lake.insert("edges", list(before.elements()))
    lake.create_stream_tables(
        [{"name": name, "query": query, "schedule": "1m"} for name, query in program.queries.items()]
    )
    look(lake, program, before, (seed, "at first"))
    for number, after in enumerate(history):
        rewrite(lake, before, after)
        clock.advance(60)
        report = lake.tick()
        assert (report.failed, report.held) == ((), ())
        look(lake, program, after, (seed, number))
        before = after
    assert all(lake.verify(name).ok for name in program.queries)


def look(lake: ab.Lake, program: Program, edges: Edges, where: object) -> None:
    meant = program.meaning(edges)
    assert {name: rows(lake, name) for name in meant} == meant, (where, edges)


@pytest.mark.parametrize("driver_rows", [0, 50_000])
@pytest.mark.parametrize(("seed", "program"), list(enumerate(ON_LAKES.values())), ids=ON_LAKES)
def test_on_a_lake_what_is_stored_is_what_can_be_reached(place, clock, program, seed, driver_rows):
    with duck_lake(place, clock=clock, allow_circular="true", driver_rows=driver_rows) as lake:
        follow_on_a_lake(lake, clock, program, seed)


@pytest.fixture
def spark_graphs(place: Path, spark: Any, clock: ab.ManualClock) -> Iterator[ab.Lake]:
    with ab.connect(place, spark=spark, clock=clock, allow_circular="true") as lake:
        yield lake


@pytest.mark.parametrize("driver_rows", [0, 50_000])
def test_on_spark_what_is_stored_is_what_can_be_reached(spark_graphs, clock, driver_rows):
    spark_graphs.set("driver_rows", driver_rows)
    follow_on_a_lake(spark_graphs, clock, PROGRAMS["mutual"], seed=0, rounds=1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10))
def test_on_spark_in_many_graphs_what_is_stored_is_what_can_be_reached(spark_graphs, clock, seed):
    program = list(ON_LAKES.values())[seed % len(ON_LAKES)]
    follow_on_a_lake(spark_graphs, clock, program, seed)
