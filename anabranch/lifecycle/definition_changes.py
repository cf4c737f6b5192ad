"""Changes of definitions that are to happen together, as values; and what is known when they are decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anabranch.connection.lake_context import LakeContext
from anabranch.ledger.database import Connection
from anabranch.ledger.declared_groups import RefreshGroup, read_declared_groups
from anabranch.ledger.projects import Owners, read_owners
from anabranch.ledger.stream_tables import read_streams
from anabranch.ledger.watermarks import read_watermark_groups
from anabranch.lifecycle.refresh_groups import RefreshGroupRequest
from anabranch.names import TableName
from anabranch.refresh.run_context import read_newest_state
from anabranch.schema import Schema
from anabranch.streams.source_readiness import WatermarkGroup
from anabranch.streams.stream_graph import Streams
from anabranch.streams.stream_table import Options
from anabranch.streams.versions import LakeVersion


@dataclass(frozen=True)
class NewSource:
    """A source, still empty."""

    name: TableName
    schema: Schema


@dataclass(frozen=True)
class NewStream:
    """A stream table that isn't there yet."""

    name: TableName
    query: str
    options: Options
    initialize: bool = True


@dataclass(frozen=True)
class AlteredStream:
    """What a stream table that is there becomes."""

    name: TableName
    query: str
    options: Options


@dataclass(frozen=True)
class DefinitionChanges:
    """All of it, or nothing. A group that changes is dropped and declared anew."""

    project: str
    """Who makes what is made."""
    managed: frozenset[TableName] = frozenset()
    """The stream tables that may be rebuilt because the columns of what they read change."""
    sources: tuple[NewSource, ...] = ()
    created: tuple[NewStream, ...] = ()
    altered: tuple[AlteredStream, ...] = ()
    dropped: tuple[TableName, ...] = ()
    groups: tuple[RefreshGroupRequest, ...] = ()
    groups_dropped: tuple[str, ...] = ()
    watermark_groups: tuple[WatermarkGroup, ...] = ()
    watermark_groups_dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class CurrentDefinitions:
    """The current definitions, groups and owners, as far as they decide about changes."""

    lake_version: LakeVersion
    streams: Streams
    groups: Mapping[str, RefreshGroup]
    owners: Owners

    @property
    def watermark_groups(self) -> Mapping[str, WatermarkGroup]:
        """The watermark groups, by name."""
        return {group.name: group for group in self.lake_version.readiness.groups}

    def read_groups_and_owners(self, context: LakeContext) -> CurrentDefinitions:
        """The same with the groups and owners of now."""
        with context.catalog.database.begin_read() as connection:
            return replace(self, groups=read_declared_groups(connection), owners=read_owners(connection))

    def is_current(self, connection: Connection) -> bool:
        """Whether nobody changed a definition meanwhile. Refreshes may have gone on."""
        now = read_streams(connection)
        return (
            {name: _definition_key(stream) for name, stream in now.items()}
            == {name: _definition_key(stream) for name, stream in self.streams.items()}
            and read_declared_groups(connection) == self.groups
            and read_owners(connection) == self.owners
            and read_watermark_groups(connection) == self.lake_version.readiness.groups
        )


NOBODY = Owners({}, {}, {})


def read_current_definitions(context: LakeContext) -> CurrentDefinitions:
    """What is there now."""
    lake_version, streams = read_newest_state(context)
    return CurrentDefinitions(lake_version, streams, {}, NOBODY).read_groups_and_owners(context)


def _definition_key(stream: object) -> tuple[object, ...]:
    return tuple(getattr(stream, name) for name in ("query", "options", "inputs", "declared"))
