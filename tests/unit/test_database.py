"""The catalog database: its address, its two kinds of transaction, and what it never shows."""

from __future__ import annotations

import logging
import threading
import traceback
from datetime import timedelta

import pytest
from sqlalchemy import text

import anabranch as ab
from anabranch.clock import ManualClock
from anabranch.errors import AnabranchError, CatalogUnavailable, InvalidLocation, LakeTooNew
from anabranch.failpoints import FailpointReached, Failpoints
from anabranch.ledger.database import Database
from anabranch.ledger.migrations import migrate, read_migrations

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    "url",
    [
        None,
        7,
        "",
        "nonsense",
        "mysql://host/db",
        "postgresql://user:pw@host:notaport/db",
        "postgresql+asyncpg://user:pw@host/db",
        "postgresql+nope://user:pw@host/db",
        "sqlite+aiosqlite:///catalog.db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///catalog.db?mode=ro",
    ],
    ids=str,
)
def test_an_address_that_no_catalog_can_have_is_refused(url):
    with pytest.raises(InvalidLocation) as caught:
        Database(url, timeout=SECOND)
    assert caught.value.code == "AB113"


@pytest.mark.parametrize("path", ["no/such/folder/catalog.db", ""])
def test_a_file_that_cannot_be_opened_is_reported(tmp_path, path):
    with pytest.raises(CatalogUnavailable) as caught:
        ab.connect(tmp_path / "lake", catalog=f"sqlite:///{tmp_path}/{path}")
    assert caught.value.code == "AB304"


def test_a_file_that_is_no_database_is_reported(tmp_path):
    (tmp_path / "catalog.db").write_text("this is not a database" * 100)
    with pytest.raises(CatalogUnavailable):
        ab.connect(tmp_path / "lake", catalog=f"sqlite:///{tmp_path}/catalog.db")


# -- secrets --------------------------------------------------------------------------------------

SECRET = "hunter2correcthorse"
WITH_SECRET = [
    f"postgresql://user:{SECRET}@localhost:1/db",
    f"postgresql+psycopg://user:{SECRET}@localhost:1/db",
    f"postgresql://localhost:1/db?user=user&password={SECRET}",
    f"postgresql://user:{SECRET}@localhost:1/db?sslpassword={SECRET}",
    f"postgresql://user:{SECRET}@localhost:port/db",
    f"postgresql+psycopg2://user:{SECRET}@localhost:1/db",
    f"mysql://user:{SECRET}@localhost/db",
    f"user:{SECRET}@localhost",
]


@pytest.mark.parametrize("url", WITH_SECRET, ids=lambda url: url.replace(SECRET, "…"))
def test_a_password_is_shown_nowhere(tmp_path, url, caplog, capsys, recwarn):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(AnabranchError) as caught:
        ab.connect(tmp_path / "lake", catalog=url, catalog_timeout="1s")
    error: BaseException | None = caught.value
    while error is not None:
        for shown in (str(error), repr(error), *traceback.format_exception_only(error)):
            assert SECRET not in shown
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capsys.readouterr())
    assert not [warning for warning in recwarn if SECRET in str(warning.message)]


def test_an_open_lake_does_not_show_its_password(postgres, tmp_path):
    url = postgres().replace("postgresql+psycopg://postgres:@", f"postgresql+psycopg://postgres:{SECRET}@")
    assert SECRET in url
    with ab.connect(tmp_path / "lake", catalog=url) as lake:
        lake.create_table("t", "id BIGINT")
        context = lake._context
        database = context.catalog.database
        shown = [lake, context, context.catalog, database, database.engine, lake.tables(), lake.commits()]
        shown += [lake.snapshot(), lake.transaction(), context.catalog.lake_version()]
        for value in shown:
            assert SECRET not in repr(value)
            assert SECRET not in str(value)
        assert SECRET not in context.catalog.database.format_url()


# -- transactions ---------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path):
    found = Database(f"sqlite:///{tmp_path}/catalog.db", timeout=SECOND)
    yield found
    found.close()


def test_what_a_writer_wrote_is_there_after_it_and_not_after_its_failure(database):
    with database.begin_write() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
        connection.execute(text("INSERT INTO t VALUES (1)"))

    def fail() -> None:
        with database.begin_write() as connection:
            connection.execute(text("INSERT INTO t VALUES (2)"))
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fail()
    with database.begin_read() as connection:
        assert connection.scalars(text("SELECT a FROM t")).all() == [1]


def test_a_reader_sees_one_moment_and_blocks_no_writer(database):
    with database.begin_write() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
    with database.begin_read() as reader:
        assert reader.scalar(text("SELECT count(*) FROM t")) == 0
        with database.begin_write() as writer:
            writer.execute(text("INSERT INTO t VALUES (1)"))
        assert reader.scalar(text("SELECT count(*) FROM t")) == 0
    with database.begin_read() as reader:
        assert reader.scalar(text("SELECT count(*) FROM t")) == 1


def test_a_second_writer_waits_and_then_gives_up_with_a_clear_error(database):
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with database.begin_write():
            entered.set()
            leave.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(60)
    try:
        with pytest.raises(CatalogUnavailable, match="catalog_timeout"):
            database.begin_write().__enter__()
    finally:
        leave.set()
        holder.join()
    with database.begin_write():
        pass


# -- migrations -----------------------------------------------------------------------------------


def test_migrations_are_applied_once_and_are_numbered_without_gaps(database):
    steps = read_migrations()
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert migrate(database, ManualClock(), Failpoints()) == steps
    assert migrate(database, ManualClock(), Failpoints()) == []


def test_a_migration_that_breaks_off_leaves_nothing(database):
    with pytest.raises(FailpointReached):
        migrate(database, ManualClock(), Failpoints.from_text("migrate.inside=raise"))
    with database.begin_read() as connection:
        assert connection.scalars(text("SELECT name FROM sqlite_master")).all() == []
    assert migrate(database, ManualClock(), Failpoints()) == read_migrations()


def test_a_lake_of_a_later_release_is_refused(tmp_path):
    with ab.connect(tmp_path / "lake") as lake, lake._context.catalog.database.begin_write() as connection:
        connection.execute(text("INSERT INTO anabranch_migrations VALUES (9999, 'tomorrow', 0)"))
    with pytest.raises(LakeTooNew) as caught:
        ab.connect(tmp_path / "lake")
    assert caught.value.code == "AB306"
    assert "9999" in str(caught.value)
