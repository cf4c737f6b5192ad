"""The graph as data: what a page draws, and what other programs read."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.connection.lake_context import LakeContext
from anabranch.inspect.graph_svg import Box, draw_graph
from anabranch.inspect.status import StreamTableStatus, read_status
from anabranch.names import TableName
from anabranch.notebook_html import element, status_class, styled_block, table
from anabranch.refresh.run_context import read_newest_state
from anabranch.streams.stream_graph import graph_of
from anabranch.streams.stream_table import ACTIVE

MAX_DRAWN = 150
"""Tables that are drawn; more would be a picture of nothing, and are listed."""
SHOWN_ROWS = 50


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

    @property
    def about(self) -> str:
        """What there is to say about it, in a line."""
        if self.missing:
            return "missing"
        words = [
            "source" if self.status is None else self.status.status,
            f"{self.rows:,} {'row' if self.rows == 1 else 'rows'}",
        ]
        if self.gated:
            words.append("gated")
        if self.status is not None:
            if self.status.group_id is not None:
                words.append(f"group {self.status.group_id}")
            if self.status.scc_id is not None:
                words.append(f"cycle {self.status.scc_id}")
            if self.status.held is not None and self.status.status == ACTIVE:
                words.append("held")
        return ", ".join(words)


@dataclass(frozen=True)
class GraphEdge:
    """`reader` is made from `source`."""

    source: str
    reader: str


@dataclass(frozen=True)
class LakeGraph:
    """Every table of one lake version, and who reads whom: upstream before downstream."""

    lsn: int
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def __repr__(self) -> str:
        reads = self._inputs_by_reader()
        width = max((len(node.name) for node in self.nodes[:SHOWN_ROWS]), default=0)
        lines = [f"lsn {self.lsn:,}, {len(self.nodes):,} tables"]
        for node in self.nodes[:SHOWN_ROWS]:
            made = f" <- {', '.join(reads[node.name])}" if node.name in reads else ""
            lines.append(f"  {node.name:<{width}}  {node.about}{made}")
        if len(self.nodes) > SHOWN_ROWS:
            lines.append(f"  … and {len(self.nodes) - SHOWN_ROWS:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        caption = element("div", f"lsn {self.lsn:,}, {len(self.nodes):,} tables", class_="quiet")
        if len(self.nodes) <= MAX_DRAWN:
            arrows = [(edge.source, edge.reader) for edge in self.edges]
            return styled_block(draw_graph(list(map(_node_box, self.nodes)), arrows), caption)
        reads = self._inputs_by_reader()
        rows = (
            [element("td", text) for text in (node.name, node.about, ", ".join(reads.get(node.name, ())))]
            for node in self.nodes[:SHOWN_ROWS]
        )
        return styled_block(caption, table(("table", "about", "reads"), rows, len(self.nodes) - SHOWN_ROWS))

    def _inputs_by_reader(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for edge in self.edges:
            found.setdefault(edge.reader, []).append(edge.source)
        return found


def _node_box(node: GraphNode) -> Box:
    if node.status is None:
        return Box(node.name, "bad" if node.missing else "held" if node.gated else "", node.about, True)
    held = node.status.held is not None and node.status.status == ACTIVE
    return Box(node.name, "held" if held else status_class(node.status.status), node.about)


def read_lake_graph(context: LakeContext) -> LakeGraph:
    """Sources first, by name, then the stream tables in the order in which they are refreshed."""
    lake_version, streams = read_newest_state(context)
    known = {entry.name: entry for entry in read_status(context)}
    graph = graph_of(streams.values())

    def graph_node(name: TableName) -> GraphNode:
        version, entry = lake_version.versions.get(name), known.get(str(name))
        return GraphNode(
            name=str(name),
            kind="source" if name not in streams else "stream_table",
            rows=0 if version is None else version.rows,
            gated=name in lake_version.readiness.gated_sources,
            missing=version is None and name not in streams,
            status=entry,
        )

    tables = {name for name, version in lake_version.versions.items() if version.kind != "state"}
    sources = sorted((graph.sources | tables) - set(streams))
    return LakeGraph(
        lake_version.lsn,
        tuple(map(graph_node, [*sources, *graph.order()])),
        tuple(
            GraphEdge(str(source), str(reader))
            for reader in graph.order()
            for source in sorted(graph.inputs.get(reader, ()))
        ),
    )
