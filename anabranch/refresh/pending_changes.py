"""The changes that a stream table hasn't read yet: since which versions, and how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.connection.lake_context import LakeContext
from anabranch.ledger import ledger
from anabranch.names import TableName
from anabranch.refresh.inputs import Sources
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.versions import LakeVersion, TableVersion

Inputs = Mapping[TableName, TableVersion]


def load_last_read_versions(
    context: LakeContext, stream: StreamTable, inputs: Inputs
) -> dict[TableName, TableVersion]:
    """The inputs at the versions that were read last, without those whose version has expired."""
    versions: dict[TableName, TableVersion] = {}
    for name, read in (stream.reads or {}).items():
        now = inputs.get(name)
        if now is not None and (now.table_id, now.lsn) == (read.table_id, read.lsn):
            versions[name] = now
            continue
        with context.catalog.database.begin_read() as connection:
            found = ledger.read_version(connection, read.table_id, read.lsn)
        if found is not None:
            versions[name] = found
    return versions


def count_pending_rows(sources: Sources, inputs: Inputs) -> int:
    """How many weighted rows the inputs changed by, counted without the engine.

    Of an input that was never read, or whose last read version has expired, every row counts.
    """
    known = frozenset(name for name in inputs if name in sources.since.versions or name in sources.staged)
    anew = sum(version.rows for name, version in inputs.items() if name not in known)
    return sources.count_net_changed_rows(sources.changed_tables(known)) + anew


def count_pending_changes(context: LakeContext, stream: StreamTable, lake_version: LakeVersion) -> int | None:
    """How many changes are committed that it hasn't read; None if it isn't filled, or can't be."""
    if stream.reads is None or any(name not in lake_version.versions for name in stream.inputs):
        return None
    inputs = {name: lake_version.versions[name] for name in stream.inputs}
    since = replace(lake_version, versions=load_last_read_versions(context, stream, inputs))
    return count_pending_rows(Sources(context, since, lake_version), inputs)
