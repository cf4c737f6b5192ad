"""Keeping house: old versions expire, files that nobody needs are swept, small files are merged.

Nothing goes that a reader within the retention time, a pinned snapshot or a stream table's frontier
still needs: they set the floor, the oldest lsn that stays readable. A file goes only after it has
been seen unneeded for the whole grace period, so a running write or a slow reader is safe.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from anabranch.errors import ForeignFormat, NotWritable, UnknownTable, WriteConflict
from anabranch.events import Event
from anabranch.ledger import ledger, pins
from anabranch.ledger.database import Connection
from anabranch.ledger.history import forget_refreshes
from anabranch.ledger.records import Moment, Version
from anabranch.ledger.streams import lowest_needed
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.read.view import live_files
from anabranch.storage.commit import Committed, GroupCommit, NewMetadata
from anabranch.storage.expire import Expiry, plan_expiry
from anabranch.storage.stage import stage_expiry
from anabranch.storage.sweep import needed_paths, stored_paths
from anabranch.write.autocommit import Written, autocommit
from anabranch.write.rewrite import worth_compacting

ATTEMPT_MEMORY = timedelta(days=7)
"""How long after its commit an attempt can be asked for, and isn't repeated."""


@dataclass(frozen=True)
class Upkeep:
    """What one round of maintenance did."""

    floor_lsn: int
    versions_expired: int
    tables_forgotten: int
    files_marked: int
    files_deleted: int
    tables_compacted: int


def maintain(parts: Parts, *, tidy: bool = True) -> Upkeep:
    """Expire old versions, forget dropped tables, sweep what nobody needs.

    `tidy`: and compact the tables that need it.
    """
    moment = parts.catalog.moment()
    floor = _raise_floor(parts)
    expired = sum(_expire(parts, version, floor) for version in moment.versions.values())
    forgotten = _forget(parts, floor)
    marked, deleted = _sweep(parts)
    # Last, because it takes longest, and may need the engine.
    compacted = _tidy(parts) if tidy else 0
    return Upkeep(floor, expired, forgotten, marked, deleted, compacted)


def _tidy(parts: Parts) -> int:
    """Compact the tables with many small files or marked rows; how many there were."""
    done, moment = 0, parts.catalog.moment()
    for name, version in sorted(moment.versions.items()):
        if name not in moment.refused and worth_compacting(live_files(parts, version)):
            # Overtaken by a writer or dropped meanwhile, or not ours to write.
            with suppress(WriteConflict, UnknownTable, ForeignFormat, NotWritable):
                done += compact(parts, name).lsn is not None
    return done


def compact(parts: Parts, name: TableName) -> Written:
    """Rewrite a table's small files into few. Its contents and changes stay what they are."""
    written = autocommit(parts, lambda tx: tx.compact(str(name)))
    if written.lsn is not None:
        parts.observer(Event("table_compacted", tables=(str(name),)))
    return written


# -- expiry ---------------------------------------------------------------------------------------


def _raise_floor(parts: Parts) -> int:
    with parts.catalog.database.writing() as connection:
        now = parts.clock.now()
        wanted = ledger.lsn_before(connection, now - parts.settings["snapshot_retention"])
        held = (pins.lowest_pin(connection, now), lowest_needed(connection))
        floor = min([wanted, *(lsn for lsn in held if lsn is not None)])
        ledger.raise_floor(connection, floor)
        return ledger.floor_lsn(connection)


def _expire(parts: Parts, version: Version, floor: int) -> int:
    """Drop a table's snapshots below the floor; how many versions went."""
    with parts.catalog.database.reading() as connection:
        versions = ledger.versions_of(connection, version.table_id)
    metadata = parts.reader.metadata(version.metadata_location)
    expiry = plan_expiry(versions, metadata, floor)
    if not expiry.lsns:
        return 0
    steps: tuple[NewMetadata, ...] = ()
    if expiry.snapshots:
        staged = stage_expiry(parts.reader, metadata, version.metadata_location, expiry.snapshots)
        steps = (NewMetadata(version.table_id, version.name, version.metadata_location, staged),)
    parts.failpoints.hit("expire.before_commit")
    commit = GroupCommit(
        parts.clock.new_id(), "expire", steps, (_forgetting(version.table_id, expiry),), numbered=False
    )
    # Overtaken by a writer, or unknown: nothing is lost, the next round does it again.
    if not isinstance(parts.catalog.commit_group(commit), Committed):
        return 0
    parts.failpoints.hit("expire.after_commit")
    parts.observer(Event("table_expired", tables=(str(version.name),), detail={"versions": len(expiry.lsns)}))
    return len(expiry.lsns)


def _forgetting(table_id: str, expiry: Expiry) -> Callable[[Connection, int], None]:
    return lambda connection, _lsn: ledger.forget_versions(connection, table_id, expiry.lsns)


def _forget(parts: Parts, floor: int) -> int:
    with parts.catalog.database.writing() as connection:
        gone = [table_id for table_id, lsn, _ in ledger.dropped_tables(connection) if lsn <= floor]
        for table_id in gone:
            ledger.forget_table(connection, table_id)
        ledger.forget_commits(connection, floor)
        forget_refreshes(connection, parts.clock.now() - parts.settings["history_retention"])
        ledger.forget_attempts(connection, parts.clock.now() - ATTEMPT_MEMORY)
    return len(gone)


# -- sweeping -------------------------------------------------------------------------------------


def _sweep(parts: Parts) -> tuple[int, int]:
    """Mark what became unneeded, delete what has been for long enough; how many of each."""
    moment = parts.catalog.moment()
    stored = stored_paths(parts.reader, _left_alone(parts, moment))
    unneeded = stored - _needed(parts)
    now, grace = parts.clock.now(), parts.settings["orphan_grace"]
    with parts.catalog.database.writing() as connection:
        marked = ledger.read_garbage(connection)
        fresh = sorted(unneeded - set(marked))
        ledger.unmark_garbage(connection, sorted(stored & set(marked) - unneeded))
        ledger.mark_garbage(connection, fresh, now)
    # What a round deleted before it died: its marks stay until the folders are looked after too.
    vanished = sorted(set(marked) - stored)
    parts.failpoints.hit("sweep.after_mark")
    since = marked | dict.fromkeys(fresh, now)
    ripe = [path for path in sorted(unneeded) if since[path] <= now - grace]
    files = [path for path in ripe if not path.endswith("/")]
    for path in files:
        parts.failpoints.hit("sweep.before_delete")
        parts.warehouse.delete(path)
        parts.failpoints.hit("sweep.after_delete")
    if gone := [*ripe, *vanished]:
        _remove_dead_folders(parts, gone)
        with parts.catalog.database.writing() as connection:
            ledger.unmark_garbage(connection, gone)
    if files:
        parts.observer(Event("files_swept", detail={"files": len(files)}))
    return len(fresh), len(files)


def _needed(parts: Parts) -> set[str]:
    # Read after the files were listed: what a commit adds in between counts as needed.
    moment = parts.catalog.moment()
    needed: set[str] = set()
    for version in moment.versions.values():
        needed |= needed_paths(parts.reader, version.metadata_location, str(version.name))
    with parts.catalog.database.reading() as connection:
        dropped = ledger.dropped_tables(connection)
    for _, _, location in dropped:
        needed |= needed_paths(parts.reader, location, "a dropped table")
    return needed


def _left_alone(parts: Parts, moment: Moment) -> list[str]:
    """Folders of tables that another client named or changed in a way that isn't understood here."""
    with parts.catalog.database.reading() as connection:
        pointers = [pointer for _, _, pointer in ledger.foreign_pointers(connection)]
    known = [moment.versions[name] for name in moment.refused if name in moment.versions]
    pointers += [version.metadata_location for version in known]
    base = parts.warehouse.uri + "/"
    return [pointer.removeprefix(base).partition("/")[0] for pointer in pointers]


def _remove_dead_folders(parts: Parts, swept: list[str]) -> None:
    """Folders of tables that are gone, and of single writes.

    A write in progress has nothing old enough to sweep, and no two share a folder.
    """
    base = parts.warehouse.uri + "/"
    versions = parts.catalog.moment().versions.values()
    live = {version.metadata_location.removeprefix(base).partition("/")[0] for version in versions}
    dead: set[str] = set()
    for path in swept:
        table, *folders, _ = path.removeprefix(base).split("/")
        if table not in live:
            dead.add(table)
        elif len(folders) > 1:  # table/data/write/file
            dead.add("/".join([table, *folders[:2]]))
    for folder in sorted(dead):
        parts.warehouse.remove_empty_folders(base + folder)
