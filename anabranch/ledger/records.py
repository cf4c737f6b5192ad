"""Records of the ledger, as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache

from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.streams.versions import TableVersion


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
    def version(self) -> TableVersion:
        """Its newest version."""
        return TableVersion(
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
    def has_foreign_commit(self) -> bool:
        """Whether somebody else committed."""
        return self.pointer != self.metadata_location


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
def parse_schema(text: str) -> Schema:
    """The schema stored as `text`."""
    return Schema.from_json(json.loads(text), hidden=True)


@lru_cache(maxsize=4096)
def format_schema(schema: Schema) -> str:
    """The text under which a schema is stored."""
    return json.dumps(schema.to_json(), separators=(",", ":"), sort_keys=True)
