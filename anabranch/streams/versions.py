"""Versions as values: one table's, and all tables' as of one lsn."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.errors import AnabranchError, UnknownTable
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.streams.source_readiness import NOTHING_SAID, Readiness

STREAM, STATE = "stream", "state"
"""Kinds of tables: the visible one of a stream table, and its hidden state."""


@dataclass(frozen=True)
class TableVersion:
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
class LakeVersion:
    """All tables as of one lsn, read in one transaction."""

    lsn: int
    floor_lsn: int
    versions: Mapping[TableName, TableVersion]
    refused: Mapping[TableName, AnabranchError] = field(default_factory=dict)
    """Tables that another client left in a state that can't be used, and why."""
    readiness: Readiness = NOTHING_SAID
    """Which sources are ready, for those who asked."""

    def version(self, name: TableName) -> TableVersion:
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
