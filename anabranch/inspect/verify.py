"""Whether a stream table's rows are what its query gives over the versions that it was made from."""

from __future__ import annotations

from dataclasses import replace

from anabranch.errors import RefreshHeld, VersionExpired
from anabranch.ledger import ledger
from anabranch.ledger.database import Connection
from anabranch.ledger.stream_tables import read_streams
from anabranch.names import TableName
from anabranch.refresh.definition_cache import DefinitionCache
from anabranch.refresh.recursive_definitions import CycleMemberDefinition
from anabranch.refresh.verify import Verified, verify, verify_cycle_member
from anabranch.streams.arguments import find_stream
from anabranch.streams.stream_graph import Streams, cycle_of, graph_of
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.versions import LakeVersion


def verify_stream_table(definitions: DefinitionCache, name: str) -> Verified:
    """Recompute by time travel, and compare; of a cycle, all members are recomputed."""
    context = definitions.context
    versions = {}

    def read_stream_and_versions(connection: Connection) -> tuple[StreamTable, Streams, frozenset[TableName]]:
        streams = read_streams(connection)
        stream = find_stream(streams, name)
        members = cycle_of(graph_of(streams.values()), stream.name)
        for member in sorted(members) or [stream.name]:
            for table, read in (streams[member].reads or {}).items():
                version = ledger.read_version(connection, read.table_id, read.lsn)
                if version is None:
                    raise VersionExpired(
                        f'the version of "{table}" that "{member}" was made from is no longer kept'
                    )
                versions[table] = version
        return stream, streams, members

    lake_version, (stream, streams, members) = context.catalog.lake_version_and_query(
        read_stream_and_versions
    )
    if stream.reads is None:
        raise RefreshHeld(f'"{stream.name}" is not filled yet', hint="refresh_stream_table(name) fills it.")
    sources = replace(lake_version, versions=versions)
    stored = lake_version.version(stream.name)
    if members:
        every = [
            _member_definition(definitions, streams[member], sources, members) for member in sorted(members)
        ]
        return verify_cycle_member(context, stream.name, every, stored, sources)
    mode = "full" if stream.refusal is not None else stream.options.refresh_mode
    definition = definitions.get(stream.name, stream.query, mode, sources)
    assert not isinstance(definition, CycleMemberDefinition)
    return verify(context, definition, stored, sources)


def _member_definition(
    definitions: DefinitionCache,
    stream: StreamTable,
    lake_version: LakeVersion,
    members: frozenset[TableName],
) -> CycleMemberDefinition:
    definition = definitions.get(stream.name, stream.query, "differential", lake_version, members)
    assert isinstance(definition, CycleMemberDefinition)
    return definition
