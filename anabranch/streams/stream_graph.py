"""The graph of a lake's stream tables, and the groups that are stored with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from anabranch.errors import CircularDefinition, InvalidOption
from anabranch.names import TableName
from anabranch.settings import Settings
from anabranch.streams.consistency_groups import ConsistencyGroup, find_groups
from anabranch.streams.cycles import find_cycle
from anabranch.streams.graph import Graph
from anabranch.streams.refresh_units import RefreshUnit, build_refresh_units
from anabranch.streams.stream_table import Options, StreamTable

MAX_REMEMBERED = 16
"""How many graphs are cached; one is used as long as no definition changes."""

Streams = Mapping[TableName, StreamTable]


def graph_of(streams: Iterable[StreamTable]) -> Graph:
    """Who reads whom."""
    return _graph(tuple((stream.name, stream.inputs) for stream in streams))


@lru_cache(maxsize=MAX_REMEMBERED)
def _graph(inputs: tuple[tuple[TableName, tuple[TableName, ...]], ...]) -> Graph:
    return Graph({name: frozenset(reads) for name, reads in inputs})


def check_cycles_allowed(graph: Graph, settings: Settings) -> Graph:
    """The graph, unless something in it reads itself and may not."""
    if not settings["allow_circular"] and (path := find_cycle(graph)) is not None:
        shown = " feeds ".join(f'"{name}"' for name in path)
        raise CircularDefinition(
            f'the definition of "{path[0]}" would be circular',
            detail=f"{shown}.",
            hint="break the circle, or allow it: allow_circular = true.",
        )
    return graph


def cycle_of(graph: Graph, name: TableName) -> frozenset[TableName]:
    """The members of the cycle that a stream table is in; nobody if it is in none."""
    return next((frozenset(members) for members in graph.cycles if name in members), frozenset())


def check_cycle_modes(graph: Graph, streams: Streams) -> None:
    """Refuse members of cycles that can't be iterated: what is computed in full, or by writers."""
    for members in graph.cycles:
        for name in members:
            mode = streams[name].options.refresh_mode
            if mode not in ("auto", "differential"):
                shown = ", ".join(f'"{member}"' for member in members)
                raise InvalidOption(
                    f'"{name}" is in a cycle, and can\'t have refresh_mode = {mode}',
                    detail=f"the cycle is {shown}.",
                    hint="a cycle is iterated on changes: use auto or differential.",
                )


def scheduled_graph(streams: Streams) -> Graph:
    """What the scheduler refreshes. What writers maintain is as fresh as a source, and counts as one."""
    return graph_of(stream for stream in streams.values() if not stream.is_immediate)


def units_of(streams: Streams, settings: Settings) -> tuple[RefreshUnit, ...]:
    """The refresh units, in an order in which they can run."""
    graph = scheduled_graph(streams)
    atomic = frozenset(filter(_atomic_predicate(streams, settings), graph.inputs))
    declared = tuple(tuple(members) for members in declared_groups(streams).values())
    return _units(tuple(graph.inputs.items()), atomic, declared)


@lru_cache(maxsize=MAX_REMEMBERED)
def _units(
    inputs: tuple[tuple[TableName, frozenset[TableName]], ...],
    atomic: frozenset[TableName],
    declared: tuple[tuple[TableName, ...], ...],
) -> tuple[RefreshUnit, ...]:
    return build_refresh_units(Graph(dict(inputs)), atomic.__contains__, declared)


def groups_of(streams: Streams, settings: Settings) -> tuple[ConsistencyGroup, ...]:
    """The groups of two or more."""
    return find_groups(
        scheduled_graph(streams), _atomic_predicate(streams, settings), declared_groups(streams).values()
    )


def commit_members(streams: Streams, name: TableName, settings: Settings) -> tuple[TableName, ...]:
    """What is published in one commit with a stream table, in order: its unit, or what follows it at once."""
    if not streams[name].is_immediate:
        return next(unit.members for unit in units_of(streams, settings) if name in unit.members)
    graph = graph_of(stream for stream in streams.values() if stream.is_immediate)
    below = graph.downstream(name)
    return tuple(other for other in graph.order() if other == name or other in below)


def check_immediate(streams: Streams) -> None:
    """Refuse an immediate stream table over one that only the scheduler refreshes: it could not follow."""
    for name, stream in streams.items():
        for read in stream.inputs:
            above = streams.get(read)
            if stream.is_immediate and above is not None and not above.is_immediate:
                raise InvalidOption(
                    f'"{name}" can\'t be immediate: it reads "{read}", which the scheduler refreshes',
                    hint=f'make "{read}" immediate too, or give "{name}" a schedule.',
                )
        if stream.is_immediate and stream.declared is not None:
            raise InvalidOption(
                f'"{name}" can\'t be immediate: it is in the group "{stream.declared}"',
                hint="drop the group first: what is immediate is published by its writers.",
            )


def declared_groups(streams: Streams) -> dict[str, list[TableName]]:
    """The members of every declared group."""
    found: dict[str, list[TableName]] = {}
    for name, stream in streams.items():
        if stream.declared is not None and not stream.is_immediate:
            found.setdefault(stream.declared, []).append(name)
    return found


def _atomic_predicate(streams: Streams, settings: Settings) -> Callable[[TableName], bool]:
    return lambda name: consistency_of(streams[name].options, settings) == "atomic"


def consistency_of(options: Options, settings: Settings) -> str:
    """`atomic` or `none`: the table's own choice, else the lake's."""
    chosen: str = options.diamond_consistency or settings["diamond_consistency"]
    return chosen


def policy_of(options: Options, settings: Settings) -> str:
    """`fastest` or `slowest`: the table's own choice, else the lake's."""
    chosen: str = options.diamond_schedule_policy or settings["diamond_schedule_policy"]
    return chosen
