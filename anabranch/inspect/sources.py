"""The sources: what people write to, whether it is ready, and who reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anabranch.connection.lake_context import LakeContext
from anabranch.inspect.gates import SourceGate, SourceWatermark, list_source_gates, list_watermarks
from anabranch.listing import Listing
from anabranch.names import TableName
from anabranch.read.table_info import ColumnInfo, columns_of
from anabranch.refresh.run_context import read_newest_state
from anabranch.streams.stream_graph import graph_of


@dataclass(frozen=True)
class SourceInfo:
    """One source."""

    shown: ClassVar = ("name", "rows", "read_by", "lsn")
    name: str
    rows: int
    columns: tuple[ColumnInfo, ...]
    gate: SourceGate | None
    """None if it was never gated."""
    watermark: SourceWatermark | None
    read_by: tuple[str, ...]
    """The stream tables that read it directly."""
    lsn: int
    """The commit of its newest version."""


def list_sources(context: LakeContext) -> list[SourceInfo]:
    """Every source, by name."""
    lake_version, streams = read_newest_state(context)
    graph = graph_of(streams.values())
    gates = {TableName(gate.schema_name, gate.source_table): gate for gate in list_source_gates(context)}
    loaded = {mark.source: mark for mark in list_watermarks(context)}
    return Listing(
        SourceInfo(
            name=str(name),
            rows=version.rows,
            columns=columns_of(version.schema),
            gate=gates.get(name),
            watermark=loaded.get(str(name)),
            read_by=tuple(sorted(map(str, graph.readers(name)))),
            lsn=version.lsn,
        )
        for name, version in sorted(lake_version.versions.items())
        if name not in streams and version.kind != "state"
    )
