"""Which sources are ready, how far they are loaded, and what waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.gates.alignment import hindrance, spread
from anabranch.graph.graph import Graph
from anabranch.listing import Listing
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.graphs import Streams, graph_of
from anabranch.refresh.passes import newest


@dataclass(frozen=True)
class SourceGate:
    """A gate, shut or open again."""

    source_table: str
    schema_name: str
    gated: bool
    gated_at: datetime
    ungated_at: datetime | None
    gated_by: str
    gate_seconds: float
    """How long it has been shut, or was."""
    affected_stream_tables: tuple[str, ...]
    """What waits while it is shut: all that is made from the source, near or far, but what ignores gates."""


@dataclass(frozen=True)
class SourceWatermark:
    """Up to which time a source is loaded; None for one whose watermark a group waits for."""

    source: str
    watermark: datetime | None
    advanced_at: datetime | None
    lsn: int | None


@dataclass(frozen=True)
class WatermarkGroupInfo:
    """A watermark group, and whether all its sources are near enough to each other."""

    group_name: str
    sources: tuple[str, ...]
    tolerance_seconds: float
    aligned: bool
    lag_seconds: float | None
    """How far apart those are that have a watermark; None while none has."""
    missing: str
    """What a source without a watermark does: `gated`, it keeps the others waiting; `ignore`, nothing."""


def source_gates(parts: Parts) -> list[SourceGate]:
    """Every gate, by the name of its source."""
    moment, streams = newest(parts)
    graph, now = graph_of(streams.values()), parts.clock.now()
    return Listing(
        SourceGate(
            source_table=name.table,
            schema_name=name.namespace,
            gated=gate.gated,
            gated_at=gate.gated_at,
            ungated_at=gate.ungated_at,
            gated_by=gate.gated_by,
            gate_seconds=((gate.ungated_at or now) - gate.gated_at).total_seconds(),
            affected_stream_tables=tuple(map(str, _affected(graph, streams, name))),
        )
        for name, gate in moment.readiness.gates.items()
    )


def watermarks(parts: Parts) -> list[SourceWatermark]:
    """Every source that has a watermark, or of which a group wants one, by name."""
    readiness = newest(parts)[0].readiness
    wanted = {source for group in readiness.groups for source in group.sources}
    found = []
    for name in sorted(wanted | readiness.watermarks.keys()):
        known = readiness.watermarks.get(name)
        if known is None:
            found.append(SourceWatermark(str(name), None, None, None))
        else:
            found.append(SourceWatermark(str(name), known.timestamp, known.advanced_at, known.lsn))
    return Listing(found)


def watermark_groups(parts: Parts) -> list[WatermarkGroupInfo]:
    """Every watermark group, by name."""
    readiness = newest(parts)[0].readiness
    found = []
    for group in readiness.groups:
        apart = spread(group.sources, readiness.watermarks)
        found.append(
            WatermarkGroupInfo(
                group_name=group.name,
                sources=tuple(map(str, group.sources)),
                tolerance_seconds=group.tolerance.total_seconds(),
                aligned=hindrance(group, group.sources, readiness.watermarks) is None,
                lag_seconds=None if apart is None else apart.lag.total_seconds(),
                missing=group.missing,
            )
        )
    return Listing(found)


def _affected(graph: Graph, streams: Streams, source: TableName) -> list[TableName]:
    if source not in graph.sources:
        return []  # nobody reads it yet
    return [
        name
        for name in sorted(graph.downstream(source))
        if not streams[name].immediate and streams[name].options.bootstrap_gating != "ignore"
    ]
