"""What is kept in memory of tables doesn't grow with the number of their versions."""

from __future__ import annotations

import uuid
from collections import namedtuple

import pyarrow as pa
import pytest

from anabranch.bounded_cache import Cache
from anabranch.commit.stage_metadata import MANIFESTS_BEFORE_MERGE, stage_edit, stage_new_table
from anabranch.iceberg.parquet_files import write_rows
from anabranch.iceberg.table_reader import KEPT_PER_TABLE, LISTED_PER_TABLE, TableReader
from anabranch.iceberg.warehouse import Warehouse
from anabranch.ledger.row_cache import RowCache
from anabranch.schema import Atomic, Column, Schema

NUMBERS = Schema((Column("id", Atomic("bigint")),))
Row = namedtuple("Row", "table_id lsn")


@pytest.fixture
def reader(tmp_path):
    return TableReader(Warehouse(f"file://{tmp_path}"))


def appended(reader, staged, number):
    """The next version of a table: a row more, in a file of its own."""
    layout, folder = reader.layout(staged.metadata), f"{staged.metadata.location}/data"
    rows = pa.table({"id": [number]}).cast(layout.arrow)
    added = write_rows(reader.warehouse, rows, layout, folder, f"f{number}")
    return stage_edit(
        reader, staged.metadata, staged.metadata_location, removed=[], added=added, summary={}, name="t"
    )


def listed(reader, staged):
    return reader.list_files(reader.read_metadata(staged.metadata_location), staged.snapshot_id, "t")


def test_a_reader_keeps_few_versions_of_a_table_however_many_were_written(reader):
    tables = [stage_new_table(reader, uuid.uuid4().hex, NUMBERS) for _ in range(2)]
    for number in range(2 * MANIFESTS_BEFORE_MERGE):
        tables = [appended(reader, staged, number) for staged in tables]
        assert [len(listed(reader, staged)) for staged in tables] == [number + 1] * 2
    kept = [reader._metadata, reader._listings]
    assert [len(cache) for cache in kept] == [2 * KEPT_PER_TABLE, 2 * LISTED_PER_TABLE]
    # Of manifests only those that a version which is kept consists of.
    manifests = {
        path
        for listing in kept[1].values_of_owner(tables[0].metadata.table_uuid)
        for path in listing.manifests
    }
    assert len(manifests) < 2 * MANIFESTS_BEFORE_MERGE


def test_a_version_that_is_not_kept_is_read_again(reader):
    first = staged = appended(reader, stage_new_table(reader, uuid.uuid4().hex, NUMBERS), 0)
    for number in range(1, 3 * KEPT_PER_TABLE):
        staged = appended(reader, staged, number)
        listed(reader, staged)
    assert listed(reader, first) == listed(reader, staged)[:1]
    assert reader.read_metadata(first.metadata_location) == first.metadata


def test_a_version_takes_from_the_one_before_what_both_have(reader, monkeypatch):
    staged = appended(reader, stage_new_table(reader, uuid.uuid4().hex, NUMBERS), 0)
    read = []
    live = reader._read_manifest
    monkeypatch.setattr(
        reader, "_read_manifest", lambda manifest, name: read.append(manifest) or live(manifest, name)
    )
    for number in range(1, 10):
        listed(reader, staged)
        staged = appended(reader, staged, number)
    assert len(listed(reader, staged)) == 10
    assert len(read) == 10


def test_files_are_listed_without_their_statistics(reader):
    """They are most of an entry, and nobody who has a listing asks for them."""
    staged = appended(reader, stage_new_table(reader, uuid.uuid4().hex, NUMBERS), 7)
    (file,) = listed(reader, staged)
    assert file.entry.lower_bounds is None
    gone = stage_edit(
        reader, staged.metadata, staged.metadata_location, removed=[file], added=[], summary={}, name="t"
    )
    assert listed(reader, gone) == ()
    assert gone.rows == 0


def test_rows_of_the_ledger_are_remembered_once_per_table():
    read = []
    remembered = RowCache(lambda row: read.append(row) or row.lsn)
    for lsn in range(100):
        assert [remembered(Row(table, lsn)) for table in "abab"] == [lsn] * 4
    assert len(read) == 200
    assert len(remembered) == 2


def test_a_cache_lets_go_of_what_was_asked_for_least_lately():
    cache: Cache[int] = Cache(10, weigh=lambda value: value)
    for key, weight in (("a", 4), ("b", 4), ("a", 4), ("c", 4)):
        assert cache.get(key, lambda weight=weight: weight) == weight
    assert cache.get("a", lambda: 5) == 4
    assert cache.get("b", lambda: 6) == 6
    assert len(cache) == 2


def test_a_cache_keeps_what_alone_is_too_heavy_until_the_next_comes():
    cache: Cache[int] = Cache(10, weigh=lambda value: value)
    assert cache.get("heavy", lambda: 100) == 100
    assert cache.get("heavy", lambda: 0) == 100
    assert cache.get("light", lambda: 1) == 1
    assert cache.get("heavy", lambda: 2) == 2


def test_a_cache_gives_each_owner_the_same_room():
    cache: Cache[tuple[str, int]] = Cache(100, owner=lambda value: value[0], each=2)
    cache.get("quiet", lambda: ("quiet", 0))
    for number in range(50):
        cache.get(f"busy {number}", lambda number=number: ("busy", number))
    assert cache.values_of_owner("busy") == [("busy", 49), ("busy", 48)]
    assert cache.values_of_owner("quiet") == [("quiet", 0)]
    assert cache.values_of_owner("nobody") == []
    assert len(cache) == 3


def test_a_cache_that_is_cleared_loads_again() -> None:
    loaded = []
    cache = Cache(2, owner=lambda value: value)
    for _ in range(2):
        cache.get("a", lambda: loaded.append(1) or 1)
        cache.clear()
        assert len(cache) == 0
    assert loaded == [1, 1]
