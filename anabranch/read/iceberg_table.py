"""A table as other Iceberg clients are to see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import InputError, UnknownTable
from anabranch.iceberg.published_metadata import read_published_metadata
from anabranch.names import TableName


@dataclass(frozen=True)
class IcebergTable:
    """A table's newest version for an Iceberg client."""

    metadata_location: str
    metadata: dict[str, Any]
    """Iceberg's own JSON, without hidden columns."""


def load_iceberg_table(context: LakeContext, name: str, *, refs_only: bool) -> IcebergTable:
    """The newest version of a source or a stream table; hidden state is not shown as a table."""
    if not isinstance(refs_only, bool):
        raise InputError("refs_only is True or False")
    wanted = TableName.parse(name)
    version = context.catalog.lake_version().version(wanted)
    if version.kind == "state":
        raise UnknownTable(f'there is no table "{wanted}" to be read')
    return IcebergTable(
        version.metadata_location, read_published_metadata(context.reader, version, refs_only=refs_only)
    )
