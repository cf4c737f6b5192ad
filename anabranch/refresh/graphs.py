"""The graph of a lake's stream tables, and the groups that are stored with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from anabranch.errors import CircularDefinition
from anabranch.graph.cycles import find_cycle
from anabranch.graph.graph import Graph
from anabranch.graph.groups import groups
from anabranch.graph.units import Unit, units
from anabranch.ledger.database import Connection
from anabranch.ledger.streams import Options, StreamTable, read_streams, store_groups
from anabranch.names import TableName
from anabranch.settings import Settings

MAX_REMEMBERED = 16
"""Graphs that aren't worked out again while no definition changes."""

Streams = Mapping[TableName, StreamTable]


def graph_of(streams: Iterable[StreamTable]) -> Graph:
    """Who reads whom."""
    return _graph(tuple((stream.name, stream.inputs) for stream in streams))


@lru_cache(maxsize=MAX_REMEMBERED)
def _graph(inputs: tuple[tuple[TableName, tuple[TableName, ...]], ...]) -> Graph:
    return Graph({name: frozenset(reads) for name, reads in inputs})


def acyclic(graph: Graph) -> Graph:
    """The graph, unless something in it reads itself."""
    if (path := find_cycle(graph)) is not None:
        shown = " feeds ".join(f'"{name}"' for name in path)
        raise CircularDefinition(
            f'the definition of "{path[0]}" would be circular',
            detail=f"{shown}.",
            hint="break the circle: a stream table can't be computed from itself.",
        )
    return graph


def units_of(graph: Graph, streams: Streams, settings: Settings) -> tuple[Unit, ...]:
    """What refreshes together, in an order in which it can."""
    atomic = frozenset(filter(atomic_in(streams, settings), graph.inputs))
    return _units(tuple(graph.inputs.items()), atomic)


@lru_cache(maxsize=MAX_REMEMBERED)
def _units(
    inputs: tuple[tuple[TableName, frozenset[TableName]], ...], atomic: frozenset[TableName]
) -> tuple[Unit, ...]:
    return units(Graph(dict(inputs)), atomic.__contains__)


def atomic_in(streams: Streams, settings: Settings) -> Callable[[TableName], bool]:
    """Whether a stream table is published together with its group."""
    return lambda name: consistency_of(streams[name].options, settings) == "atomic"


def regroup(connection: Connection, settings: Settings) -> dict[TableName, int]:
    """Store which stream tables form groups now; the ids of the groups that are published together."""
    streams = read_streams(connection)
    atomic = atomic_in(streams, settings)
    found = groups(graph_of(streams.values()), atomic)
    ids = store_groups(connection, [group.members for group in found])
    together = [group for group in found if all(map(atomic, group.members))]
    return {name: ids[name] for group in together for name in group.members}


def consistency_of(options: Options, settings: Settings) -> str:
    """`atomic` or `none`: the table's own choice, else the lake's."""
    chosen: str = options.diamond_consistency or settings["diamond_consistency"]
    return chosen


def policy_of(options: Options, settings: Settings) -> str:
    """`fastest` or `slowest`: the table's own choice, else the lake's."""
    chosen: str = options.diamond_schedule_policy or settings["diamond_schedule_policy"]
    return chosen
