"""The fuses of stream tables: which have blown, why, and how close the others are to that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.connection.lake_context import LakeContext
from anabranch.ledger.stream_tables import read_streams
from anabranch.listing import Listing
from anabranch.refresh.fuse_decision import fuse_of
from anabranch.settings import Settings
from anabranch.streams.fuse import AUTO, NEEDED, OFF, effective_ceiling
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.versions import LakeVersion

ARMED, BLOWN = "armed", "blown"


@dataclass(frozen=True)
class FuseStatus:
    """One stream table's fuse."""

    name: str
    mode: str
    state: str
    """`off`, `armed`, or `blown`: then it is suspended until `reset_fuse`."""
    ceiling: int | None
    """What was set: its own ceiling, else the lake's."""
    effective_ceiling: int | None
    """What counts: in mode auto, what was learned if that is lower; None if nothing can be too much."""
    pending_changes: int | None
    """How many are committed and not read yet; not counted where the fuse is off."""
    blown_at: datetime | None
    reason: str | None


def read_fuse_status(context: LakeContext) -> list[FuseStatus]:
    """Every stream table's fuse, by name."""
    lake_version, streams = context.catalog.lake_version_and_query(read_streams)
    return Listing(stream_fuse_status(context, stream, lake_version) for stream in streams.values())


def stream_fuse_status(context: LakeContext, stream: StreamTable, lake_version: LakeVersion) -> FuseStatus:
    """One stream table's fuse, as of a lake version."""
    fuse, state = fuse_of(stream.options, context.settings), fuse_state(stream)
    return FuseStatus(
        name=str(stream.name),
        mode=fuse.mode,
        state=state,
        ceiling=fuse.ceiling if fuse.mode != OFF else stream.options.fuse_ceiling,
        effective_ceiling=effective_ceiling(fuse, stream.fuse.batches),
        pending_changes=None if state == OFF else _count_pending_changes(context, stream, lake_version),
        blown_at=stream.fuse.blown_at,
        reason=fuse_reason(stream, context.settings),
    )


def _count_pending_changes(
    context: LakeContext, stream: StreamTable, lake_version: LakeVersion
) -> int | None:
    # Imported only when needed: it reads files, which few calls do.
    from anabranch.refresh.pending_changes import count_pending_changes

    return count_pending_changes(context, stream, lake_version)


def fuse_state(stream: StreamTable) -> str:
    """`off`, `armed` or `blown`."""
    if stream.fuse.blown_at is not None:
        return BLOWN
    return OFF if stream.options.fuse == OFF else ARMED


def skipped_changes_reason(stream: StreamTable) -> str | None:
    """That its contents differ from its query, if changes were passed over."""
    if not stream.fuse.skipped:
        return None
    return f"{stream.fuse.skipped:,} changes were skipped, refresh_stream_table(…, full=True) brings them in"


def fuse_reason(stream: StreamTable, settings: Settings) -> str | None:
    """What there is to say about a fuse: why it blew, what was decided, why it can't blow yet."""
    fuse, memory = fuse_of(stream.options, settings), stream.fuse
    if memory.blown_at is not None:
        return stream.status_reason
    if memory.reset is not None:
        return f"it was reset: the next refresh does {memory.reset}"
    if (skipped := skipped_changes_reason(stream)) is not None:
        return skipped
    if fuse.mode == OFF:
        return None
    if memory.in_a_row:
        return f"the last {memory.in_a_row} of {fuse.sensitivity} in a row exceeded the ceiling"
    if fuse.mode == AUTO and len(memory.batches) < NEEDED:
        return f"it learns: {len(memory.batches)} of {NEEDED} batches seen"
    if fuse.mode != AUTO and fuse.ceiling is None:
        return "it can't blow: neither fuse_ceiling nor fuse_default_ceiling is set"
    return None
