"""Sweeping: files that no retained version needs are deleted after a grace period."""

from __future__ import annotations

from anabranch.connection.lake_context import LakeContext
from anabranch.events import Event
from anabranch.iceberg.needed_files import list_stored_paths, read_needed_paths
from anabranch.ledger import ledger
from anabranch.streams.versions import LakeVersion


def sweep_files(context: LakeContext) -> tuple[int, int]:
    """Note files that became unneeded, delete those that have been for long enough; how many of each."""
    lake_version = context.catalog.lake_version()
    stored = list_stored_paths(context.reader, _find_foreign_folders(context, lake_version))
    unneeded = stored - _find_needed_paths(context)
    now, grace = context.clock.now(), context.settings["orphan_grace"]
    with context.catalog.database.begin_write() as connection:
        marked = ledger.read_garbage(connection)
        fresh = sorted(unneeded - set(marked))
        ledger.unmark_garbage(connection, sorted(stored & set(marked) - unneeded))
        ledger.mark_garbage(connection, fresh, now)
    # Files that an interrupted round deleted: they stay noted until their folders are removed too.
    vanished = sorted(set(marked) - stored)
    context.failpoints.hit("sweep.after_mark")
    since = marked | dict.fromkeys(fresh, now)
    ripe = [path for path in sorted(unneeded) if since[path] <= now - grace]
    files = [path for path in ripe if not path.endswith("/")]
    for path in files:
        context.failpoints.hit("sweep.before_delete")
        context.warehouse.delete(path)
        context.failpoints.hit("sweep.after_delete")
    if gone := [*ripe, *vanished]:
        _remove_dead_folders(context, gone)
        with context.catalog.database.begin_write() as connection:
            ledger.unmark_garbage(connection, gone)
    if files:
        context.observer(Event("files_swept", detail={"files": len(files)}))
    return len(fresh), len(files)


def _find_needed_paths(context: LakeContext) -> set[str]:
    # Read after the files were listed: what a commit adds in between counts as needed.
    lake_version = context.catalog.lake_version()
    needed: set[str] = set()
    for version in lake_version.versions.values():
        needed |= read_needed_paths(context.reader, version.metadata_location, str(version.name))
    with context.catalog.database.begin_read() as connection:
        dropped = ledger.read_dropped_tables(connection)
    for _, _, location in dropped:
        needed |= read_needed_paths(context.reader, location, "a dropped table")
    return needed


def _find_foreign_folders(context: LakeContext, lake_version: LakeVersion) -> list[str]:
    """Folders of tables that another client named or changed in a way that this lake can't use."""
    with context.catalog.database.begin_read() as connection:
        pointers = [pointer for _, _, pointer in ledger.read_foreign_pointers(connection)]
    known = [lake_version.versions[name] for name in lake_version.refused if name in lake_version.versions]
    pointers += [version.metadata_location for version in known]
    base = context.warehouse.uri + "/"
    return [pointer.removeprefix(base).partition("/")[0] for pointer in pointers]


def _remove_dead_folders(context: LakeContext, swept: list[str]) -> None:
    """Remove folders of dropped tables, and of single writes.

    A write in progress has nothing old enough to sweep, and no two share a folder.
    """
    base = context.warehouse.uri + "/"
    versions = context.catalog.lake_version().versions.values()
    live = {version.metadata_location.removeprefix(base).partition("/")[0] for version in versions}
    dead: set[str] = set()
    for path in swept:
        table, *folders, _ = path.removeprefix(base).split("/")
        if table not in live:
            dead.add(table)
        elif len(folders) > 1:  # table/data/write/file
            dead.add("/".join([table, *folders[:2]]))
    for folder in sorted(dead):
        context.warehouse.remove_empty_folders(base + folder)
