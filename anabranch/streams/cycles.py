"""Stream tables that read each other in a circle: found, and counted as one table each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from anabranch.names import TableName
from anabranch.streams.graph import Graph, without_cycles


@dataclass(frozen=True)
class CondensedGraph:
    """A graph in which every cycle counts as one table, called by its first member's name.

    `graph` has no cycles; `expand` turns names of it back into the members they stand for.
    """

    graph: Graph
    cycles: Mapping[TableName, tuple[TableName, ...]]
    """The members of every cycle, by the name that stands for it."""

    @cached_property
    def _representatives(self) -> Mapping[TableName, TableName]:
        return {name: head for head, members in self.cycles.items() for name in members}

    def representative(self, name: TableName) -> TableName:
        """The name under which a table stands in the graph."""
        return self._representatives.get(name, name)

    def representatives(self, names: Iterable[TableName]) -> tuple[TableName, ...]:
        """The same for several; each once, in order."""
        return tuple(dict.fromkeys(map(self.representative, names)))

    def members(self, head: TableName) -> tuple[TableName, ...]:
        """What a name of the graph stands for."""
        return self.cycles.get(head, (head,))

    def expand(self, heads: Iterable[TableName]) -> tuple[TableName, ...]:
        """What several names stand for, in order; the members of a cycle next to each other."""
        return tuple(name for head in heads for name in self.members(head))

    def for_all_members(self, judge: Callable[[TableName], bool]) -> Callable[[TableName], bool]:
        """A predicate over tables as one over names of the graph: true if it is true of every member."""
        return lambda head: all(judge(name) for name in self.members(head))


def condense_cycles(graph: Graph) -> CondensedGraph:
    """The graph without its cycles. One that has none is left as it is."""
    cycles = {members[0]: members for members in graph.cycles}
    return CondensedGraph(without_cycles(graph) if cycles else graph, cycles)


def find_cycle(graph: Graph) -> tuple[TableName, ...] | None:
    """A cycle as a path along which data flows, first and last the same; None if there is none.

    It is a shortest one through the first table, by name, that lies on any.
    """
    if not graph.cycles:
        return None
    inside = frozenset(graph.cycles[0])
    start = graph.cycles[0][0]
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
