"""Changes of definitions that are to happen together, as values; and what is known when they are decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anabranch.gates.readiness import WatermarkGroup
from anabranch.ledger.database import Connection
from anabranch.ledger.declared import RefreshGroup, read_declared
from anabranch.ledger.projects import Owners, read_owners
from anabranch.ledger.records import Moment
from anabranch.ledger.streams import Options, read_streams
from anabranch.ledger.watermarks import read_watermark_groups
from anabranch.lifecycle.declare import GroupWanted
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.graphs import Streams
from anabranch.refresh.passes import newest
from anabranch.schema import Schema


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
class Altered:
    """What a stream table that is there becomes."""

    name: TableName
    query: str
    options: Options


@dataclass(frozen=True)
class Changes:
    """All of it, or nothing. A group that changes is dropped and declared anew."""

    project: str
    """Who makes what is made."""
    managed: frozenset[TableName] = frozenset()
    """The stream tables that may be rebuilt because the columns of what they read change."""
    sources: tuple[NewSource, ...] = ()
    created: tuple[NewStream, ...] = ()
    altered: tuple[Altered, ...] = ()
    dropped: tuple[TableName, ...] = ()
    groups: tuple[GroupWanted, ...] = ()
    groups_dropped: tuple[str, ...] = ()
    watermark_groups: tuple[WatermarkGroup, ...] = ()
    watermark_groups_dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """What is there, as far as it decides about changes."""

    moment: Moment
    streams: Streams
    groups: Mapping[str, RefreshGroup]
    owners: Owners

    @property
    def watermark_groups(self) -> Mapping[str, WatermarkGroup]:
        """The watermark groups, by name."""
        return {group.name: group for group in self.moment.readiness.groups}

    def with_groups(self, parts: Parts) -> Known:
        """The same with the groups and owners of now."""
        with parts.catalog.database.reading() as connection:
            return replace(self, groups=read_declared(connection), owners=read_owners(connection))

    def still_so(self, connection: Connection) -> bool:
        """Whether nobody changed a definition meanwhile. Refreshes may have gone on."""
        now = read_streams(connection)
        return (
            {name: _defined(stream) for name, stream in now.items()}
            == {name: _defined(stream) for name, stream in self.streams.items()}
            and read_declared(connection) == self.groups
            and read_owners(connection) == self.owners
            and read_watermark_groups(connection) == self.moment.readiness.groups
        )


NOBODY = Owners({}, {}, {})


def look(parts: Parts) -> Known:
    """What is there now."""
    moment, streams = newest(parts)
    return Known(moment, streams, {}, NOBODY).with_groups(parts)


def _defined(stream: object) -> tuple[object, ...]:
    return tuple(getattr(stream, name) for name in ("query", "options", "inputs", "declared"))
