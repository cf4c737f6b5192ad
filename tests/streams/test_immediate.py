"""Immediate stream tables: in the same commit as the write, or the write didn't happen."""

from __future__ import annotations

import threading
from decimal import Decimal

import pytest

import anabranch as ab
from anabranch.errors import ImmediateFailed, InvalidOption, NotIncremental
from tests.engines.lakes import duck_lake as open_lake
from tests.streams.shop import (
    BY_PRODUCT,
    BY_REGION,
    SUMMARY,
    actions,
    all_right,
    diamond,
    one,
    rows,
    sell,
    totals,
)

NOW = {"refresh_mode": "immediate"}


@pytest.fixture
def kept(shop: ab.Lake) -> ab.Lake:
    """Sales by region, at once."""
    shop.create_stream_table("by_region", BY_REGION, **NOW)
    return shop


# -- every verb -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda lake: sell(lake, 4),
        lambda lake: lake.update("sales", {"amount": "amount * 2"}, where="region = 'south'"),
        lambda lake: lake.delete("sales", where="id = 1"),
        lambda lake: lake.merge("sales", [(1, "west", 1, 1, 7), (9, "west", 1, 1, 8)], on=["id"]),
        lambda lake: lake.truncate("sales"),
        lambda lake: lake.sql("INSERT INTO sales VALUES (5, 'east', 1, 1, 3)"),
    ],
    ids=["insert", "update", "delete", "merge", "truncate", "sql"],
)
def test_every_verb_takes_it_along_in_one_commit(kept, write):
    before, old = kept.lsn, rows(kept, "by_region")
    write(kept)
    assert kept.lsn == before + 1
    assert rows(kept, "by_region") != old
    assert rows(kept, "by_region", as_of=before) == old
    assert kept.verify("by_region").ok
    entry = kept.refresh_history("by_region", 1)[0]
    assert entry.until == {"sales": kept.lsn}
    assert (entry.action, entry.status, entry.initiated_by) == ("IMMEDIATE", "SUCCEEDED", "writer")
    assert entry.lsn == kept.lsn


def test_a_transaction_over_five_tables_takes_all_along(shop):
    names = ["sales", *(f"t{number}" for number in range(4))]
    for name in names[1:]:
        shop.create_table(name, "id BIGINT, region STRING")
    for name in names:
        query = f"SELECT region, COUNT(*) AS n FROM {name} GROUP BY region"
        shop.create_stream_table(f"count_{name}", query, **NOW)
    shop.create_stream_table("joined", "SELECT s.id FROM sales s JOIN t0 ON s.region = t0.region", **NOW)
    before = shop.lsn
    with shop.transaction() as transaction:
        for number, name in enumerate(names[1:]):
            transaction.insert(name, [(number, "north")])
        transaction.insert("sales", [(7, "north", 1, 1, 1)])
        transaction.delete("sales", where="id = 1")
    assert shop.lsn == before + 1
    assert rows(shop, "joined") == {(7,): 1}
    assert all(rows(shop, f"count_{name}") == {("north", 1): 1} for name in names[1:])
    assert all_right(shop)


def test_what_is_written_is_read_at_once_here_and_elsewhere(kept, place, clock):
    with open_lake(place, clock=clock) as other:
        sell(kept, 4, region="west")
        for lake in (kept, other):
            assert rows(lake, "by_region")[("west", Decimal(1), 1)] == 1
        sell(other, 5, region="east")
        for lake in (kept, other):
            assert rows(lake, "by_region")[("east", Decimal(1), 1)] == 1


# -- chains, diamonds, mixtures -------------------------------------------------------------------


def test_chains_and_diamonds_of_immediate_tables_move_as_one(shop):
    diamond(shop, **NOW)
    before = shop.lsn
    sell(shop, 4)
    assert shop.lsn == before + 1
    assert totals(shop) == (Decimal(36), Decimal(36))
    assert {table.lsn for table in shop.tables()} == {shop.lsn}
    assert shop.diamond_groups() == []
    assert all_right(shop)


def test_scheduled_tables_below_immediate_ones_go_on_as_ever(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, **NOW)
    shop.create_stream_table("by_product", BY_PRODUCT, **NOW)
    shop.create_stream_table("summary", SUMMARY, schedule="1m", refresh_mode="differential")
    sell(shop, 4)
    assert totals(shop) == (Decimal(35), Decimal(35))
    clock.advance(60)
    assert shop.tick().refreshed == ("summary",)
    assert totals(shop) == (Decimal(36), Decimal(36))
    assert shop.refresh_history("summary", 1)[0].action == "DIFFERENTIAL"
    assert all_right(shop)


def test_over_a_scheduled_table_it_is_refused(shop):
    shop.create_stream_table("by_region", BY_REGION)
    with pytest.raises(InvalidOption, match="by_region"):
        shop.create_stream_table("big", "SELECT region FROM by_region WHERE revenue > 1", **NOW)
    with pytest.raises(NotIncremental):
        shop.create_stream_table("chance", "SELECT rand() AS r FROM sales", **NOW)
    shop.create_stream_table("a", "SELECT id FROM sales", **NOW)
    shop.create_stream_table("b", "SELECT id FROM a", **NOW)
    with pytest.raises(InvalidOption, match='"b"'):
        shop.alter_stream_table("a", refresh_mode="auto")


def test_a_write_that_does_not_concern_it_leaves_it_alone(kept):
    kept.create_table("other", "id BIGINT")
    entries = len(actions(kept))
    kept.insert("other", [(1,)])
    kept.compact("sales")
    assert len(actions(kept)) == entries


# -- failure --------------------------------------------------------------------------------------


def test_a_failing_maintenance_fails_the_write_and_names_the_stream_table(shop):
    diamond(shop, **NOW)
    before = shop.lsn, rows(shop, "sales"), totals(shop), actions(shop)
    with pytest.raises(ImmediateFailed, match="by_product"):
        sell(shop, 4, pieces=0)
    transaction = shop.transaction()
    transaction.delete("sales", where="id = 1")
    transaction.insert("sales", [(5, "north", 1, 0, 1)])
    with pytest.raises(ImmediateFailed):
        transaction.commit()
    assert (shop.lsn, rows(shop, "sales"), totals(shop), actions(shop)) == before
    sell(shop, 4)
    assert all_right(shop)


def test_suspended_it_lets_writes_pass_and_catches_up_when_resumed(kept):
    kept.suspend_stream_table("by_region")
    old = rows(kept, "by_region")
    sell(kept, 4)
    assert rows(kept, "by_region") == old
    kept.resume_stream_table("by_region")
    assert kept.tick().refreshed == ("by_region",)
    assert kept.verify("by_region").ok
    kept.suspend_stream_table("by_region")
    sell(kept, 5)
    kept.resume_stream_table("by_region")
    sell(kept, 6)  # the next write takes along what was missed
    assert rows(kept, "by_region")[("north", Decimal(13), 4)] == 1
    assert kept.verify("by_region").ok


# -- several writers ------------------------------------------------------------------------------


def test_of_several_writers_none_is_lost(place, clock):
    with open_lake(place, clock=clock) as lake:
        lake.create_table("sales", "id BIGINT, region STRING, amount BIGINT")
        lake.create_table("regions", "region STRING, label STRING")
        lake.create_stream_table(
            "labelled", "SELECT s.id, r.label FROM sales s JOIN regions r ON s.region = r.region", **NOW
        )
        lake.create_stream_table("total", "SELECT SUM(amount) AS total, COUNT(*) AS n FROM sales", **NOW)
        errors: list[Exception] = []

        def write(number: int) -> None:
            try:
                for round in range(5):
                    lake.insert("sales", [(number * 10 + round, f"r{number}", 1)])
                    lake.insert("regions", [(f"r{(number + 1) % 4}", f"label {number} {round}")])
            except Exception as error:  # noqa: BLE001
                errors.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert rows(lake, "total") == {(20, 20): 1}
        assert len(rows(lake, "labelled")) == 4 * 5 * 5
        assert lake.verify("labelled").ok
        assert lake.verify("total").ok
        for entry in lake.refresh_history("total", 1000):
            if entry.lsn is not None:
                n = sum(rows(lake, "sales", as_of=entry.lsn).values())
                assert rows(lake, "total", as_of=entry.lsn) == {(n or None, n): 1}


def test_two_writes_that_only_matter_together_are_both_seen(shop):
    shop.create_table("regions", "region STRING, label STRING")
    shop.create_stream_table(
        "labelled", "SELECT s.id, r.label FROM sales s JOIN regions r ON s.region = r.region", **NOW
    )
    one_of_two = shop.transaction()
    one_of_two.insert("regions", [("west", "far")])
    sell(shop, 4, region="west")
    one_of_two.commit()
    assert rows(shop, "labelled") == {(4, "far"): 1}
    assert shop.verify("labelled").ok


def test_a_write_that_began_before_it_was_created_takes_it_along(shop):
    early = shop.transaction()
    early.insert("sales", [(4, "west", 1, 1, 1)])
    shop.create_stream_table("by_region", BY_REGION, **NOW)
    early.commit()
    assert rows(shop, "by_region")[("west", Decimal(1), 1)] == 1
    assert shop.verify("by_region").ok


# -- changing the mode ----------------------------------------------------------------------------


def test_the_mode_is_changed_to_immediate_and_back(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", refresh_mode="differential")
    sell(shop, 4)
    shop.alter_stream_table("by_region", **NOW)
    assert rows(shop, "by_region")[("north", Decimal(11), 2)] == 1
    sell(shop, 5)
    assert rows(shop, "by_region")[("north", Decimal(12), 3)] == 1
    found = one(shop, "by_region")
    assert (found.refresh_mode, found.effective_schedule) == ("immediate", None)
    shop.alter_stream_table("by_region", refresh_mode="differential")
    sell(shop, 6)
    assert rows(shop, "by_region")[("north", Decimal(12), 3)] == 1
    clock.advance(60)
    shop.tick()
    assert rows(shop, "by_region")[("north", Decimal(13), 4)] == 1
    assert all_right(shop)


def test_altering_its_query_takes_its_followers_along(shop):
    shop.create_stream_table("a", "SELECT id, region FROM sales", **NOW)
    shop.create_stream_table("b", "SELECT region, COUNT(*) AS n FROM a GROUP BY region", **NOW)
    before = shop.lsn
    shop.alter_stream_table("a", query="SELECT id, region FROM sales WHERE id > 1")
    assert shop.lsn == before + 1
    assert rows(shop, "b") == {("south", 2): 1}
    sell(shop, 4)
    assert rows(shop, "b") == {("south", 2): 1, ("north", 1): 1}
    assert all_right(shop)
