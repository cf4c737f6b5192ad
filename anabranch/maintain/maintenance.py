"""Maintenance of a lake: old versions expire, files that nobody needs are swept, small files are merged.

Nothing goes that a reader within the retention time, a pinned snapshot or a stream table's frontier
still needs: they set the floor, the oldest lsn that stays readable. A file goes only after it has
been seen unneeded for the whole grace period, so a running write or a slow reader is safe.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.connection.lake_context import LakeContext
from anabranch.maintain.compact import compact_tables
from anabranch.maintain.expire import expire_table, forget_old_records, raise_floor
from anabranch.maintain.sweep import sweep_files


@dataclass(frozen=True)
class Upkeep:
    """What one round of maintenance did."""

    floor_lsn: int
    versions_expired: int
    tables_forgotten: int
    files_marked: int
    files_deleted: int
    tables_compacted: int


def maintain(context: LakeContext, *, tidy: bool = True) -> Upkeep:
    """Expire old versions, forget dropped tables, sweep what nobody needs.

    `tidy`: and compact the tables that need it.
    """
    lake_version = context.catalog.lake_version()
    floor = raise_floor(context)
    expired = sum(expire_table(context, version, floor) for version in lake_version.versions.values())
    forgotten = forget_old_records(context, floor)
    marked, deleted = sweep_files(context)
    # Last, because it takes longest, and may need the engine.
    compacted = compact_tables(context) if tidy else 0
    return Upkeep(floor, expired, forgotten, marked, deleted, compacted)
