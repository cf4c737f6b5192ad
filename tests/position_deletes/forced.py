"""Tables so small that their files would be rewritten, written as large ones are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
from pyiceberg.table import StaticTable

import anabranch as ab
from anabranch.iceberg.parquet_files import FileRef
from anabranch.names import TableName
from anabranch.refresh import apply_change
from anabranch.write import delete_strategy

ALWAYS = delete_strategy.Limits(rewritten_bytes=0, small_file_bytes=0, marked_share=1.0)


@contextmanager
def marking_always(limits: delete_strategy.Limits = ALWAYS) -> Iterator[None]:
    """Rows that go are marked, wherever they can be."""
    with patch.object(delete_strategy, "LIMITS", limits), patch.object(apply_change, "SMALL_TABLE_BYTES", -1):
        yield


def live_files(lake: ab.Lake, name: str) -> tuple[FileRef, ...]:
    """The data files of a table as it is."""
    version = lake._context.catalog.lake_version().version(TableName.parse(name))
    metadata = lake._context.reader.read_metadata(version.metadata_location)
    return lake._context.reader.list_files(metadata, version.snapshot_id, name)


def marked(lake: ab.Lake, name: str) -> int:
    """How many rows of a table are marked as gone."""
    return sum(file.marked for file in live_files(lake, name))


def delete_files(lake: ab.Lake, name: str) -> set[str]:
    """The delete files that a table has."""
    return {path for file in live_files(lake, name) for path in file.deletes}


def static(lake: ab.Lake, name: str, lsn: int | None = None) -> StaticTable:
    """A table as another Iceberg client reads its metadata."""
    version = lake._context.catalog.lake_version(lsn).version(TableName.parse(name))
    return StaticTable.from_metadata(version.metadata_location)


def elsewhere(lake: ab.Lake, name: str, lsn: int | None = None) -> pa.Table:
    """A table's rows, by pyiceberg's own reader."""
    version = lake._context.catalog.lake_version(lsn).version(TableName.parse(name))
    return static(lake, name, lsn).scan(snapshot_id=version.snapshot_id).to_arrow()


def stored(place: Path) -> set[str]:
    """Every delete file below a lake."""
    return {path.as_uri() for path in place.glob("tables/*/deletes/*")}
