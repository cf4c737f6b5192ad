"""The sources: what people write to, whether it is ready, and who reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anabranch.listing import Listing
from anabranch.looking.gates import SourceGate, SourceWatermark, source_gates, watermarks
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.read.looking import ColumnInfo, columns_of
from anabranch.refresh.graphs import graph_of
from anabranch.refresh.passes import newest


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


def sources(parts: Parts) -> list[SourceInfo]:
    """Every source, by name."""
    moment, streams = newest(parts)
    graph = graph_of(streams.values())
    gates = {TableName(gate.schema_name, gate.source_table): gate for gate in source_gates(parts)}
    loaded = {mark.source: mark for mark in watermarks(parts)}
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
        for name, version in sorted(moment.versions.items())
        if name not in streams and version.kind != "state"
    )
