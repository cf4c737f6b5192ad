"""Graphs as they are drawn: `a > b c` says that b and c read a."""

from __future__ import annotations

import random

from anabranch.names import TableName
from anabranch.streams.graph import Graph


def name(text: str) -> TableName:
    return TableName.parse(text)


def names(text: str) -> tuple[TableName, ...]:
    return tuple(name(word) for word in text.split())


def graph(drawing: str) -> Graph:
    """Lines `a > b c`; what nothing points to is a source."""
    inputs: dict[TableName, set[TableName]] = {}
    for line in filter(None, map(str.strip, drawing.splitlines())):
        read, readers = line.split(">")
        for reader in names(readers):
            inputs.setdefault(reader, set()).add(name(read.strip()))
    return Graph({reader: frozenset(read) for reader, read in inputs.items()})


def random_graph(chance: random.Random, tables: int, sources: int, reads: float, near: int) -> Graph:
    """Tables that read about `reads` of the `near` tables before them, or of the sources."""
    known = [name(f"s{place}") for place in range(sources)]
    inputs = {}
    for place in range(tables):
        pool = known[-near:] if chance.random() < 0.8 else known[:sources]
        count = min(len(pool), max(1, round(chance.expovariate(1 / reads))))
        inputs[name(f"t{place}")] = frozenset(chance.sample(pool, count))
        known.append(name(f"t{place}"))
    return Graph(inputs)
