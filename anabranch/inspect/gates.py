"""Which sources are ready, how far they are loaded, and what waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.connection.lake_context import LakeContext
from anabranch.listing import Listing
from anabranch.names import TableName
from anabranch.refresh.run_context import read_newest_state
from anabranch.streams.graph import Graph
from anabranch.streams.stream_graph import Streams, graph_of
from anabranch.streams.watermark_alignment import misalignment, watermark_spread


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
    """What waits while it is shut: all made from the source, directly or not, unless it ignores gates."""


@dataclass(frozen=True)
class SourceWatermark:
    """Up to which time a source is loaded; None for one whose watermark a group waits for."""

    source: str
    watermark: datetime | None
    advanced_at: datetime | None
    lsn: int | None


@dataclass(frozen=True)
class WatermarkGroupInfo:
    """A watermark group, and whether its sources are within its tolerance of each other."""

    group_name: str
    sources: tuple[str, ...]
    tolerance_seconds: float
    aligned: bool
    lag_seconds: float | None
    """How far apart those are that have a watermark; None while none has."""
    missing: str
    """What a source without a watermark does: `gated`, it keeps the others waiting; `ignore`, nothing."""


def list_source_gates(context: LakeContext) -> list[SourceGate]:
    """Every gate, by the name of its source."""
    lake_version, streams = read_newest_state(context)
    graph, now = graph_of(streams.values()), context.clock.now()
    return Listing(
        SourceGate(
            source_table=name.table,
            schema_name=name.namespace,
            gated=gate.gated,
            gated_at=gate.gated_at,
            ungated_at=gate.ungated_at,
            gated_by=gate.gated_by,
            gate_seconds=((gate.ungated_at or now) - gate.gated_at).total_seconds(),
            affected_stream_tables=tuple(map(str, _affected_stream_tables(graph, streams, name))),
        )
        for name, gate in lake_version.readiness.gates.items()
    )


def list_watermarks(context: LakeContext) -> list[SourceWatermark]:
    """Every source that has a watermark, or of which a group wants one, by name."""
    readiness = read_newest_state(context)[0].readiness
    wanted = {source for group in readiness.groups for source in group.sources}
    found = []
    for name in sorted(wanted | readiness.watermarks.keys()):
        known = readiness.watermarks.get(name)
        if known is None:
            found.append(SourceWatermark(str(name), None, None, None))
        else:
            found.append(SourceWatermark(str(name), known.timestamp, known.advanced_at, known.lsn))
    return Listing(found)


def list_watermark_groups(context: LakeContext) -> list[WatermarkGroupInfo]:
    """Every watermark group, by name."""
    readiness = read_newest_state(context)[0].readiness
    found = []
    for group in readiness.groups:
        apart = watermark_spread(group.sources, readiness.watermarks)
        found.append(
            WatermarkGroupInfo(
                group_name=group.name,
                sources=tuple(map(str, group.sources)),
                tolerance_seconds=group.tolerance.total_seconds(),
                aligned=misalignment(group, group.sources, readiness.watermarks) is None,
                lag_seconds=None if apart is None else apart.lag.total_seconds(),
                missing=group.missing,
            )
        )
    return Listing(found)


def _affected_stream_tables(graph: Graph, streams: Streams, source: TableName) -> list[TableName]:
    if source not in graph.sources:
        return []  # nobody reads it yet
    return [
        name
        for name in sorted(graph.downstream(source))
        if not streams[name].is_immediate and streams[name].options.bootstrap_gating != "ignore"
    ]
