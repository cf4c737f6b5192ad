"""What people said about their sources: which are gated, how far each is loaded, which belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from anabranch.names import TableName

Missing = Literal["gated", "ignore"]
MISSING: tuple[Missing, ...] = ("gated", "ignore")
"""What a source without a watermark does to its group: keeps it waiting, or is left out."""


@dataclass(frozen=True)
class Gate:
    """A source that is not ready, or was not: an open gate remembers how long it was shut."""

    source: TableName
    gated: bool
    gated_at: datetime
    gated_by: str
    ungated_at: datetime | None = None
    auto_ungate: bool = False
    """Whether the first watermark opens it."""
    told: bool = False
    """Whether somebody was told that it has been shut for long."""


@dataclass(frozen=True)
class Watermark:
    """Up to which time a source is loaded, as its writers say; and under which lsn they said so."""

    source: TableName
    timestamp: datetime
    advanced_at: datetime
    lsn: int


@dataclass(frozen=True)
class WatermarkGroup:
    """Sources that are read together only while their watermarks are no further apart than `tolerance`."""

    name: str
    sources: tuple[TableName, ...]
    tolerance: timedelta
    missing: Missing
    created_at: datetime


@dataclass(frozen=True)
class Readiness:
    """All gates, watermarks and watermark groups, as of one lake version."""

    gates: Mapping[TableName, Gate] = field(default_factory=dict)
    watermarks: Mapping[TableName, Watermark] = field(default_factory=dict)
    groups: tuple[WatermarkGroup, ...] = ()

    @property
    def gated_sources(self) -> frozenset[TableName]:
        """The sources that are gated."""
        return frozenset(name for name, gate in self.gates.items() if gate.gated)


NOTHING_SAID = Readiness()
