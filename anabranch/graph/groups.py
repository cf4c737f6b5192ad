"""Groups: the stream tables that diamonds make refresh and publish together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import rustworkx as rx

from anabranch.graph.bindings import bindings
from anabranch.graph.diamonds import diamonds_closed_by
from anabranch.graph.graph import Graph, arrows
from anabranch.graph.union_find import UnionFind
from anabranch.names import TableName


@dataclass(frozen=True)
class Group:
    """Two or more stream tables, in order, and those of them at which diamonds close."""

    members: tuple[TableName, ...]
    convergence: tuple[TableName, ...]
    graph: Graph = field(repr=False, compare=False)

    @cached_property
    def shared_sources(self) -> Mapping[TableName, tuple[TableName, ...]]:
        """For each convergence point, the nearest tables from which data flows apart and meets there."""
        return {
            name: tuple(diamond.shared for diamond in diamonds_closed_by(self.graph, name))
            for name in self.convergence
        }


def always(_: TableName) -> bool:
    """Every stream table is atomic: the default."""
    return True


def groups(graph: Graph, atomic: Callable[[TableName], bool] = always) -> tuple[Group, ...]:
    """The groups of two or more, in the order of their first members.

    - The members of a diamond are in one group; so those that share a member are one.
    - A group holds every stream table on a path between two of its members.
    - Groups that need each other's results, or that of a table between them, are one: neither could
      publish first. This is so for groups of nothing but atomic members: all others are refreshed
      table by table.
    """
    order = graph.order()
    places = {name: place for place, name in enumerate(order)}
    found = bindings(graph)
    sets = UnionFind(len(order))
    wholes = UnionFind(len(order))
    for bound in found.bound:
        members = [places[name] for name in bound]
        _unite(sets, members)
        if all(map(atomic, bound)):
            _unite(wholes, members)
    for entangled in _entangled(graph, wholes):
        _unite(sets, entangled)
    closing = frozenset(found.closing)
    named = [tuple(order[place] for place in members) for members in sets.sets()]
    return tuple(
        Group(members, tuple(name for name in members if name in closing), graph) for members in named
    )


def _entangled(graph: Graph, wholes: UnionFind) -> list[list[int]]:
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
        arrows(list(order), ((one, other) for one, other in edges if one != other))
    )
    return [component for component in found if len(component) > 1]


def _unite(sets: UnionFind, members: Iterable[int]) -> None:
    first, *others = members
    for other in others:
        sets.union(first, other)
