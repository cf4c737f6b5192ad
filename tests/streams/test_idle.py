"""A tick with nothing to do: no statement, no write, and not a word in the history but the first."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from anabranch.ledger.ledger import read_tables
from anabranch.ledger.stream_tables import read_streams
from tests.engines.duck import DuckEngine
from tests.engines.lakes import duck_lake
from tests.streams.many import enter_many
from tests.streams.shop import diamond, sell

MANY, FEW = 1_000, 50


@pytest.fixture
def crowd(place, clock, monkeypatch, request):
    """Many stream tables on an engine that must not be asked anything."""
    methods = [name for name, value in vars(DuckEngine).items() if callable(value) and name[0] != "_"]

    def forbid(name: str):
        return lambda *_, **__: pytest.fail(f"the engine was asked: {name}")

    with duck_lake(place, clock=clock) as lake:
        enter_many(lake, getattr(request, "param", FEW))
        with monkeypatch.context() as patched:
            for name in methods:
                patched.setattr(DuckEngine, name, forbid(name))
            yield lake


@pytest.mark.parametrize("crowd", [MANY], indirect=True)
def test_a_thousand_that_are_due_and_unchanged_ask_nothing_of_the_engine(crowd, clock):
    before = crowd.lsn
    for round in range(3):
        clock.advance(60)
        report = crowd.tick()
        assert (report.leads, len(report.unchanged), report.refreshed, report.held) == (True, MANY, (), ())
        assert len(crowd.refresh_history(limit=10_000)) == MANY, round
    assert crowd.lsn == before


def test_those_that_are_not_due_ask_nothing_either(crowd):
    report = crowd.tick()
    assert (report.leads, report.unchanged, report.refreshed) == (True, (), ())
    assert report.next_due is not None
    assert crowd.refresh_history() == []


def test_a_tick_with_nothing_to_do_writes_nothing_but_its_lease(crowd, clock):
    clock.advance(60)
    crowd.tick()
    written: list[str] = []

    def look(_connection, _cursor, statement, *_rest):
        if not statement.lstrip().upper().startswith(("SELECT", "BEGIN", "PRAGMA")):
            written.append(statement)

    engine = crowd._context.catalog.database.engine
    event.listen(engine, "before_cursor_execute", look)
    clock.advance(60)
    crowd.tick()
    event.remove(engine, "before_cursor_execute", look)
    assert len(written) == 2
    assert all("anabranch_leases" in statement for statement in written)


def test_rows_that_did_not_change_are_not_parsed_again(crowd):
    database = crowd._context.catalog.database
    with database.begin_read() as connection:
        streams, tables = read_streams(connection), read_tables(connection)
    with database.begin_read() as connection:
        assert all(stream is streams[name] for name, stream in read_streams(connection).items())
        assert all(one is other for one, other in zip(read_tables(connection), tables, strict=True))


def test_what_is_known_of_one_lake_is_not_taken_for_another(place, clock, tmp_path):
    """The same names, in lakes that differ."""
    with duck_lake(place, clock=clock) as one, duck_lake(tmp_path / "other", clock=clock) as two:
        for lake, amount in ((one, 1), (two, 2)):
            lake.create_table(
                "sales", "id BIGINT, region STRING, product BIGINT, pieces BIGINT, amount DECIMAL(12,2)"
            )
            diamond(lake)
            sell(lake, 1, amount=amount)
        clock.advance(60)
        for lake, amount in ((one, 1), (two, 2)):
            assert len(lake.tick().refreshed) == 3
            (row,) = lake.arrow("summary").to_pylist()
            assert set(row.values()) == {amount}
