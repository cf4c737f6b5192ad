"""The fuses of stream tables: which have blown, why, and how near the others are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.ledger.records import Moment
from anabranch.ledger.streams import StreamTable, read_streams
from anabranch.listing import Listing
from anabranch.parts import Parts
from anabranch.refresh.fuse import AUTO, NEEDED, OFF, effective_ceiling
from anabranch.refresh.weigh import fuse_of
from anabranch.settings import Settings

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


def fuse_status(parts: Parts) -> list[FuseStatus]:
    """Every stream table's fuse, by name."""
    moment, streams = parts.catalog.moment_and(read_streams)
    return Listing(fuse_status_of(parts, stream, moment) for stream in streams.values())


def fuse_status_of(parts: Parts, stream: StreamTable, moment: Moment) -> FuseStatus:
    """One stream table's fuse, as of a moment."""
    fuse, state = fuse_of(stream.options, parts.settings), fuse_state(stream)
    return FuseStatus(
        name=str(stream.name),
        mode=fuse.mode,
        state=state,
        ceiling=fuse.ceiling if fuse.mode != OFF else stream.options.fuse_ceiling,
        effective_ceiling=effective_ceiling(fuse, stream.fuse.batches),
        pending_changes=None if state == OFF else _pending_changes(parts, stream, moment),
        blown_at=stream.fuse.blown_at,
        reason=fuse_reason(stream, parts.settings),
    )


def _pending_changes(parts: Parts, stream: StreamTable, moment: Moment) -> int | None:
    # Here, because it looks into files: most looks need none.
    from anabranch.refresh.pending import pending_changes

    return pending_changes(parts, stream, moment)


def fuse_state(stream: StreamTable) -> str:
    """`off`, `armed` or `blown`."""
    if stream.fuse.blown_at is not None:
        return BLOWN
    return OFF if stream.options.fuse == OFF else ARMED


def skipped_reason(stream: StreamTable) -> str | None:
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
    if (skipped := skipped_reason(stream)) is not None:
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
