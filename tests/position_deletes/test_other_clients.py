"""Tables with marks that other Iceberg clients write to, and marks that they leave."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table

import anabranch as ab
from anabranch.commit.stage_metadata import stage_edit
from anabranch.errors import ForeignFormat
from anabranch.iceberg.position_deletes import DeleteFile, write_delete_file
from anabranch.names import TableName
from anabranch.refresh.verify import Verified
from tests.consistency.bags import bag_of, check_history
from tests.engines.lakes import duck_lake
from tests.position_deletes.forced import delete_files, elsewhere, live_files, marked, marking_always

ROWS = 100


@pytest.fixture
def lake(place: Path, clock: ab.ManualClock) -> Iterator[ab.Lake]:
    """A table with 100 rows in two files."""
    with duck_lake(place, clock=clock) as opened, marking_always():
        opened.create_table("t", "id BIGINT, word STRING")
        for half in np.split(np.arange(ROWS), 2):
            opened.insert("t", pa.table({"id": half, "word": [f"w{number}" for number in half]}))
        yield opened


@pytest.fixture
def client(place: Path, lake: ab.Lake) -> Iterator[SqlCatalog]:
    """pyiceberg, which knows nothing of the lake."""
    found = SqlCatalog("anabranch", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}/foreign")
    yield found
    found.close()


def table(client: SqlCatalog) -> Table:
    return client.load_table("main.t")


def mark(
    lake: ab.Lake, place: Path, *batches: dict[int, list[int]], kind: dict[str, object] | None = None
) -> None:
    """Mark rows as another client does: a delete file per batch (file number to positions), one commit."""
    context, name = lake._context, TableName.parse("t")
    version = context.catalog.lake_version().version(name)
    metadata = context.reader.read_metadata(version.metadata_location)
    files = live_files(lake, "t")
    come = []
    for batch in batches:
        marks = {files[number].path: np.array(at) for number, at in batch.items()}
        path = f"{metadata.location}/data/{context.clock.new_id()}-deletes.parquet"
        come.append(write_delete_file(context.warehouse, marks, path))
    if kind is not None:
        come = [DeleteFile(one.path, altered(one.entry, kind)) for one in come]
    staged = stage_edit(
        context.reader,
        metadata,
        version.metadata_location,
        removed=[],
        added=[],
        summary={},
        name="t",
        deletes=come,
        marked_in=delete_files(lake, "t"),
    )
    with sqlite3.connect(place / "catalog.db") as database:
        database.execute(
            "UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = 't'",
            [staged.metadata_location],
        )
    database.close()


def altered(entry: DataFile, kind: dict[str, object]) -> DataFile:
    values = {
        "content": entry.content,
        "file_path": entry.file_path,
        "file_format": entry.file_format,
        "partition": entry.partition,
        "record_count": entry.record_count,
        "file_size_in_bytes": entry.file_size_in_bytes,
        "spec_id": 0,
    }
    return DataFile.from_args(**{**values, **kind})


def agree(lake: ab.Lake) -> set[int]:
    """The ids that are left, if pyiceberg sees the same rows and the whole history adds up."""
    held = bag_of(lake.arrow("t"))
    assert held == bag_of(elsewhere(lake, "t")) == bag_of(lake.table("t").toArrow())
    assert {info.name: info.rows for info in lake.tables()}["t"] == held.total()
    check_history(lake, "t")
    return {row[0] for row in held}


def test_rows_that_another_client_marks_are_gone(lake, place):
    lake.create_stream_table("s", "SELECT id FROM t", refresh_mode="differential")
    since = lake.lsn
    (first, second) = (file.path for file in live_files(lake, "t"))
    before = agree(lake)
    mark(lake, place, {0: [3], 1: [4, 5]})
    assert len(before) - len(agree(lake)) == 3
    assert sorted(row["_weight"] for row in lake.changes("t", since).toArrow().to_pylist()) == [-1, -1, -1]
    lake.refresh_stream_table("s")
    assert lake.verify("s") == Verified(0, 0)
    assert {file.path for file in live_files(lake, "t")} == {first, second}


def test_marks_of_several_delete_files_count_once(lake, place):
    mark(lake, place, {0: [1, 2]}, {0: [2, 3], 1: [0]}, {1: [0]})
    assert len(agree(lake)) == ROWS - 4
    mark(lake, place, {0: [3, 4]})
    assert len(agree(lake)) == ROWS - 5
    assert len(delete_files(lake, "t")) == 4


def test_our_marks_take_in_those_of_another_client(lake, place):
    mark(lake, place, {0: [1, 2]}, {1: [0]})
    left = agree(lake)
    gone = min(left)
    lake.delete("t", f"id = {gone}")
    assert agree(lake) == left - {gone}
    assert len(delete_files(lake, "t")) == 1
    assert marked(lake, "t") == 4


def test_rewriting_and_truncating_after_another_clients_marks(lake, place):
    mark(lake, place, {0: [1, 2]}, {1: [0]})
    left = agree(lake)
    lake.compact("t")
    assert agree(lake) == left
    mark(lake, place, {0: [0]})
    assert lake.truncate("t").deleted == len(left) - 1
    assert agree(lake) == set()


def test_another_client_appends_to_a_table_with_marks(lake, client):
    lake.delete("t", "id < 10")
    table(client).append(pa.table({"id": [1000], "word": ["far"]}))
    assert agree(lake) == set(range(10, ROWS)) | {1000}


def test_another_client_rewrites_files_with_marks(lake, client):
    lake.create_stream_table("s", "SELECT id FROM t", refresh_mode="differential")
    lake.delete("t", "id % 10 = 0")
    lake.refresh_stream_table("s")
    since = lake.lsn
    table(client).delete("id = 11")
    assert agree(lake) == {number for number in range(ROWS) if number % 10 and number != 11}
    assert [tuple(row) for row in lake.changes("t", since).collect()] == [(11, "w11", -1)]
    lake.refresh_stream_table("s")
    assert lake.verify("s") == Verified(0, 0)
    lake.delete("t", "id = 12")
    assert 12 not in agree(lake)


def test_another_client_overwrites_a_table_with_marks(lake, client):
    lake.delete("t", "id % 10 = 0")
    table(client).overwrite(pa.table({"id": [1, 2], "word": ["w1", "zwei"]}))
    assert agree(lake) == {1, 2}
    lake.delete("t", "id = 1")
    assert agree(lake) == {2}
    assert marked(lake, "t") == 1


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ({"content": DataFileContent.EQUALITY_DELETES, "equality_ids": [1]}, "equality deletes"),
        ({"file_format": FileFormat.AVRO}, "AVRO"),
        ({"file_format": FileFormat.PUFFIN}, "PUFFIN"),
    ],
)
def test_other_delete_files_are_refused_wherever_they_are_met(lake, place, kind, said):
    since = lake.lsn
    mark(lake, place, {0: [1]}, kind=kind)
    assert lake.lsn == since + 1
    for read in (lake.arrow, lake.table, lambda name: lake.changes(name, since), lake.truncate):
        with pytest.raises(ForeignFormat, match="delete files that are not read here") as caught:
            read("t")
        assert said in str(caught.value.detail)
    assert lake.arrow("t", as_of=since).num_rows == ROWS


def test_a_mark_in_a_file_that_came_later_is_refused(lake, place):
    """By Iceberg's rule it doesn't count. Nobody writes that; to guess would show too much or too little."""
    mark(lake, place, {0: [1]})
    (file, _) = live_files(lake, "t")
    parts = lake._context
    location = parts.catalog.lake_version().version(TableName.parse("t")).metadata_location
    staged = stage_edit(
        parts.reader,
        parts.reader.read_metadata(location),
        location,
        removed=[file],
        added=[file],
        summary={},
        name="t",
        marked_in=delete_files(lake, "t"),
    )
    with pytest.raises(ForeignFormat, match="came later"):
        parts.reader.list_files(staged.metadata, staged.snapshot_id, "t")
