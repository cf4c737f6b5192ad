"""`graph`: who reads whom."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anabranch.cli.app import command
from anabranch.cli.completion import every_table
from anabranch.cli.drawings import around, dot, mermaid
from anabranch.cli.output import text
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.lake import Lake
    from anabranch.looking.picture import LakeGraph


class Drawing(StrEnum):
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
            metavar="[NAME]", help="Only what this is made from and into.", autocompletion=every_table
        ),
    ] = None,
    form: Annotated[
        Drawing, typer.Option("--format", help="A tree, a drawing for Mermaid or Graphviz, or data.")
    ] = Drawing.tree,
) -> None:
    """Who reads whom, with modes, groups, gates, cycles."""
    with session.lake() as lake:
        if form is Drawing.json or session.out.json:
            session.out.document(_part(lake, name))
        elif form is Drawing.tree:
            session.out.console.print(_coloured(str(lake.dependency_tree(name))), soft_wrap=True)
        else:
            draw = mermaid if form is Drawing.mermaid else dot
            session.out.console.print(text(draw(_part(lake, name))), soft_wrap=True)


def _part(lake: Lake, name: str | None) -> LakeGraph:
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
    return around(graph, near)


def _coloured(tree: str) -> Text:
    """The tree, with its marks stepping back behind the names."""
    drawn = text(tree)
    drawn.highlight_regex(r"\(.*\)", "dim")
    drawn.highlight_regex(r"gated|waits for [\w., ]+", "yellow")
    drawn.highlight_regex(r"\b(SUSPENDED|ERROR|fuse blown)\b", "bold red")
    return drawn
