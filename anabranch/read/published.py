"""A table as other Iceberg clients are to see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.errors import InputError, UnknownTable
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.storage.published import published_metadata


@dataclass(frozen=True)
class IcebergTable:
    """A table's newest version for an Iceberg client."""

    metadata_location: str
    metadata: dict[str, Any]
    """Iceberg's own JSON, without hidden columns."""


def iceberg_table(parts: Parts, name: str, *, refs_only: bool) -> IcebergTable:
    """The newest version of a source or a stream table; state that nobody sees is no table."""
    if not isinstance(refs_only, bool):
        raise InputError("refs_only is True or False")
    wanted = TableName.parse(name)
    version = parts.catalog.moment().version(wanted)
    if version.kind == "state":
        raise UnknownTable(f'there is no table "{wanted}" to be read')
    return IcebergTable(
        version.metadata_location, published_metadata(parts.reader, version, refs_only=refs_only)
    )
