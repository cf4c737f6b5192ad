"""A stream table as a value: what people chose for it, how far it has come, what ails it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.names import TableName

INITIALIZING, ACTIVE, SUSPENDED, ERROR = "INITIALIZING", "ACTIVE", "SUSPENDED", "ERROR"


@dataclass(frozen=True)
class Options:
    """What a user may choose for a stream table (None, for diamonds: as the lake's settings say)."""

    schedule: str | None = "calculated"
    refresh_mode: str = "auto"
    diamond_consistency: str | None = None
    diamond_schedule_policy: str | None = None
    bootstrap_gating: str = "respect"
    fuse: str = "off"
    fuse_ceiling: int | None = None
    fuse_sensitivity: int = 1


@dataclass(frozen=True)
class Read:
    """One version of an input: the table that had the name, and the lsn under which the version appeared."""

    table_id: str
    lsn: int


Reads = Mapping[TableName, Read]


Frontier = Mapping[TableName, int]
"""Base sources, each with the lsn that is reflected."""


@dataclass(frozen=True)
class FuseMemory:
    """What a fuse remembers between two refreshes."""

    batches: tuple[int, ...] = ()
    """The sizes of recent batches that were not too large, oldest first."""
    in_a_row: int = 0
    """How many batches in a row were too large, and were applied nevertheless."""
    blown_at: datetime | None = None
    reset: str | None = None
    """What a person decided about the batch that was stopped, until a refresh has done so."""
    skipped: int = 0
    """Changes that were passed over since it was last computed from nothing."""


@dataclass(frozen=True)
class StreamTable:
    """A stream table: what it is, how far it has come, what ails it."""

    name: TableName
    table_id: str
    query: str
    options: Options
    inputs: tuple[TableName, ...]
    state_tables: tuple[TableName, ...] = ()
    refusal: str | None = None
    """Why it can't be maintained incrementally."""
    status: str = INITIALIZING
    status_reason: str | None = None
    reads: Reads | None = None
    """The versions of its inputs that the contents come from; None before the first fill."""
    frontier: Frontier = field(default_factory=dict)
    version_lsn: int | None = None
    """The lsn of the contents that the newest refresh left."""
    effective_mode: str | None = None
    mode_reason: str | None = None
    last_refresh_at: datetime | None = None
    failures: int = 0
    retry_at: datetime | None = None
    error_code: str | None = None
    error: str | None = None
    held: str | None = None
    idle: bool = False
    group_id: int | None = None
    declared: str | None = None
    """The declared group that it is in."""
    scc_id: int | None = None
    """The cycle that it is in."""
    put_off: bool = False
    """Whether its first fill waits for sources, and comes when they are ready, whatever its schedule."""
    fuse: FuseMemory = field(default_factory=FuseMemory)

    @property
    def is_immediate(self) -> bool:
        """Whether writers maintain it, not the scheduler."""
        return self.options.refresh_mode == "immediate"

    @property
    def has_contents(self) -> bool:
        """Whether it has contents."""
        return self.reads is not None
