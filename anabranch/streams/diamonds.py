"""Diamonds: where data that flowed apart meets again.

A diamond from a to d is two paths from a table a to a stream table d that share nothing but their ends; an
arrow a → d is such a path too. Its members are the stream tables on all paths from a to d: d is one, a is
not. Members that don't move together show d two states of a at once.

    a and d are the ends of a diamond for some a   ⟺   two inputs of d are made from one table, or one of
                                                       them from the other
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.names import TableName
from anabranch.streams.cycles import condense_cycles
from anabranch.streams.graph import Graph


@dataclass(frozen=True)
class Diamond:
    """`shared` reaches `convergence` through each of `branches`, which `convergence` reads directly.

    `shared` itself is among the branches if it is read directly, too.
    """

    shared: TableName
    convergence: TableName
    branches: tuple[TableName, ...]

    def __str__(self) -> str:
        """The shape in words, for a message that has named the convergence.

        >>> a, b, d = map(TableName.parse, ("sales", "by_region", "report"))
        >>> str(Diamond(a, d, (b, a)))
        '"sales" reaches it directly and through "by_region"'
        """
        through = [f'"{branch}"' for branch in self.branches if branch != self.shared]
        listed = " and ".join([", ".join(through[:-1]), through[-1]] if len(through) > 1 else through)
        return f'"{self.shared}" reaches it {"directly and " * self.direct}through {listed}'

    @property
    def direct(self) -> bool:
        """Whether one of the paths is a single arrow."""
        return self.shared in self.branches


def diamonds_closed_by(graph: Graph, name: TableName) -> tuple[Diamond, ...]:
    """The nearest diamonds that `name` closes, by name; none if it isn't a convergence point.

    Nearest: for any two inputs, the tables they share that feed no other table they share. Further up
    there may be more that end in `name`. A cycle counts as one table, called by its first member's name.
    """
    whole = condense_cycles(graph)
    return _acyclic_diamonds_closed_by(whole.graph, whole.representative(name))


def _acyclic_diamonds_closed_by(graph: Graph, name: TableName) -> tuple[Diamond, ...]:
    inputs = sorted(graph.inputs.get(name, ()))
    if len(inputs) < 2:
        return ()
    upstream = graph.upstream(name)
    bits = {read: 1 << place for place, read in enumerate(inputs)}
    reached: dict[TableName, int] = {}
    found = []
    latest_first = [each for each in reversed(graph.order()) if each in upstream]
    for table in (*latest_first, *(graph.sources & upstream)):
        own = bits.get(table, 0)
        parts = {reached[reader] for reader in graph.readers(table) if reader in reached}
        reached[table] = own | _union_bits(parts)
        if reached[table] in parts or reached[table] == own:
            continue
        parts.add(own)
        # At this table, an input meets all those that no reader of the table leads to along with it.
        branches = tuple(
            read
            for read, bit in bits.items()
            if reached[table] & bit and _union_bits(part for part in parts if part & bit) != reached[table]
        )
        if branches:
            found.append(Diamond(table, name, branches))
    return tuple(sorted(found, key=lambda diamond: diamond.shared))


def _union_bits(sets: Iterable[int]) -> int:
    union = 0
    for each in sets:
        union |= each
    return union
