"""Expiry: versions that no reader, pin or frontier needs any more are dropped."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from anabranch.commit.group_commit import Committed, GroupCommit, NewMetadata
from anabranch.commit.stage_metadata import stage_expiry
from anabranch.connection.lake_context import LakeContext
from anabranch.events import Event
from anabranch.iceberg.expiry import Expiry, plan_expiry
from anabranch.ledger import ledger, pins
from anabranch.ledger.database import Connection
from anabranch.ledger.history import forget_refreshes
from anabranch.ledger.stream_tables import read_lowest_needed_lsn
from anabranch.streams.versions import TableVersion

ATTEMPT_MEMORY = timedelta(days=7)
"""How long after its commit an attempt can be asked for, and isn't repeated."""


def raise_floor(context: LakeContext) -> int:
    """Raise the oldest lsn that stays readable as far as retention, pins and frontiers allow; the new one."""
    with context.catalog.database.begin_write() as connection:
        now = context.clock.now()
        wanted = ledger.read_lsn_before(connection, now - context.settings["snapshot_retention"])
        held = (pins.read_lowest_pin(connection, now), read_lowest_needed_lsn(connection))
        floor = min([wanted, *(lsn for lsn in held if lsn is not None)])
        ledger.raise_floor(connection, floor)
        return ledger.read_floor_lsn(connection)


def expire_table(context: LakeContext, version: TableVersion, floor: int) -> int:
    """Drop a table's snapshots below the floor; how many versions went."""
    with context.catalog.database.begin_read() as connection:
        versions = ledger.read_versions(connection, version.table_id)
    metadata = context.reader.read_metadata(version.metadata_location)
    expiry = plan_expiry(versions, metadata, floor)
    if not expiry.lsns:
        return 0
    steps: tuple[NewMetadata, ...] = ()
    if expiry.snapshots:
        staged = stage_expiry(context.reader, metadata, version.metadata_location, expiry.snapshots)
        steps = (NewMetadata(version.table_id, version.name, version.metadata_location, staged),)
    context.failpoints.hit("expire.before_commit")
    commit = GroupCommit(
        context.clock.new_id(),
        "expire",
        steps,
        (_forget_versions_entry(version.table_id, expiry),),
        numbered=False,
    )
    # Overtaken by a writer, or unknown: nothing is lost, the next round does it again.
    if not isinstance(context.catalog.commit_group(commit), Committed):
        return 0
    context.failpoints.hit("expire.after_commit")
    context.observer(
        Event("table_expired", tables=(str(version.name),), detail={"versions": len(expiry.lsns)})
    )
    return len(expiry.lsns)


def _forget_versions_entry(table_id: str, expiry: Expiry) -> Callable[[Connection, int], None]:
    return lambda connection, _lsn: ledger.forget_versions(connection, table_id, expiry.lsns)


def forget_old_records(context: LakeContext, floor: int) -> int:
    """Remove dropped tables, commits, history and attempts that are too old; how many tables went."""
    with context.catalog.database.begin_write() as connection:
        gone = [table_id for table_id, lsn, _ in ledger.read_dropped_tables(connection) if lsn <= floor]
        for table_id in gone:
            ledger.forget_table(connection, table_id)
        ledger.forget_commits(connection, floor)
        forget_refreshes(connection, context.clock.now() - context.settings["history_retention"])
        ledger.forget_attempts(connection, context.clock.now() - ATTEMPT_MEMORY)
    return len(gone)
