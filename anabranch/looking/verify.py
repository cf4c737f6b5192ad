"""Whether a stream table holds what its query gives over the versions that it was made from."""

from __future__ import annotations

from dataclasses import replace

from anabranch.errors import RefreshHeld, VersionExpired
from anabranch.ledger import ledger
from anabranch.ledger.database import Connection
from anabranch.ledger.records import Moment
from anabranch.ledger.streams import StreamTable, read_streams
from anabranch.names import TableName
from anabranch.refresh.definitions import Definitions
from anabranch.refresh.find import found
from anabranch.refresh.graphs import Streams, cycle_of, graph_of
from anabranch.refresh.recursive import MemberDefinition
from anabranch.refresh.verify import Verified, verify, verify_member


def verify_stream_table(definitions: Definitions, name: str) -> Verified:
    """Recompute by time travel, and compare; of a cycle, all members are recomputed."""
    parts = definitions.parts
    versions = {}

    def look(connection: Connection) -> tuple[StreamTable, Streams, frozenset[TableName]]:
        streams = read_streams(connection)
        stream = found(streams, name)
        members = cycle_of(graph_of(streams.values()), stream.name)
        for member in sorted(members) or [stream.name]:
            for table, read in (streams[member].reads or {}).items():
                version = ledger.version_at(connection, read.table_id, read.lsn)
                if version is None:
                    raise VersionExpired(
                        f'the version of "{table}" that "{member}" was made from is no longer kept'
                    )
                versions[table] = version
        return stream, streams, members

    moment, (stream, streams, members) = parts.catalog.moment_and(look)
    if stream.reads is None:
        raise RefreshHeld(f'"{stream.name}" is not filled yet', hint="refresh_stream_table(name) fills it.")
    sources = replace(moment, versions=versions)
    stored = moment.version(stream.name)
    if members:
        every = [_member(definitions, streams[member], sources, members) for member in sorted(members)]
        return verify_member(parts, stream.name, every, stored, sources)
    mode = "full" if stream.refusal is not None else stream.options.refresh_mode
    definition = definitions.get(stream.name, stream.query, mode, sources)
    assert not isinstance(definition, MemberDefinition)
    return verify(parts, definition, stored, sources)


def _member(
    definitions: Definitions, stream: StreamTable, moment: Moment, members: frozenset[TableName]
) -> MemberDefinition:
    definition = definitions.get(stream.name, stream.query, "differential", moment, members)
    assert isinstance(definition, MemberDefinition)
    return definition
