"""Refresh units: the stream tables that a scheduler refreshes as one, upstream before downstream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import rustworkx as rx

from anabranch.names import TableName
from anabranch.streams.consistency_groups import ConsistencyGroup, always_atomic, find_groups
from anabranch.streams.graph import Graph, build_digraph, sort_key


@dataclass(frozen=True)
class RefreshUnit:
    """Stream tables, in order, that refresh and publish together.

    A group of nothing but atomic members is one unit. Any other group is as many units as it has
    members, and each still knows its `group`. So is a cycle, whatever group it is in. All other stream
    tables are units of one. `after` has the numbers of the units that it reads from, and these are smaller
    than its own.
    """

    number: int
    members: tuple[TableName, ...]
    group: ConsistencyGroup | None
    after: tuple[int, ...]

    @property
    def atomic(self) -> bool:
        """Whether several tables publish together or not at all."""
        return len(self.members) > 1


def build_refresh_units(
    graph: Graph,
    atomic: Callable[[TableName], bool] = always_atomic,
    declared: Iterable[Iterable[TableName]] = (),
) -> tuple[RefreshUnit, ...]:
    """All stream tables in units, `build_refresh_units(…)[n].number == n`; none reads from a later one.

    Of several that could be next, the one whose first member is first by name.
    """
    found = find_groups(graph, atomic, declared)
    group_of = {name: group for group in found for name in group.members}
    whole = {name: cycle for cycle in graph.cycles for name in cycle}
    whole |= {name: group.members for group in found if group.atomic for name in group.members}
    first = {name: whole.get(name, (name,))[0] for name in graph.order()}
    firsts = sorted(set(first.values()))
    places = {name: place for place, name in enumerate(firsts)}
    reads: dict[TableName, set[TableName]] = {name: set() for name in firsts}
    for name, head in first.items():
        reads[head].update(first[read] for read in graph.inputs[name] if read in first)
    edges = ((places[read], places[head]) for head in firsts for read in reads[head] if read != head)
    ordered = rx.lexicographical_topological_sort(build_digraph(firsts, edges), key=sort_key)
    numbers = {head: number for number, head in enumerate(ordered)}
    return tuple(
        RefreshUnit(
            number,
            whole.get(head, (head,)),
            group_of.get(head),
            tuple(sorted(numbers[read] for read in reads[head] if read != head)),
        )
        for head, number in numbers.items()
    )
