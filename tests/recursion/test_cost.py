"""What a refresh of recursive tables costs, in rows and in statements: what is new, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

import anabranch as ab
from tests.engines.duck import DuckEngine
from tests.engines.lakes import duck_lake
from tests.recursion.graphs import COLUMNS, MUTUAL, NON_LINEAR, Edges, Program
from tests.recursion.memory import Kept
from tests.streams.shop import actions

pytestmark = pytest.mark.filterwarnings("ignore::anabranch.Notice")

LINEAR = {"mutual": MUTUAL, "non_linear": NON_LINEAR}


def chain(nodes: int) -> Edges:
    """A path through so many nodes; its closure has nodes · (nodes - 1) / 2 pairs."""
    return Counter((node, node + 1) for node in range(nodes - 1))


def arrivals(count: int, nodes: int) -> Edges:
    """So many new nodes, each with an edge to the last one of a chain: as many new pairs."""
    return Counter((1_000 + number, nodes - 1) for number in range(count))


def computed(program: Program, before: Edges, after: Edges) -> int:
    """How many rows were computed on the way from one graph to the next, by all statements together."""
    kept = Kept(program.loops(), {"edges": ("a", "b")}, {"edges": dict(before)})
    kept.change({"edges": dict(after)})
    assert kept.contents == program.meaning(after)
    return kept.machine.computed


@pytest.mark.parametrize("program", LINEAR.values(), ids=LINEAR)
def test_new_edges_cost_as_many_rows_on_a_graph_of_twice_the_size(program):
    small, large = (computed(program, chain(n), chain(n) + arrivals(5, n)) for n in (10, 20))
    assert small == large


@pytest.mark.parametrize("program", LINEAR.values(), ids=LINEAR)
def test_edges_that_go_again_cost_as_many_rows_on_a_graph_of_twice_the_size(program):
    small, large = (computed(program, chain(n) + arrivals(5, n), chain(n)) for n in (10, 20))
    assert small == large


@pytest.mark.parametrize("program", LINEAR.values(), ids=LINEAR)
def test_twice_as_many_new_edges_cost_twice_as_many_rows(program):
    few, many = (computed(program, chain(15), chain(15) + arrivals(k, 15)) for k in (4, 8))
    assert many == 2 * few


@pytest.mark.parametrize(("program", "each"), [(MUTUAL, 6), (NON_LINEAR, 4)], ids=LINEAR)
def test_a_chain_that_grows_costs_its_new_pairs_and_not_its_closure(program, each):
    """One more edge at the end: a new pair for every node, each computed a few times."""
    for nodes in (10, 20):
        new_pairs = nodes * len(program.queries)
        assert computed(program, chain(nodes), chain(nodes + 1)) <= each * new_pairs


# -- nothing to do --------------------------------------------------------------------------------


@pytest.fixture
def reached(place, clock) -> Iterator[ab.Lake]:
    """A cycle of two tables, up to date."""
    with duck_lake(place, clock=clock, allow_circular="true") as lake:
        lake.create_table("edges", COLUMNS)
        lake.create_table("other", COLUMNS)
        lake.insert("edges", [(1, 2), (2, 3), (3, 1)])
        lake.create_stream_tables(
            [{"name": name, "query": query, "schedule": "1m"} for name, query in MUTUAL.queries.items()]
        )
        yield lake


def forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the engine must not be asked anything."""

    def forbid(name: str):
        return lambda *_, **__: pytest.fail(f"the engine was asked: {name}")

    for name, value in vars(DuckEngine).items():
        if callable(value) and not name.startswith("_"):
            monkeypatch.setattr(DuckEngine, name, forbid(name))


def test_without_a_change_there_is_no_iteration_and_no_statement(reached, clock, monkeypatch):
    reached.insert("other", [(1, 1)])
    before = reached.lsn
    forbidden(monkeypatch)
    for _ in range(3):
        clock.advance(60)
        report = reached.tick()
        assert (sorted(report.unchanged), report.refreshed, report.failed) == (["reach", "steps"], (), ())
    assert reached.lsn == before
    assert actions(reached, "reach")[1:] == [("reach", "NO_DATA", "SUCCEEDED")]
    assert reached.refresh_history("reach")[0].fixpoint_iteration is None


def test_an_edge_that_is_there_already_is_looked_at_and_never_iterated(reached, clock):
    reached.insert("edges", [(1, 2)])
    clock.advance(60)
    assert sorted(reached.tick().refreshed) == ["reach", "steps"]
    newest = reached.refresh_history("reach")[0]
    assert (newest.rows_inserted, newest.rows_deleted, newest.fixpoint_iteration) == (0, 0, 0)
