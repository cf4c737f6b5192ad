"""Whether a stream table holds what its query gives over the versions that it was made from."""

from __future__ import annotations

from dataclasses import replace

from anabranch.errors import RefreshHeld, VersionExpired
from anabranch.ledger import ledger
from anabranch.ledger.database import Connection
from anabranch.ledger.streams import StreamTable, read_streams
from anabranch.refresh.definitions import Definitions
from anabranch.refresh.find import found
from anabranch.refresh.verify import Verified, verify


def verify_stream_table(definitions: Definitions, name: str) -> Verified:
    """Recompute by time travel, and compare."""
    parts = definitions.parts
    versions = {}

    def look(connection: Connection) -> StreamTable:
        stream = found(read_streams(connection), name)
        for table, read in (stream.reads or {}).items():
            version = ledger.version_at(connection, read.table_id, read.lsn)
            if version is None:
                raise VersionExpired(
                    f'the version of "{table}" that "{stream.name}" was made from is no longer kept'
                )
            versions[table] = version
        return stream

    moment, stream = parts.catalog.moment_and(look)
    if stream.reads is None:
        raise RefreshHeld(f'"{stream.name}" is not filled yet', hint="refresh_stream_table(name) fills it.")
    sources = replace(moment, versions=versions)
    mode = "full" if stream.refusal is not None else stream.options.refresh_mode
    definition = definitions.get(stream.name, stream.query, mode, sources)
    return verify(parts, definition, moment.version(stream.name), sources)
