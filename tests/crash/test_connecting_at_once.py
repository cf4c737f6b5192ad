"""Migrations: many processes at once, a kill in the middle, and a ledger from a later release."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy import Column, Engine, MetaData, Table, inspect

from anabranch.errors import LakeTooNew
from anabranch.failpoints import MIGRATION_POINTS
from anabranch.ledger import ledger, tables
from anabranch.ledger.migrations import read_migrations
from tests.crash import scripts
from tests.crash.children import Children
from tests.crash.conftest import Spot
from tests.crash.model import check_history
from tests.crash.reachable import address


@contextmanager
def database_of(spot: Spot) -> Iterator[Engine]:
    """The catalog's database, past the lake."""
    engine = sqlalchemy.create_engine(address(spot.location, spot.catalog))
    yield engine
    engine.dispose()


@pytest.mark.crash
@pytest.mark.parametrize("count", [2, 8])
def test_processes_that_open_a_fresh_lake_at_once_agree_on_one_lake(
    spot: Spot, children: Children, count: int
):
    ends = children.run(*[spot.job("look")] * count)
    assert [end.error for end in ends] == [None] * count
    assert len({end.result for end in ends}) == 1
    assert applied(spot) == [step.number for step in read_migrations()]


def test_who_finds_a_fresh_sqlite_file_in_use_waits(sqlite_spot: Spot):
    """Switching a file to its write-ahead log is the one statement that doesn't wait by itself."""
    sqlite_spot.location.mkdir(parents=True)
    other = sqlite3.connect(
        sqlite_spot.location / "catalog.db", isolation_level=None, check_same_thread=False
    )
    other.execute("CREATE TABLE taken (id INTEGER)")
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    done.start()
    with sqlite_spot.open() as lake:
        assert lake.lsn == 0
    done.join()
    other.close()


@pytest.mark.crash
@pytest.mark.parametrize("point", MIGRATION_POINTS)
def test_a_migration_killed_anywhere_is_finished_by_the_next_who_connects(
    spot: Spot, children: Children, point: str
):
    [end] = children.run(spot.job("look", f"{point}=kill"))
    assert end.killed, f"{point} was not reached: {end}"
    known = sorted(table.name for table in tables.metadata.sorted_tables)
    with database_of(spot) as engine:
        assert sorted(inspect(engine).get_table_names()) == (known if point == "migrate.after" else [])
    with spot.open() as lake:
        model = scripts.prepare(lake)
        check_history(lake, model.history)
    assert applied(spot) == [step.number for step in read_migrations()]


@pytest.mark.crash
@pytest.mark.parametrize("point", MIGRATION_POINTS)
def test_a_migration_killed_while_others_wait_for_it_is_done_by_one_of_them(
    spot: Spot, children: Children, point: str
):
    ends = children.run(spot.job("look", f"{point}=kill"), *[spot.job("look")] * 3)
    assert [end.error for end in ends[1:]] == [None] * 3
    assert len({end.result for end in ends[1:]}) == 1
    assert ends[0].killed or ends[0].result == ends[1].result


def applied(spot: Spot) -> list[int]:
    with database_of(spot) as engine, engine.connect() as connection:
        return sorted(connection.scalars(sqlalchemy.select(tables.migrations.c.number)))


# -- releases -------------------------------------------------------------------------------------


def test_a_lake_from_a_later_release_is_refused_and_left_as_it_is(spot: Spot):
    with spot.open() as lake:
        model = scripts.prepare(lake)
    later = {"number": 9999, "name": "from_the_future", "applied_at": 0}
    with database_of(spot) as engine, engine.begin() as connection:
        connection.execute(sqlalchemy.insert(tables.migrations).values(later))
    with pytest.raises(LakeTooNew) as caught:
        spot.open()
    assert caught.value.code == "AB306"
    assert "9999" in str(caught.value)
    assert caught.value.hint
    with database_of(spot) as engine, engine.begin() as connection:
        connection.execute(sqlalchemy.delete(tables.migrations).where(tables.migrations.c.number == 9999))
    with spot.open() as lake:
        check_history(lake, model.history)


def test_connecting_again_changes_nothing(spot: Spot):
    with spot.open() as lake:
        lake_id = scripts.look(lake, None)
        lake.set("commit_retries", "3")
    before = everything(spot)
    for _ in range(3):
        with spot.open() as lake:
            assert scripts.look(lake, None) == lake_id
    assert everything(spot) == before


def everything(spot: Spot) -> dict[str, list[tuple[object, ...]]]:
    with database_of(spot) as engine, engine.connect() as connection:
        return {
            table.name: sorted(tuple(row) for row in connection.execute(table.select()))
            for table in tables.metadata.sorted_tables
        }


def test_another_client_that_made_its_catalog_first_is_welcome(spot: Spot):
    """pyiceberg creates the Iceberg tables of the catalog itself if it comes first."""
    from pyiceberg.catalog.sql import SqlCatalog

    spot.location.mkdir(parents=True)
    iceberg = SqlCatalog(
        "anabranch", uri=address(spot.location, spot.catalog), warehouse=f"file://{spot.location}/x"
    )
    iceberg.create_namespace("main")
    iceberg.engine.dispose()
    with spot.open() as lake:
        model = scripts.prepare(lake)
        check_history(lake, model.history)


def test_steps_are_numbered_without_gaps():
    assert [step.number for step in read_migrations()] == list(range(1, len(read_migrations()) + 1))


# -- the schema -----------------------------------------------------------------------------------


def test_the_migrations_make_the_tables_that_the_code_believes_in(spot: Spot):
    spot.open().close()
    found = MetaData()
    with database_of(spot) as engine:
        found.reflect(engine)
        assert described(found, engine) == described(tables.metadata, engine)


def described(metadata: MetaData, engine: Engine) -> dict[str, object]:
    return {table.name: _table(table, engine) for table in metadata.sorted_tables}


def _table(table: Table, engine: Engine) -> dict[str, object]:
    return {
        "columns": [_column(column, engine) for column in table.columns],
        "key": [column.name for column in table.primary_key],
        "indexes": sorted(
            (str(index.name), bool(index.unique), [column.name for column in index.columns])
            for index in table.indexes
        ),
        "foreign keys": sorted(str(key.target_fullname) for key in table.foreign_keys),
    }


def _column(column: Column[object], engine: Engine) -> tuple[str, str, bool]:
    return (column.name, column.type.compile(engine.dialect), bool(column.nullable))


def test_the_sqlite_catalog_is_durable_and_readers_do_not_block(place: Path, sqlite_spot: Spot):
    with sqlite_spot.open() as lake, lake._context.catalog.database.begin_write() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
        with lake._context.catalog.database.begin_read() as other:
            assert ledger.read_current_lsn(other) == 0
    plain = sqlite3.connect(place / "catalog.db")
    assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    plain.close()
