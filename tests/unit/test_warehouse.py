"""The warehouse: one URI, and opaque names below it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.errors import InvalidLocation
from anabranch.iceberg.location import MAX_LOCATION_LENGTH, warehouse_uri
from anabranch.iceberg.warehouse import StoredFile, Warehouse
from anabranch.paths import normalise_path

STRANGE_BUT_GOOD = [
    "plain",
    "with spaces",
    "größe-日本-😀",
    "it's",
    'a "quote"',
    "semi;colon, comma",
    "a+b&c=d",
    "at@sign",
    "dollar$bang!tilde~",
    "(brackets)",
    "co:lon",
    "<>|",
    "...",
]


@pytest.mark.parametrize("name", STRANGE_BUT_GOOD)
def test_a_lake_works_whatever_its_folder_is_called(tmp_path, name):
    with ab.connect(tmp_path / name / "lake") as lake:
        lake.create_table("sales.orders", "id BIGINT NOT NULL, note STRING")
        lake.insert("sales.orders", [(1, "a")])
        lake.insert("sales.orders", [(2, "b")])
        lake.truncate("sales.orders")
        lake.insert("sales.orders", [(3, "c")])
        lake.maintain()
    with ab.connect(str(tmp_path / name / "lake") + "/") as lake:
        assert lake.arrow("sales.orders").to_pylist() == [{"id": 3, "note": "c"}]
        assert lake.arrow("sales.orders", as_of=3).num_rows == 2
        lake.drop_table("sales.orders")
        assert lake.tables() == []


@pytest.mark.parametrize("character", [*"*?[]{}\\#%^`", "\0", "\n", "\t", "\x7f", "\x1f"], ids=ascii)
def test_a_character_that_means_something_else_in_a_path_is_refused(tmp_path, character):
    with pytest.raises(InvalidLocation) as caught:
        ab.connect(f"{tmp_path}/a{character}b")
    assert caught.value.code == "AB113"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "location",
    [
        "",
        " ",
        None,
        7,
        b"lake",
        ["lake"],
        "ftp://host/lake",
        "http://host/lake",
        "file://host/lake",
        "file:lake://x",
        "://",
        "s3://",
        "x" * (MAX_LOCATION_LENGTH + 1),
        "s3://" + "x" * MAX_LOCATION_LENGTH,
        "~nobody-of-that-name/lake",
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_a_location_that_cannot_be_is_refused(tmp_path, monkeypatch, location):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidLocation):
        ab.connect(location)
    with pytest.raises(InvalidLocation):
        ab.connect(location, catalog=f"sqlite:///{tmp_path}/catalog.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("location", "uri"),
    [
        ("/data/lake", "file:///data/lake"),
        ("/data/lake/", "file:///data/lake"),
        ("/data/../data/./lake", "file:///data/lake"),
        ("file:///data/lake", "file:///data/lake"),
        ("file:///data/x/../lake/", "file:///data/lake"),
        (Path("/data/lake"), "file:///data/lake"),
        ("s3://bucket/lake/", "s3://bucket/lake"),
        ("gs://bucket/lake", "gs://bucket/lake"),
    ],
    ids=str,
)
def test_one_place_has_one_uri(location, uri):
    assert warehouse_uri(location) == uri


def test_a_relative_location_is_meant_from_here_and_a_tilde_from_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert warehouse_uri("lake") == f"file://{tmp_path}/lake"
    assert warehouse_uri("~/lake") == f"file://{tmp_path}/home/lake"


def test_a_link_and_its_target_are_one_place(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert warehouse_uri(tmp_path / "link") == warehouse_uri(tmp_path / "real")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InvalidLocation):
        ab.connect(tmp_path / "loop" / "lake")


def test_a_file_where_the_folder_should_be_is_refused(tmp_path):
    (tmp_path / "lake").write_text("mine")
    with pytest.raises(InvalidLocation):
        ab.connect(tmp_path / "lake")
    with pytest.raises(InvalidLocation):
        ab.connect(tmp_path / "lake" / "inside")
    assert (tmp_path / "lake").read_text() == "mine"


def test_a_lake_elsewhere_than_on_this_machine_needs_a_catalog():
    with pytest.raises(InvalidLocation, match="needs a catalog"):
        ab.connect("s3://bucket/lake")


def test_a_catalog_knows_its_lake(tmp_path):
    url = f"sqlite:///{tmp_path}/catalog.db"
    ab.connect(tmp_path / "one", catalog=url).close()
    ab.connect(tmp_path / "one", catalog=url).close()
    with pytest.raises(InvalidLocation, match="belongs to the lake at"):
        ab.connect(tmp_path / "two", catalog=url)
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize(
    ("spark", "ours"),
    [
        ("file:/data/x.parquet", "file:///data/x.parquet"),
        ("file:///data/x.parquet", "file:///data/x.parquet"),
        ("file:/data/a%20b/%C3%A4.parquet", "file:///data/a b/ä.parquet"),
        ("s3://bucket/a%20b", "s3://bucket/a b"),
    ],
)
def test_a_path_of_spark_is_recognised(spark, ours):
    assert normalise_path(spark) == ours


def test_files_are_written_listed_read_and_deleted(tmp_path):
    warehouse = Warehouse(f"file://{tmp_path}/w h")
    base = warehouse.table_location("abc")
    assert list(warehouse.list_files(base)) == []
    assert warehouse.list_folders() == []
    for name in ("data/a.parquet", ".hidden", "data/deep/b"):
        warehouse.write_bytes(f"{base}/{name}", b"12345")
    assert sorted(warehouse.list_files(base), key=lambda file: file.path) == [
        StoredFile(f"{base}/.hidden", 5),
        StoredFile(f"{base}/data/a.parquet", 5),
        StoredFile(f"{base}/data/deep/b", 5),
    ]
    assert warehouse.list_folders() == ["abc"]
    assert warehouse.read_bytes(f"{base}/.hidden") == b"12345"
    assert warehouse.read_size(f"{base}/.hidden") == 5
    with warehouse.open(f"{base}/.hidden") as stream:
        assert isinstance(stream, pa.NativeFile)
        assert stream.read() == b"12345"
    for name in (".hidden", ".hidden", "data/deep/b"):
        warehouse.delete(f"{base}/{name}")
    warehouse.remove_empty_folders(base)
    assert [file.path for file in warehouse.list_files(base)] == [f"{base}/data/a.parquet"]
    assert not (tmp_path / "w h" / "abc" / "data" / "deep").exists()
