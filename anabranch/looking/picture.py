"""The graph as data: what a page draws, and what other programs read."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.looking.status import StreamTableStatus, status
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.graphs import graph_of
from anabranch.refresh.passes import newest


@dataclass(frozen=True)
class GraphNode:
    """A table: a source, or a stream table with its status."""

    name: str
    kind: str
    """`source` or `stream_table`."""
    rows: int
    gated: bool
    """A source that is said not to be ready."""
    missing: bool
    """It is read, but not there: dropped, or not made yet."""
    status: StreamTableStatus | None = None
    """Of a stream table."""


@dataclass(frozen=True)
class GraphEdge:
    """`reader` is made from `source`."""

    source: str
    reader: str


@dataclass(frozen=True)
class LakeGraph:
    """Every table at one moment, and who reads whom: upstream before downstream."""

    lsn: int
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def lake_graph(parts: Parts) -> LakeGraph:
    """Sources first, by name, then the stream tables in the order in which they are refreshed."""
    moment, streams = newest(parts)
    known = {entry.name: entry for entry in status(parts)}
    graph = graph_of(streams.values())

    def node(name: TableName) -> GraphNode:
        version, entry = moment.versions.get(name), known.get(str(name))
        return GraphNode(
            name=str(name),
            kind="source" if name not in streams else "stream_table",
            rows=0 if version is None else version.rows,
            gated=name in moment.readiness.shut,
            missing=version is None and name not in streams,
            status=entry,
        )

    tables = {name for name, version in moment.versions.items() if version.kind != "state"}
    sources = sorted((graph.sources | tables) - set(streams))
    return LakeGraph(
        moment.lsn,
        tuple(map(node, [*sources, *graph.order()])),
        tuple(
            GraphEdge(str(source), str(reader))
            for reader in graph.order()
            for source in sorted(graph.inputs.get(reader, ()))
        ),
    )
