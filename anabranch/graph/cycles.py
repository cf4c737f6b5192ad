"""Stream tables that read each other in a circle: found, and counted as one table each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from anabranch.graph.graph import Graph, without_cycles
from anabranch.names import TableName


@dataclass(frozen=True)
class Condensed:
    """A graph in which every cycle counts as one table, called by its first member's name.

    What is said of a graph without cycles holds of `graph`; `whole` says it of the members.
    """

    graph: Graph
    cycles: Mapping[TableName, tuple[TableName, ...]]
    """The members of every cycle, by the name that stands for it."""

    @cached_property
    def _stands(self) -> Mapping[TableName, TableName]:
        return {name: head for head, members in self.cycles.items() for name in members}

    def head(self, name: TableName) -> TableName:
        """The name under which a table stands in the graph."""
        return self._stands.get(name, name)

    def heads(self, names: Iterable[TableName]) -> tuple[TableName, ...]:
        """The same for several; each once, in order."""
        return tuple(dict.fromkeys(map(self.head, names)))

    def members(self, head: TableName) -> tuple[TableName, ...]:
        """What a name of the graph stands for."""
        return self.cycles.get(head, (head,))

    def whole(self, heads: Iterable[TableName]) -> tuple[TableName, ...]:
        """What several names stand for, in order; the members of a cycle next to each other."""
        return tuple(name for head in heads for name in self.members(head))

    def all_of(self, judge: Callable[[TableName], bool]) -> Callable[[TableName], bool]:
        """A judgement of tables as one of names in the graph: it must hold of every member."""
        return lambda head: all(judge(name) for name in self.members(head))


def condensed(graph: Graph) -> Condensed:
    """The graph without its cycles. One that has none is left as it is."""
    cycles = {members[0]: members for members in graph.cycles}
    return Condensed(without_cycles(graph) if cycles else graph, cycles)


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
