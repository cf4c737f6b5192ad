"""The stream tables of a lake that selectors mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.completion import complete_stream_tables
from anabranch.cli.selectors import DependencyMap, select

if TYPE_CHECKING:
    from anabranch.inspect.graph_data import LakeGraph
    from anabranch.lake import Lake

_HELP = "Stream tables: name, +name (and what it is made from), name+ (and what is made from it), patterns."

Selectors = Annotated[
    list[str], typer.Argument(metavar="NAME…", help=_HELP, autocompletion=complete_stream_tables)
]
AnySelectors = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME…]", help=_HELP + " All, without one.", autocompletion=complete_stream_tables
    ),
]


def dependency_map(graph: LakeGraph) -> DependencyMap:
    """Who reads whom in a lake."""
    inputs: dict[str, list[str]] = {node.name: [] for node in graph.nodes if node.kind != "source"}
    for edge in graph.edges:
        inputs[edge.reader].append(edge.source)
    return DependencyMap(inputs)


def select_stream_tables(lake: Lake, selectors: Sequence[str] | None) -> list[str]:
    """The stream tables that are meant, in the order in which they refresh; all, without a selector."""
    tables = dependency_map(lake.graph())
    return select(selectors, tables) if selectors else list(tables.inputs)
