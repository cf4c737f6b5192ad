"""The dependency tree: who reads whom, as text that prints itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from anabranch.connection.lake_context import LakeContext
from anabranch.inspect.fuses import fuse_state
from anabranch.names import TableName
from anabranch.notebook_html import Markup, element, styled_block
from anabranch.refresh.run_context import read_newest_state
from anabranch.streams.arguments import find_stream
from anabranch.streams.hold_reasons import gated_sources_by_stream
from anabranch.streams.stream_graph import Streams, graph_of
from anabranch.streams.stream_table import ACTIVE

Gates = Mapping[TableName, tuple[TableName, ...]]
"""What is gated, and what waits for which of that."""
SHOWN = 200
"""Tables that a notebook shows of a tree."""


@dataclass(frozen=True)
class TreeNode:
    """A table in the tree; `repeated`: its own branches stand where it is named first."""

    name: str
    marks: tuple[str, ...]
    branches: tuple[TreeNode, ...] = ()
    repeated: bool = False

    def lines(self) -> Iterable[str]:
        """The node and what hangs below it."""
        marks = f"  ({', '.join(self.marks)})" if self.marks else ""
        yield f"{self.name}{marks}{'  ↑' if self.repeated else ''}"
        for place, branch in enumerate(self.branches):
            last = place == len(self.branches) - 1
            for number, line in enumerate(branch.lines()):
                if number == 0:
                    yield ("└─ " if last else "├─ ") + line
                else:
                    yield ("   " if last else "│  ") + line

    def item(self, left: list[int]) -> Markup:
        """The same as an item of a nested list; `left` counts down how many more may be shown."""
        left[0] -= 1
        children = [element("b", self.name)]
        if self.marks:
            children.append(element("span", f" ({', '.join(self.marks)})", class_="quiet"))
        if self.repeated:
            children.append(element("span", " ↑", title="its branches stand where it is named first"))
        return element("li", *children, _nested_list(self.branches, left))


@dataclass(frozen=True)
class DependencyTree:
    """Trees with a title each; `str()` is for reading."""

    sections: tuple[tuple[str, tuple[TreeNode, ...]], ...]

    def __str__(self) -> str:
        blocks = []
        for title, nodes in self.sections:
            lines = [line for node in nodes for line in node.lines()]
            blocks.append("\n".join([title, *(f"  {line}" for line in lines or ["nothing"])]))
        return "\n\n".join(blocks)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        left = [SHOWN]
        return styled_block(
            *(
                element(
                    "div",
                    element("h4", title),
                    _nested_list(nodes, left) if nodes else element("i", "nothing"),
                )
                for title, nodes in self.sections
            )
        )


def _nested_list(nodes: Sequence[TreeNode], left: list[int]) -> Markup:
    """A nested list of what may still be shown, and how many of these are left out."""
    items = []
    for place, node in enumerate(nodes):
        if left[0] <= 0:
            items.append(element("li", f"… and {len(nodes) - place:,} more", class_="quiet"))
            break
        items.append(node.item(left))
    return element("ul", *items) if items else Markup("")


def build_dependency_tree(context: LakeContext, name: str | None = None) -> DependencyTree:
    """What everything is made from and made into; or one stream table, upstream and downstream."""
    lake_version, streams = read_newest_state(context)
    gates: Gates = {
        **dict.fromkeys(lake_version.readiness.gated_sources, ()),
        **gated_sources_by_stream(streams, lake_version),
    }
    graph = graph_of(streams.values())
    if name is None:
        roots = sorted(graph.sources | {table for table, read in graph.inputs.items() if not read})
        return DependencyTree(
            (("Sources, and what is made from them", _nodes(roots, graph.readers, streams, gates)),)
        )
    wanted = TableName.parse(name)
    if wanted not in graph.sources:
        find_stream(streams, wanted)
    above: Callable[[TableName], Iterable[TableName]] = lambda table: graph.inputs.get(table, ())  # noqa: E731
    return DependencyTree(
        (
            (f"{wanted} is made from", _nodes([wanted], above, streams, gates)[0].branches),
            (f"made from {wanted}", _nodes([wanted], graph.readers, streams, gates)[0].branches),
        )
    )


def _nodes(
    roots: Iterable[TableName],
    next_to: Callable[[TableName], Iterable[TableName]],
    streams: Streams,
    gates: Gates,
) -> tuple[TreeNode, ...]:
    seen: set[TableName] = set()

    def node(name: TableName) -> TreeNode:
        below = sorted(next_to(name))
        if name in seen and below:
            return TreeNode(str(name), _annotations(name, streams, gates), repeated=True)
        seen.add(name)
        return TreeNode(str(name), _annotations(name, streams, gates), tuple(map(node, below)))

    return tuple(map(node, roots))


def _annotations(name: TableName, streams: Streams, gates: Gates) -> tuple[str, ...]:
    stream = streams.get(name)
    if stream is None:
        return ("source", "gated") if name in gates else ("source",)
    marks = [stream.options.refresh_mode]
    if stream.effective_mode not in (None, stream.options.refresh_mode):
        marks[0] += f": {stream.effective_mode}"
    if stream.group_id is not None:
        marks.append(f"group {stream.group_id}")
    if stream.scc_id is not None:
        marks.append(f"cycle {stream.scc_id}")
    if (fuse := fuse_state(stream)) != "off":
        marks.append(f"fuse {fuse}")
    if stream.status != ACTIVE:
        marks.append(stream.status)
    if gates.get(name):
        marks.append(f"waits for {', '.join(map(str, gates[name]))}")
    return tuple(marks)
