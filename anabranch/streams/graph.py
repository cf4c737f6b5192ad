"""Which stream table reads which tables.

Arrows point where data flows: a → b says that b reads a. Whatever is read and has no query of its own
is a source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import rustworkx as rx

from anabranch.names import TableName


@dataclass(frozen=True)
class Graph:
    """Every stream table with what it reads directly.

    A graph may have cycles: stream tables that are made from each other.
    """

    inputs: Mapping[TableName, frozenset[TableName]]

    def __post_init__(self) -> None:
        copy = {name: frozenset(read) for name, read in self.inputs.items()}
        object.__setattr__(self, "inputs", MappingProxyType(copy))

    @cached_property
    def stream_tables(self) -> frozenset[TableName]:
        """The tables that have a query."""
        return frozenset(self.inputs)

    @cached_property
    def sources(self) -> frozenset[TableName]:
        """The tables that are read and have no query."""
        return frozenset(read for inputs in self.inputs.values() for read in inputs) - self.stream_tables

    def readers(self, name: TableName) -> frozenset[TableName]:
        """The stream tables that read `name` directly."""
        return self._readers.get(name, frozenset())

    def upstream(self, name: TableName) -> frozenset[TableName]:
        """All that `name` is made from, directly or not: stream tables and sources, without itself."""
        return self._names(rx.ancestors(self._digraph, self._places[name])) - {name}

    def downstream(self, name: TableName) -> frozenset[TableName]:
        """All stream tables that are made from `name`, directly or not, without itself."""
        return self._names(rx.descendants(self._digraph, self._places[name])) - {name}

    def order(self) -> tuple[TableName, ...]:
        """The stream tables, each after all that it reads; of several that could be next, the first by name.

        The members of a cycle stand next to each other, by name, after all else that any of them reads.
        """
        return self._order

    def with_table(self, name: TableName, inputs: Iterable[TableName]) -> Graph:
        """The graph in which `name` is a stream table that reads `inputs`, whatever it was before."""
        return Graph({**self.inputs, name: frozenset(inputs)})

    def without_table(self, name: TableName) -> Graph:
        """The graph without the stream table `name`; those that read it find a source there."""
        return Graph({table: read for table, read in self.inputs.items() if table != name})

    # -- computed once ----------------------------------------------------------------------------

    @cached_property
    def cycles(self) -> tuple[tuple[TableName, ...], ...]:
        """The largest sets of stream tables in which each is made from each, and from itself.

        Sorted by name, inside and out. A graph without cycles has none.
        """
        tables = sorted(self.inputs)
        found = rx.strongly_connected_components(self._stream_table_digraph)
        named = (tuple(tables[place] for place in sorted(component)) for component in found)
        return tuple(sorted(each for each in named if len(each) > 1 or each[0] in self.inputs[each[0]]))

    @cached_property
    def _readers(self) -> Mapping[TableName, frozenset[TableName]]:
        readers: dict[TableName, set[TableName]] = {}
        for name, inputs in self.inputs.items():
            for read in inputs:
                readers.setdefault(read, set()).add(name)
        return {name: frozenset(found) for name, found in readers.items()}

    @cached_property
    def _places(self) -> Mapping[TableName, int]:
        return {name: place for place, name in enumerate(sorted(self.stream_tables | self.sources))}

    @cached_property
    def _digraph(self) -> rx.PyDiGraph[TableName, None]:
        return build_digraph(
            list(self._places),
            ((self._places[read], self._places[name]) for name, all_ in self.inputs.items() for read in all_),
        )

    @cached_property
    def _stream_table_digraph(self) -> rx.PyDiGraph[TableName, None]:
        # Sources are left out: a source late in the alphabet must not hold back what reads it.
        tables = sorted(self.inputs)
        places = {name: place for place, name in enumerate(tables)}
        edges = (
            (places[read], places[name]) for name in tables for read in self.inputs[name] & places.keys()
        )
        return build_digraph(tables, edges)

    @cached_property
    def _order(self) -> tuple[TableName, ...]:
        if not self.cycles:
            return tuple(rx.lexicographical_topological_sort(self._stream_table_digraph, key=sort_key))
        members = {cycle[0]: cycle for cycle in self.cycles}
        order = without_cycles(self).order()
        return tuple(name for head in order for name in members.get(head, (head,)))

    def _names(self, places: Iterable[int]) -> frozenset[TableName]:
        return frozenset(self._digraph[place] for place in places)


def without_cycles(graph: Graph) -> Graph:
    """The graph in which every cycle is one table, called by the name of its first member."""
    stands = {name: members[0] for members in graph.cycles for name in members}
    inputs: dict[TableName, frozenset[TableName]] = {}
    for name, reads in graph.inputs.items():
        head = stands.get(name, name)
        read = frozenset(stands.get(other, other) for other in reads) - {head}
        inputs[head] = inputs.get(head, frozenset()) | read
    return Graph(inputs)


def build_digraph(names: list[TableName], edges: Iterable[tuple[int, int]]) -> rx.PyDiGraph[TableName, None]:
    """A graph of rustworkx, whose nodes are the places of `names`."""
    graph: rx.PyDiGraph[TableName, None] = rx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(names)
    graph.add_edges_from_no_data(sorted(edges))
    return graph


def sort_key(name: TableName) -> str:
    """Text that sorts as names do: no character of a name comes before the one between its parts."""
    return "\0".join(name.as_tuple)
