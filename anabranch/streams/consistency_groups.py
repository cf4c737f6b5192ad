"""Groups: the stream tables that refresh and publish together, because of diamonds or by declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import rustworkx as rx

from anabranch.names import TableName
from anabranch.streams.cycles import condense_cycles
from anabranch.streams.diamond_bindings import find_diamond_bindings
from anabranch.streams.diamonds import diamonds_closed_by
from anabranch.streams.graph import Graph, build_digraph
from anabranch.streams.union_find import UnionFind


@dataclass(frozen=True)
class ConsistencyGroup:
    """Two or more stream tables, in order, and those of them at which diamonds close."""

    members: tuple[TableName, ...]
    convergence: tuple[TableName, ...]
    atomic: bool
    """Whether they publish together; else each refreshes on its own."""
    graph: Graph = field(repr=False, compare=False)

    @cached_property
    def shared_sources(self) -> Mapping[TableName, tuple[TableName, ...]]:
        """For each convergence point, the nearest tables from which data flows apart and meets there."""
        return {
            name: tuple(diamond.shared for diamond in diamonds_closed_by(self.graph, name))
            for name in self.convergence
        }


def always_atomic(_: TableName) -> bool:
    """Every stream table is atomic: the default."""
    return True


def tables_between(graph: Graph, declared: Iterable[TableName]) -> frozenset[TableName]:
    """The stream tables on paths between declared members, which have to move with them."""
    members = frozenset(declared)
    above = frozenset(name for member in members for name in graph.upstream(member))
    below = frozenset(name for member in members for name in graph.downstream(member))
    return (above & below & graph.stream_tables) - members


def find_groups(
    graph: Graph,
    atomic: Callable[[TableName], bool] = always_atomic,
    declared: Iterable[Iterable[TableName]] = (),
) -> tuple[ConsistencyGroup, ...]:
    """The groups of two or more, in the order of their first members.

    - The members of a diamond are in one group; so those that share a member are one.
    - Declared members are in one group, with what is implied, whatever `atomic` says of them.
    - A group contains every stream table on a path between two of its members.
    - Groups that need each other's results, or that of a table between them, are one: neither could
      publish first. This is so for groups of nothing but atomic members: all others are refreshed
      table by table.
    - A cycle counts as one table: all of it is in a group, or nothing.
    """
    whole = condense_cycles(graph)
    found = _find_acyclic_groups(
        whole.graph, whole.for_all_members(atomic), [whole.representatives(members) for members in declared]
    )
    return tuple(
        replace(
            group,
            members=whole.expand(group.members),
            convergence=whole.expand(group.convergence),
            graph=graph,
        )
        for group in found
    )


def _find_acyclic_groups(
    graph: Graph, atomic: Callable[[TableName], bool], declared: Iterable[Iterable[TableName]]
) -> tuple[ConsistencyGroup, ...]:
    order = graph.order()
    places = {name: place for place, name in enumerate(order)}
    found = find_diamond_bindings(graph)
    together = [frozenset(members) | tables_between(graph, members) for members in declared]
    bounds = (*found.bound, *together)
    meant: frozenset[TableName] = frozenset().union(*together)
    while True:
        wholes = UnionFind(len(order))
        for bound in bounds:
            if all(name in meant or atomic(name) for name in bound):
                _unite(wholes, [places[name] for name in bound])
        entangled = _mutually_dependent_sets(graph, wholes)
        pulled_in = meant.union(*(each for each in entangled if not meant.isdisjoint(each)))
        if pulled_in == meant:
            break
        # What declared members can't do without is meant too; that may entangle more.
        meant = pulled_in
    sets = UnionFind(len(order))
    for bound in (*bounds, *entangled):
        whole = all(name in meant or atomic(name) for name in bound)
        # Others don't set free what was declared to move together.
        _unite(sets, [places[name] for name in bound if whole or name not in meant])
    closing = frozenset(found.closing)
    named = [tuple(order[place] for place in members) for members in sets.sets()]
    return tuple(
        ConsistencyGroup(
            members,
            tuple(name for name in members if name in closing),
            all(name in meant or atomic(name) for name in members),
            graph,
        )
        for members in named
    )


def _mutually_dependent_sets(graph: Graph, wholes: UnionFind) -> list[frozenset[TableName]]:
    """The sets of tables that read each other in a circle once each whole counts as one table."""
    order = graph.order()
    places = {name: place for place, name in enumerate(order)}
    edges = {
        (wholes.find(places[read]), wholes.find(place))
        for name, place in places.items()
        for read in graph.inputs[name]
        if read in places
    }
    found = rx.strongly_connected_components(
        build_digraph(list(order), ((one, other) for one, other in edges if one != other))
    )
    circles = {place: number for number, component in enumerate(found) for place in component}
    members: dict[int, set[TableName]] = {}
    for name, place in places.items():
        members.setdefault(circles[wholes.find(place)], set()).add(name)
    return [frozenset(members[number]) for number, component in enumerate(found) if len(component) > 1]


def _unite(sets: UnionFind, members: Sequence[int]) -> None:
    for other in members[1:]:
        sets.union(members[0], other)
