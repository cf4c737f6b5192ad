"""`graph`: who reads whom."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anabranch.cli.app import command
from anabranch.cli.completion import complete_tables
from anabranch.cli.graph_formats import dot, mermaid, subgraph
from anabranch.cli.output import escaped_text
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.inspect.graph_data import LakeGraph
    from anabranch.lake import Lake


class GraphFormat(StrEnum):
    """How the graph is written."""

    tree = "tree"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


@command("graph", panel="Look")
def graph(
    session: Session,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Only what this is made from and into.", autocompletion=complete_tables
        ),
    ] = None,
    form: Annotated[
        GraphFormat, typer.Option("--format", help="A tree, a drawing for Mermaid or Graphviz, or data.")
    ] = GraphFormat.tree,
) -> None:
    """Who reads whom, with modes, groups, gates, cycles."""
    with session.open_lake() as lake:
        if form is GraphFormat.json or session.out.is_json:
            session.out.print_document(_read_graph(lake, name))
        elif form is GraphFormat.tree:
            session.out.console.print(_colour_tree(str(lake.dependency_tree(name))), soft_wrap=True)
        else:
            draw = mermaid if form is GraphFormat.mermaid else dot
            session.out.console.print(escaped_text(draw(_read_graph(lake, name))), soft_wrap=True)


def _read_graph(lake: Lake, name: str | None) -> LakeGraph:
    graph = lake.graph()
    if name is None:
        return graph
    lake.dependency_tree(name)  # an unknown name is an error, as in the tree
    wanted = name.lower().removeprefix("main.")
    near = {wanted}
    for forward in (True, False):
        pending = [wanted]
        while pending:
            at = pending.pop()
            for edge in graph.edges:
                start, end = (edge.source, edge.reader) if forward else (edge.reader, edge.source)
                if start == at and end not in near:
                    near.add(end)
                    pending.append(end)
    return subgraph(graph, near)


def _colour_tree(tree: str) -> Text:
    """The tree, with its marks stepping back behind the names."""
    drawn = escaped_text(tree)
    drawn.highlight_regex(r"\(.*\)", "dim")
    drawn.highlight_regex(r"gated|waits for [\w., ]+", "yellow")
    drawn.highlight_regex(r"\b(SUSPENDED|ERROR|fuse blown)\b", "bold red")
    return drawn
