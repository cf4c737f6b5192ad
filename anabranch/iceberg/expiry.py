"""Which snapshots of a table may go, given the oldest lsn that somebody still needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.table.metadata import TableMetadata


@dataclass(frozen=True)
class Expiry:
    """Versions to forget and snapshots to drop from the metadata."""

    lsns: tuple[int, ...]
    snapshots: tuple[int, ...]


def plan_expiry(versions: Sequence[tuple[int, int | None]], metadata: TableMetadata, floor: int) -> Expiry:
    """What a reader at `floor` or later doesn't need.

    Such a reader needs the newest version at or before the floor, and every later one: contents and
    changes alike. Snapshots that another client named by a branch or a tag stay as well.
    """
    at_floor = max((lsn for lsn, _ in versions if lsn <= floor), default=0)
    gone = [(lsn, snapshot) for lsn, snapshot in versions if lsn < at_floor]
    kept = {snapshot for lsn, snapshot in versions if lsn >= at_floor}
    kept |= {reference.snapshot_id for reference in metadata.refs.values()}
    kept.add(metadata.current_snapshot_id)
    listed = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    drop = {snapshot for _, snapshot in gone if snapshot is not None} - kept
    return Expiry(tuple(lsn for lsn, _ in gone), tuple(sorted(drop & listed)))
