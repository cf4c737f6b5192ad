"""Compaction: many small files of a table become few."""

from __future__ import annotations

from contextlib import suppress

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import ForeignFormat, NotWritable, UnknownTable, WriteConflict
from anabranch.events import Event
from anabranch.names import TableName
from anabranch.read.scan_tables import list_live_files
from anabranch.write.autocommit import Written, autocommit
from anabranch.write.row_level_writes import is_worth_compacting


def compact_tables(context: LakeContext) -> int:
    """Compact the tables with many small files or deleted rows; how many there were."""
    done, lake_version = 0, context.catalog.lake_version()
    for name, version in sorted(lake_version.versions.items()):
        if name not in lake_version.refused and is_worth_compacting(list_live_files(context, version)):
            # Overtaken by a writer or dropped meanwhile, or not ours to write.
            with suppress(WriteConflict, UnknownTable, ForeignFormat, NotWritable):
                done += compact(context, name).lsn is not None
    return done


def compact(context: LakeContext, name: TableName) -> Written:
    """Rewrite a table's small files into few. Its contents and changes stay what they are."""
    written = autocommit(context, lambda tx: tx.compact(str(name)))
    if written.lsn is not None:
        context.observer(Event("table_compacted", tables=(str(name),)))
    return written
