"""Random directed graphs, how they change, and what can be reached in them, without any of our code."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from anabranch.delta.recursion import RecursiveTable
from anabranch.names import TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import lower

Pair = tuple[int, int]
Edges = Counter[Pair]
Contents = dict[str, Counter[Pair]]

COLUMNS = "a BIGINT, b BIGINT"


@dataclass(frozen=True)
class Program:
    """Tables that are made from each other over `edges`, and what they mean."""

    queries: Mapping[str, str]
    meaning: Callable[[Edges], Contents]

    def loops(self) -> list[RecursiveTable]:
        """The same as plans."""
        schemas = {TableName.parse(name): parse_schema(COLUMNS) for name in ("edges", *self.queries)}
        lowered = {name: lower(text, schemas) for name, text in self.queries.items()}
        return [RecursiveTable(name, each.plan, each.columns) for name, each in lowered.items()]


# -- what is meant --------------------------------------------------------------------------------


def closure(edges: Edges) -> set[Pair]:
    """All pairs with a path of one edge or more from one to the other, node by node and breadth first."""
    after: dict[int, set[int]] = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)
    found: set[Pair] = set()
    for start, nearest in after.items():
        reached: set[int] = set()
        front = set(nearest)
        while front:
            reached |= front
            front = {far for near in front for far in after.get(near, ())} - reached
        found |= {(start, end) for end in reached}
    return found


def in_both(edges: Edges) -> Contents:
    """Two tables that hold the closure."""
    return {name: Counter(closure(edges)) for name in ("reach", "steps")}


def in_one(edges: Edges) -> Contents:
    """One that does."""
    return {"reach": Counter(closure(edges))}


def odd_and_even(edges: Edges) -> Contents:
    """Where an even number of edges leads; and an odd number, once for each last edge after others."""
    doubled: Edges = Counter()
    for a, b in edges:
        doubled[2 * a, 2 * b + 1] = doubled[2 * a + 1, 2 * b] = 1
    found = closure(doubled)
    even = {(a // 2, b // 2) for a, b in found if a % 2 == b % 2 == 0}
    odd = Counter(edges.keys())
    for a, b in even:
        for (start, c), copies in edges.items():
            if start == b:
                odd[a, c] += copies
    return {"even": Counter(even), "odd": odd}


def from_zero(edges: Edges) -> Contents:
    """The edges that can be walked from node 0, and the same the other way round."""
    ends = {0} | {b for a, b in closure(edges) if a == 0}
    walked = {(a, b) for a, b in edges if a in ends}
    return {"pairs": Counter(walked), "nodes": Counter((b, a) for a, b in walked)}


# -- programs -------------------------------------------------------------------------------------

MUTUAL = Program(
    {
        "reach": "SELECT a, b FROM edges UNION SELECT e.a, s.b FROM edges e JOIN steps s ON e.b = s.a",
        "steps": "SELECT a, b FROM edges UNION SELECT r.a, e.b FROM reach r JOIN edges e ON r.b = e.a",
    },
    in_both,
)
NON_LINEAR = Program(
    {"reach": "SELECT a, b FROM edges UNION SELECT x.a, y.b FROM reach x JOIN reach y ON x.b = y.a"}, in_one
)
COUNTED = Program(
    {
        "even": "SELECT DISTINCT e.a, o.b FROM edges e JOIN odd o ON e.b = o.a",
        "odd": "SELECT DISTINCT a, b FROM edges "
        "UNION ALL SELECT x.a, e.b FROM even x JOIN edges e ON x.b = e.a",
    },
    odd_and_even,
)
"""One of the two holds a row as often as it is derived."""
IN_A_QUERY = Program(
    {
        "reach": "WITH RECURSIVE r(a, b) AS "
        "(SELECT a, b FROM edges UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a) SELECT a, b FROM r"
    },
    in_one,
)
"""The recursion is the query's own."""
SWAPPED = Program(
    {
        "nodes": "SELECT DISTINCT p.b AS a, p.a AS b FROM pairs p",
        "pairs": "SELECT a, b FROM edges WHERE a = 0 "
        "UNION SELECT e.a, e.b FROM edges e JOIN nodes n ON e.a = n.a",
    },
    from_zero,
)
"""One of the two reads a column of the other alone, which has them in another order."""

PROGRAMS = {"mutual": MUTUAL, "non_linear": NON_LINEAR, "counted": COUNTED, "swapped": SWAPPED}


# -- graphs and how they change -------------------------------------------------------------------


def graphs(seed: int, rounds: int) -> Iterator[Edges]:
    """A graph, then the same after each of so many rounds of inserts and deletes."""
    chance = random.Random(seed)
    nodes = chance.randint(6, 9)

    def edge() -> Pair:
        return chance.randrange(nodes), chance.randrange(nodes)

    edges: Edges = Counter(edge() for _ in range(chance.randint(5, 14)))
    yield +edges
    for _ in range(rounds):
        kind = chance.choices(["insert", "delete", "both", "turn", "empty"], [4, 4, 6, 2, 1])[0]
        there = sorted(edges)
        if kind in ("delete", "both"):
            for gone in chance.sample(there, min(len(there), chance.choice([1, 1, 2, 3]))):
                edges[gone] -= chance.choice([1, edges[gone]])
        if kind in ("insert", "both"):
            edges.update(edge() for _ in range(chance.choice([1, 1, 2, 3])))
        if kind == "turn" and there:  # as many come as go
            a, b = chance.choice(there)
            edges[b, a] += edges.pop((a, b))
        if kind == "empty":
            edges = Counter([edge()]) if chance.random() < 0.5 else Counter()
        edges = +edges
        yield +edges
