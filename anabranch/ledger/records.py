"""What the ledger says, as values."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache

from anabranch.errors import AnabranchError, UnknownTable
from anabranch.gates.readiness import NOTHING_SAID, Readiness
from anabranch.names import TableName
from anabranch.schema import Schema


@dataclass(frozen=True)
class TableRecord:
    """A table of the lake and where its newest version stands.

    `pointer` is what the Iceberg catalog says, `metadata_location` what the newest numbered commit
    left there: where they differ, somebody else committed.
    """

    table_id: str
    name: TableName
    kind: str
    schema: Schema
    created_lsn: int
    metadata_location: str
    head_lsn: int
    head_snapshot: int | None
    rows: int
    pointer: str | None

    @cached_property
    def version(self) -> Version:
        """Its newest version."""
        return Version(
            table_id=self.table_id,
            name=self.name,
            kind=self.kind,
            schema=self.schema,
            lsn=self.head_lsn,
            snapshot_id=self.head_snapshot,
            rows=self.rows,
            metadata_location=self.metadata_location,
        )

    @property
    def moved(self) -> bool:
        """Whether somebody else committed."""
        return self.pointer != self.metadata_location


@dataclass(frozen=True)
class Version:
    """One version of one table: the Iceberg snapshot that an lsn shows (None: no rows yet)."""

    table_id: str
    name: TableName
    kind: str
    schema: Schema
    lsn: int
    snapshot_id: int | None
    rows: int
    metadata_location: str
    """Where the table's metadata stands today, which still lists the snapshot unless it expired."""


@dataclass(frozen=True)
class Moment:
    """All tables as of one lsn, read in one transaction."""

    lsn: int
    floor_lsn: int
    versions: Mapping[TableName, Version]
    refused: Mapping[TableName, AnabranchError] = field(default_factory=dict)
    """Tables that another client left in a state that can't be used, and why."""
    readiness: Readiness = NOTHING_SAID
    """Which sources are ready, for those who asked."""

    def version(self, name: TableName) -> Version:
        """A table's version, or the error that says why there is none."""
        if (error := self.refused.get(name)) is not None:
            raise error
        found = self.versions.get(name)
        if found is None:
            raise UnknownTable(f'there is no table "{name}" at lsn {self.lsn}', hint=self._hint(name))
        return found

    def _hint(self, name: TableName) -> str | None:
        close = difflib.get_close_matches(str(name), [str(known) for known in self.versions], n=1)
        return f'did you mean "{close[0]}"?' if close else None


@dataclass(frozen=True)
class Commit:
    """One numbered commit."""

    lsn: int
    committed_at: datetime
    kind: str


@dataclass(frozen=True)
class Fence:
    """The right to commit under a lease: it ends when somebody else takes the next term."""

    lease: str
    term: int


@lru_cache(maxsize=4096)
def read_schema(text: str) -> Schema:
    """The schema stored as `text`."""
    return Schema.from_json(json.loads(text), hidden=True)


@lru_cache(maxsize=4096)
def show_schema(schema: Schema) -> str:
    """The text under which a schema is stored."""
    return json.dumps(schema.to_json(), separators=(",", ":"), sort_keys=True)
