"""The work grows with the graph: counted, not timed."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from anabranch.names import TableName
from anabranch.streams.diamond_bindings import find_diamond_bindings
from anabranch.streams.graph import Graph
from tests.unit.streams.drawing import name, random_graph

TABLES = 10_000
STEPS_PER_TABLE_AND_ARROW = 3


def made(**reads: Iterable[str]) -> dict[TableName, frozenset[TableName]]:
    return {name(table): frozenset(map(name, read)) for table, read in reads.items()}


def chain(letter: str, length: int) -> dict[TableName, frozenset[TableName]]:
    return made(**{f"{letter}{i}": [f"{letter}{i - 1}" if i else "s"] for i in range(length)})


def a_chain() -> Graph:
    return Graph(chain("t", TABLES))


def a_ladder() -> Graph:
    """Diamonds one below the other."""
    steps = range(TABLES // 3)
    sides = made(**{f"{side}{i}": [f"d{i - 1}" if i else "s"] for side in "bc" for i in steps})
    return Graph(sides | made(**{f"d{i}": [f"b{i}", f"c{i}"] for i in steps}))


def a_nest() -> Graph:
    """Diamonds one inside the other."""
    depth = TABLES // 2
    up = made(**{f"r{i}": [f"r{i + 1}" if i < depth - 1 else f"l{i}", f"l{i - 1}"] for i in range(1, depth)})
    return Graph(chain("l", depth) | up)


def two_chains_that_many_read() -> Graph:
    third = TABLES // 3
    ends = made(**{f"d{i}": [f"l{third - 1}", f"r{third - 1}"] for i in range(third)})
    return Graph(chain("l", third) | chain("r", third) | ends)


def two_chains_that_many_cross() -> Graph:
    third = TABLES // 3
    across = made(**{f"d{i}": [f"l{i}", f"r{third - 1 - i}"] for i in range(third)})
    return Graph(chain("l", third) | chain("r", third) | across)


def a_fan() -> Graph:
    """Many tables, of a source each, and one that reads them all."""
    count = TABLES - 1
    return Graph(
        made(**{f"t{i}": [f"s{i}"] for i in range(count)}) | made(last=[f"t{i}" for i in range(count)])
    )


def layers() -> Graph:
    """Every table reads the whole layer before it."""
    width = 40
    return Graph(
        made(
            **{
                f"t{i}x{j}": [f"t{i - 1}x{k}" if i else f"s{k}" for k in range(width)]
                for i in range(TABLES // width // 5)
                for j in range(width)
            }
        )
    )


def at_random_nearby() -> Graph:
    return random_graph(random.Random(7), TABLES, TABLES // 10, 2, 50)


def at_random_far_apart() -> Graph:
    return random_graph(random.Random(7), TABLES, TABLES // 10, 2, TABLES * 2)


@pytest.mark.parametrize(
    "shape",
    [
        a_chain,
        a_ladder,
        a_nest,
        two_chains_that_many_read,
        two_chains_that_many_cross,
        a_fan,
        layers,
        at_random_nearby,
        at_random_far_apart,
    ],
    ids=lambda shape: shape.__name__.replace("_", " "),
)
def test_every_table_and_arrow_is_looked_at_a_few_times(shape):
    drawn = shape()
    size = len(drawn.inputs) + sum(map(len, drawn.inputs.values()))
    assert find_diamond_bindings(drawn).steps <= STEPS_PER_TABLE_AND_ARROW * size
