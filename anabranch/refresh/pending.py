"""What a stream table has yet to read: since which versions, and how many changes that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.ledger import ledger
from anabranch.ledger.records import Moment, Version
from anabranch.ledger.streams import StreamTable
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.sources import Sources

Inputs = Mapping[TableName, Version]


def read_last(parts: Parts, stream: StreamTable, inputs: Inputs) -> dict[TableName, Version]:
    """The inputs as they were read last, but for those of which that version is gone."""
    versions: dict[TableName, Version] = {}
    for name, read in (stream.reads or {}).items():
        now = inputs.get(name)
        if now is not None and (now.table_id, now.lsn) == (read.table_id, read.lsn):
            versions[name] = now
            continue
        with parts.catalog.database.reading() as connection:
            found = ledger.version_at(connection, read.table_id, read.lsn)
        if found is not None:
            versions[name] = found
    return versions


def pending_rows(sources: Sources, inputs: Inputs) -> int:
    """How many weighted rows the inputs changed by, without asking anything of the engine.

    Of an input that was never read, or whose version that was read is gone, every row counts.
    """
    known = frozenset(name for name in inputs if name in sources.since.versions or name in sources.staged)
    anew = sum(version.rows for name, version in inputs.items() if name not in known)
    return sources.rows_differing(sources.changed(known)) + anew


def pending_changes(parts: Parts, stream: StreamTable, moment: Moment) -> int | None:
    """How many changes are committed that it hasn't read; None if it isn't filled, or can't be."""
    if stream.reads is None or any(name not in moment.versions for name in stream.inputs):
        return None
    inputs = {name: moment.versions[name] for name in stream.inputs}
    since = replace(moment, versions=read_last(parts, stream, inputs))
    return pending_rows(Sources(parts, since, moment), inputs)
