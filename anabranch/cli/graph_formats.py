"""The graph in the languages of other tools: Mermaid and Graphviz.

Names are plain identifiers, and nothing else of the lake stands in a drawing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.inspect.graph_data import GraphNode, LakeGraph


def subgraph(graph: LakeGraph, names: Collection[str]) -> LakeGraph:
    """The part of a graph that has these tables."""
    kept = frozenset(names)
    return replace(
        graph,
        nodes=tuple(node for node in graph.nodes if node.name in kept),
        edges=tuple(edge for edge in graph.edges if edge.source in kept and edge.reader in kept),
    )


def mermaid(graph: LakeGraph) -> str:
    """A flowchart for Mermaid: sources as cylinders, stream tables as boxes, trouble in colour."""
    number = {node.name: f"n{place}" for place, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    for node in graph.nodes:
        opened, closed = ('[("', '")]') if node.kind == "source" else ('["', '"]')
        mark = f":::{_node_class(node)}" if _node_class(node) else ""
        lines.append(f"  {number[node.name]}{opened}{node.name}{closed}{mark}")
    lines += [f"  {number[edge.source]} --> {number[edge.reader]}" for edge in graph.edges]
    colours = {"gated": "#f5e0a3", "stopped": "#f3b5b5"}
    used = {_node_class(node) for node in graph.nodes}
    lines += [f"  classDef {mark} fill:{colour}" for mark, colour in colours.items() if mark in used]
    return "\n".join(lines)


def dot(graph: LakeGraph) -> str:
    """A digraph for Graphviz."""
    fills = {"gated": "khaki", "stopped": "lightpink", "": "white"}
    lines = ["digraph lake {", "  rankdir=LR;", '  node [style=filled, fontname="Helvetica"];']
    for node in graph.nodes:
        shape = "cylinder" if node.kind == "source" else "box"
        lines.append(f'  "{node.name}" [shape={shape}, fillcolor={fills[_node_class(node)]}];')
    lines += [f'  "{edge.source}" -> "{edge.reader}";' for edge in graph.edges]
    return "\n".join([*lines, "}"])


def _node_class(node: GraphNode) -> str:
    """`gated`: it waits for a source, or is one; `stopped`: a person is needed."""
    if node.missing or (node.status is not None and node.status.status in ("SUSPENDED", "ERROR")):
        return "stopped"
    waits = node.status is not None and bool(node.status.gated_by_sources)
    return "gated" if node.gated or waits else ""
