"""A table's Iceberg metadata for other clients: its current version, without hidden columns."""

from __future__ import annotations

import json
from typing import Any

from anabranch.errors import Damaged
from anabranch.iceberg.table_reader import TableReader
from anabranch.names import HIDDEN_PREFIX
from anabranch.streams.versions import TableVersion

_NO_SNAPSHOT = -1
"""How some clients write that a table has no rows yet."""
_NAME_MAPPING = "schema.name-mapping.default"


def read_published_metadata(
    reader: TableReader, version: TableVersion, *, refs_only: bool = False
) -> dict[str, Any]:
    """The metadata of a table whose newest version is `version`, as Iceberg writes it in JSON.

    Hidden columns are left out of every schema: their data is in the files, as that of a column that was
    dropped. `refs_only` leaves out the snapshots that are not current.
    """
    metadata: dict[str, Any] = json.loads(reader.read_metadata(version.metadata_location).model_dump_json())
    current = metadata.get("current-snapshot-id")
    if (None if current == _NO_SNAPSHOT else current) != version.snapshot_id:
        raise Damaged(
            f'the metadata of "{version.name}" and the catalog differ',
            detail=f"{version.metadata_location} shows another version than lsn {version.lsn}.",
        )
    metadata["schemas"] = [_visible_schema(schema) for schema in metadata["schemas"]]
    metadata.get("properties", {}).pop(_NAME_MAPPING, None)
    if refs_only:
        metadata["snapshots"] = [
            one for one in metadata.get("snapshots", []) if one["snapshot-id"] == version.snapshot_id
        ]
    return metadata


def _visible_schema(schema: dict[str, Any]) -> dict[str, Any]:
    fields = [field for field in schema["fields"] if not field["name"].startswith(HIDDEN_PREFIX)]
    return {**schema, "fields": fields}
