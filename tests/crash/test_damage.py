"""Damage is reported with a code, never guessed around: the right rows, or a typed error."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.errors import CatalogUnavailable, Damaged, EngineError, StorageError
from anabranch.iceberg.change_files import ChangeFile
from anabranch.ledger import tables
from anabranch.names import TableName
from anabranch.read.scan_tables import list_change_files
from anabranch.streams.versions import TableVersion
from tests.crash import scripts
from tests.crash.conftest import Spot
from tests.crash.model import Model, bag, check_history, state_of
from tests.crash.reachable import survey

pytestmark = pytest.mark.rotating(2)

AT_ONCE = {"snapshot_retention": "0s", "orphan_grace": "0s"}


def _another_file(_: bytes) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2, 3, 4, 5, 6], "note": ["wrong"] * 6}), sink)
    return sink.getvalue()


HARM: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda _: None,
    "empty": lambda _: b"",
    "cut in half": lambda content: content[: len(content) // 2],
    "scrambled": lambda content: bytes(255 - byte for byte in content),
    "another file": _another_file,
}


def read_in_snapshot(lake: ab.Lake) -> object:
    with lake.snapshot() as snapshot:
        return snapshot.arrow("orders")


READS: dict[str, Callable[[ab.Lake], object]] = {
    "read": lambda lake: lake.arrow("orders"),
    "read as of now": lambda lake: lake.arrow("orders", as_of=lake.lsn),
    "read in a snapshot": read_in_snapshot,
    "name the changes": lambda lake: list_change_files(lake._context, None, newest(lake, "orders")),
}
WRITES: dict[str, tuple[Callable[[ab.Lake], object], Callable[[Model], object]]] = {
    "insert": (
        lambda lake: lake.insert("orders", [(50, "fifty")]),
        lambda model: model.insert("orders", [(50, "fifty")]),
    ),
    "compact": (lambda lake: lake.compact("orders"), lambda _: None),
    "maintain": (lambda lake: lake.maintain(), lambda _: None),
    "truncate": (lambda lake: lake.truncate("orders"), lambda model: model.truncate("orders")),
    "drop": (lambda lake: lake.drop_table("orders"), lambda model: model.drop_table("orders")),
}
ROLES = ["metadata", "manifest list", "manifest", "data"]


def newest(lake: ab.Lake, name: str, as_of: int | None = None) -> TableVersion:
    return lake._context.catalog.lake_version(as_of).version(TableName.parse(name))


def last_change(lake: ab.Lake) -> list[ChangeFile]:
    """What the newest commit did to `orders`."""
    return list_change_files(lake._context, newest(lake, "orders", lake.lsn - 1), newest(lake, "orders"))


def file_of(lake: ab.Lake, role: str) -> Path:
    """A file that the newest version of `orders` needs."""
    version = newest(lake, "orders")
    metadata = lake._context.reader.read_metadata(version.metadata_location)
    snapshot = metadata.current_snapshot()
    assert snapshot is not None
    location = {
        "metadata": version.metadata_location,
        "manifest list": snapshot.manifest_list,
        "manifest": snapshot.manifests(lake._context.warehouse.io)[-1].manifest_path,
        "data": lake._context.reader.list_files(metadata, snapshot.snapshot_id, "orders")[0].path,
    }[role]
    return local(location)


def local(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def put(path: Path, content: bytes | None) -> None:
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("role", ROLES)
def test_reading_a_damaged_table_says_so_and_other_tables_read_on(sqlite_spot: Spot, role: str, harm: str):
    with sqlite_spot.open() as lake:
        model = scripts.prepare(lake)
        path = file_of(lake, role)
    content = path.read_bytes()
    put(path, HARM[harm](content))
    for read in READS.values():
        if read is READS["name the changes"] and role == "data":
            continue  # it only names the files
        with sqlite_spot.open() as lake:
            with pytest.raises(Damaged) as caught:
                read(lake)
            assert caught.value.code == "AB402"
            assert {info.name for info in lake.tables()} == set(model.state)
            for name in ("lines", "stock", "old"):
                assert bag(lake.arrow(name)) == model.state[name]
    put(path, content)
    with sqlite_spot.open() as lake:
        check_history(lake, model.history)


@pytest.mark.parametrize("harm", ["gone", "another file"])
@pytest.mark.parametrize("role", ROLES)
def test_writing_to_a_damaged_table_works_or_changes_nothing(sqlite_spot: Spot, role: str, harm: str):
    with sqlite_spot.open() as lake:
        model = scripts.prepare(lake)
        model.together(lake, lambda tx: tx.insert("orders", [(5, "five")]))
    for write, meaning in WRITES.values():
        with sqlite_spot.open() as lake:
            if not model.state["orders"]:
                lake.insert("orders", [(6, "six")])
                model.insert("orders", [(6, "six")])
            path = file_of(lake, role)
            lsn = lake.lsn
        content = path.read_bytes()
        put(path, HARM[harm](content))
        with sqlite_spot.open(**AT_ONCE) as lake:
            try:
                write(lake)
            except StorageError:
                assert lake.lsn == lsn
            else:
                meaning(model)
        put(path, content)
        assert not survey(sqlite_spot.location, None).missing
        with sqlite_spot.open() as lake:
            assert state_of(lake) == model.state


def test_maintenance_that_can_not_read_a_table_deletes_none_of_its_files(sqlite_spot: Spot):
    """What it can't see must not count as unneeded."""
    with sqlite_spot.open() as lake:
        model = scripts.prepare(lake)
        path = file_of(lake, "manifest")
    content = path.read_bytes()
    put(path, None)
    for _ in range(3):
        with sqlite_spot.open(**AT_ONCE) as lake, pytest.raises(Damaged):
            lake.maintain()
        sqlite_spot.clock.advance(48 * 3600)
    put(path, content)
    with sqlite_spot.open() as lake:
        assert state_of(lake) == model.state
    assert not survey(sqlite_spot.location, None).missing


@pytest.mark.parametrize("harm", [harm for harm in HARM if harm != "another file"])
def test_a_lost_list_of_changes_is_reported(sqlite_spot: Spot, harm: str):
    """A commit with many pieces lists them in a file of its own."""
    with sqlite_spot.open() as lake:
        model = scripts.prepare(lake)
        model.together(lake, scripts.many_change_files)
        check_history(lake, model.history)
        version = newest(lake, "orders")
        snapshot = lake._context.reader.read_metadata(version.metadata_location).current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        text = snapshot.summary.additional_properties["anabranch.changes"]
        path = local(json.loads(text)["file"])
    content = path.read_bytes()
    put(path, HARM[harm](content))
    with sqlite_spot.open() as lake:
        with pytest.raises(Damaged):
            last_change(lake)
        assert state_of(lake) == model.state  # contents don't need it
    with sqlite_spot.open(orphan_grace="0s") as lake, pytest.raises(Damaged):
        lake.maintain()
    put(path, content)
    with sqlite_spot.open() as lake:
        check_history(lake, model.history)


def test_a_pointer_to_nowhere_is_reported_for_its_table_alone(spot: Spot):
    with spot.open() as lake:
        model = scripts.prepare(lake)
        location = newest(lake, "orders").metadata_location
        point_at(lake, location + ".lost")
    for _ in range(2):
        with spot.open(**AT_ONCE) as lake:
            for act in (READS["read"], WRITES["insert"][0], WRITES["truncate"][0]):
                with pytest.raises(Damaged):
                    act(lake)
            assert lake.insert("lines", [(1, "a")]).inserted == 1
            lake.maintain()
    with spot.open() as lake:
        point_at(lake, location)
        assert bag(lake.arrow("orders")) == model.state["orders"]


def point_at(lake: ab.Lake, location: str) -> None:
    """Move the Iceberg pointer of `orders`, as another client might."""
    pointer = tables.iceberg_tables
    move = sqlalchemy.update(pointer).where(pointer.c.table_name == "orders")
    with lake._context.catalog.database.begin_write() as connection:
        connection.execute(move.values(metadata_location=location))


@pytest.mark.parametrize("harm", HARM)
def test_rewriting_rows_of_a_damaged_file_says_so_and_changes_nothing(
    sqlite_spot: Spot, spark: SparkSession, harm: str
):
    with sqlite_spot.open(spark=spark) as lake:
        model = scripts.prepare(lake)
        path = file_of(lake, "data")
        content = path.read_bytes()
        put(path, HARM[harm](content))
        for act in (
            lambda: lake.update("orders", {"note": "'x'"}, where="id = 1"),
            lambda: lake.delete("orders", where="id = 1"),
            lambda: lake.merge("orders", [(1, "y")], on=["id"]),
            lambda: lake.sql("INSERT INTO lines SELECT * FROM orders"),
        ):
            with pytest.raises((StorageError, EngineError)):
                act()
        put(path, content)
        check_history(lake, model.history)


def test_a_damaged_change_file_never_gives_other_changes(sqlite_spot: Spot, spark: SparkSession):
    with sqlite_spot.open(spark=spark) as lake:
        model = scripts.prepare(lake)
        before = lake.lsn
        lake.update("orders", {"note": "'x'"}, where="id = 2")
        model.replace("orders", [(1, "a"), (1, "a"), (2, "x")])
        model.committed(lake.lsn)
        [piece] = last_change(lake)
        path = local(piece.path)
        content = path.read_bytes()
        for harm in ("gone", "empty"):
            put(path, HARM[harm](content))
            with pytest.raises(Damaged):
                lake.changes("orders", before)
        for harm in ("cut in half", "scrambled"):
            put(path, HARM[harm](content))
            with pytest.raises((PySparkException, Py4JError)):  # when Spark runs, the frame is the user's
                lake.changes("orders", before).collect()
        put(path, content)
        assert len(lake.changes("orders", before).collect()) == 2
        check_history(lake, model.history)


# -- the database ---------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", ["text", "scrambled", "cut in half", "a folder"])
def test_a_damaged_database_gives_a_typed_error(sqlite_spot: Spot, harm: str):
    with sqlite_spot.open() as lake:
        scripts.prepare(lake)
    path = sqlite_spot.location / "catalog.db"
    content = path.read_bytes()
    path.unlink()
    match harm:
        case "a folder":
            path.mkdir()
        case "text":
            path.write_text("this is not a database, however long one looks at it " * 100)
        case "scrambled":
            path.write_bytes(bytes(255 - byte for byte in content))
        case "cut in half":
            path.write_bytes(content[: len(content) // 2 // 4096 * 4096])
    with pytest.raises(ab.AnabranchError) as caught, sqlite_spot.open() as lake:
        state_of(lake)
    assert isinstance(caught.value, CatalogUnavailable | Damaged)


def test_a_database_that_goes_away_gives_a_typed_error_to_every_verb(
    spot: Spot, monkeypatch: pytest.MonkeyPatch
):
    """The connection dies at the first statement of a transaction that began well."""
    from sqlalchemy.exc import OperationalError

    def die(*_: object, **__: object) -> None:
        raise OperationalError("SELECT", None, OSError("server closed the connection unexpectedly"))

    with spot.open() as lake:
        scripts.prepare(lake)
        snapshot = lake.snapshot()
        verbs: list[Callable[[], object]] = [
            lambda: lake.lsn,
            lake.tables,
            lambda: lake.arrow("orders"),
            lake.snapshot,
            lake.commits,
            lambda: lake.set("commit_retries", "3"),
            lambda: lake.insert("orders", [(1, "a")]),
            lake.maintain,
            lambda: lake.committed("x"),
            snapshot.close,
        ]
        with monkeypatch.context() as patch:
            patch.setattr(sqlalchemy.Connection, "execute", die)
            patch.setattr(sqlalchemy.Connection, "scalar", die)
            patch.setattr(sqlalchemy.Connection, "scalars", die)
            for verb in verbs:
                with pytest.raises(ab.AnabranchError):
                    verb()
        assert lake.arrow("orders").num_rows == 3
