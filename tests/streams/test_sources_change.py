"""Sources that change their shape, go, and come back: said clearly, and never guessed around."""

from __future__ import annotations

import pytest

from anabranch.errors import BrokenDefinition, RefreshHeld
from tests.streams.shop import BY_REGION, COLUMNS, all_right, one, rows, sell

IDS = "SELECT id, region FROM sales"


def test_a_dropped_source_holds_what_reads_it_until_it_is_back(shop, clock):
    shop.create_stream_table("ids", IDS, schedule="1m")
    before = rows(shop, "ids")
    shop.drop_table("sales")
    clock.advance(60)
    assert shop.tick().held == (("ids", '"ids" reads "sales", which does not exist'),)
    with pytest.raises(RefreshHeld):
        shop.refresh_stream_table("ids")
    assert rows(shop, "ids") == before
    shop.create_table("sales", COLUMNS)
    sell(shop, 9)
    clock.advance(60)
    assert shop.tick().refreshed == ("ids",)
    assert rows(shop, "ids") == {(9, "north"): 1}
    assert shop.refresh_history("ids", 1)[0].action == "REINITIALIZE"
    assert all_right(shop)


def test_a_source_made_anew_within_one_commit_is_another_table(shop, clock):
    shop.create_stream_table("ids", IDS, schedule="1m")
    with shop.transaction() as transaction:
        transaction.drop_table("sales")
        transaction.create_table("sales", COLUMNS)
        transaction.insert("sales", [(7, "west", 1, 1, 1)])
    clock.advance(60)
    shop.tick()
    assert rows(shop, "ids") == {(7, "west"): 1}
    assert all_right(shop)


def test_a_column_that_a_query_uses_and_that_is_gone_is_an_error_with_its_name(shop, clock):
    shop.create_stream_table("ids", IDS, schedule="1m")
    before = rows(shop, "ids")
    shop.drop_table("sales")
    shop.create_table("sales", "id BIGINT, place STRING")
    clock.advance(60)
    assert [name for name, _ in shop.tick().failed] == ["ids"]
    found = one(shop, "ids")
    assert found.status == "ERROR"
    assert "region" in found.last_error
    clock.advance(600)
    assert shop.tick().held[0][0] == "ids"  # not tried again and again
    assert rows(shop, "ids") == before
    shop.drop_table("sales")
    shop.create_table("sales", COLUMNS)
    shop.resume_stream_table("ids")
    clock.advance(60)
    shop.tick()
    assert one(shop, "ids").status == "ACTIVE"
    assert all_right(shop)


def test_another_type_of_a_column_is_an_error_until_the_query_is_altered(shop):
    shop.create_stream_table("ids", IDS)
    shop.drop_table("sales")
    shop.create_table("sales", COLUMNS.replace("id BIGINT", "id STRING"))
    shop.insert("sales", [("x", "north", 1, 1, 1)])
    with pytest.raises(BrokenDefinition):
        shop.refresh_stream_table("ids")
    assert one(shop, "ids").status == "ERROR"
    shop.alter_stream_table("ids", query=IDS)
    assert one(shop, "ids").status == "ACTIVE"
    assert rows(shop, "ids") == {("x", "north"): 1}
    assert all_right(shop)


def test_a_column_more_in_a_source_changes_nothing(shop):
    shop.create_stream_table("by_region", BY_REGION)
    shop.drop_table("sales")
    shop.create_table("sales", COLUMNS + ", note STRING")
    shop.insert("sales", [(1, "north", 1, 1, 1, "first")])
    shop.refresh_stream_table("by_region")
    assert len(rows(shop, "by_region")) == 1
    assert all_right(shop)


def test_a_star_does_not_widen_by_itself(shop):
    shop.create_stream_table("copy", "SELECT * FROM sales")
    shop.drop_table("sales")
    shop.create_table("sales", COLUMNS + ", note STRING")
    with pytest.raises(BrokenDefinition) as error:
        shop.refresh_stream_table("copy")
    assert "alter_stream_table" in error.value.hint
    shop.resume_stream_table("copy")
    shop.alter_stream_table("copy", query="SELECT * FROM sales")
    assert [column.name for table in shop.tables() if table.name == "copy" for column in table.schema][
        -1
    ] == "note"


def test_an_upstream_made_anew_by_alter_carries_its_readers_along(shop, clock):
    shop.create_stream_table("a", IDS, schedule="1m")
    shop.create_stream_table("b", "SELECT region, COUNT(*) AS n FROM a GROUP BY region", schedule="1m")
    shop.alter_stream_table("a", query="SELECT id, region, amount FROM sales WHERE id <> 2")
    clock.advance(60)
    assert shop.tick().refreshed == ("b",)
    assert rows(shop, "b") == {("north", 1): 1, ("south", 1): 1}
    assert all_right(shop)
