"""Stream tables that read each other in a circle."""

from __future__ import annotations

from collections import deque

import rustworkx as rx

from anabranch.graph.graph import Graph, arrows
from anabranch.names import TableName


def components(graph: Graph) -> tuple[tuple[TableName, ...], ...]:
    """The largest sets of stream tables in which each is made from each, and from itself.

    Sorted by name, inside and out. A graph without cycles has none.
    """
    tables = sorted(graph.inputs)
    places = {name: place for place, name in enumerate(tables)}
    edges = (
        (places[read], place) for name, place in places.items() for read in graph.inputs[name] & places.keys()
    )
    found = rx.strongly_connected_components(arrows(tables, edges))
    named = (tuple(tables[place] for place in sorted(component)) for component in found)
    return tuple(sorted(each for each in named if len(each) > 1 or each[0] in graph.inputs[each[0]]))


def find_cycle(graph: Graph) -> tuple[TableName, ...] | None:
    """A cycle as a path along which data flows, first and last the same; None if there is none.

    It is a shortest one through the first table, by name, that lies on any.
    """
    cyclic = components(graph)
    if not cyclic:
        return None
    inside = frozenset(cyclic[0])
    start = cyclic[0][0]
    came_from: dict[TableName, TableName] = {}
    queue = deque([start])
    while start not in came_from:
        name = queue.popleft()
        for reader in sorted(graph.readers(name) & inside):
            if reader not in came_from:
                came_from[reader] = name
                queue.append(reader)
    path = [start, came_from[start]]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))
