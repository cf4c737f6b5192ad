"""When definitions change, options are set and stream tables rebuilt; those without a file go."""

from __future__ import annotations

import pytest

from anabranch.errors import (
    HasDependents,
)
from tests.project.folders import BY_PRODUCT, BY_REGION, SHOP
from tests.project.looking import BIG, GROUP, NOTHING, everything, names
from tests.streams.shop import actions, all_right, one, rows, sell, totals


def test_other_options_are_set_without_a_refresh(shop, applied):
    shop.write({"tables/by_region.sql": BY_REGION.replace("'1m'", "'5m', fuse = 'on', fuse_ceiling = 7")})
    before = actions(applied)
    plan = shop.load().apply(applied)
    assert [str(change) for change in plan.altered[0].options] == [
        "schedule 1m → 5m",
        "fuse off → on",
        "fuse_ceiling none → 7",
    ]
    assert actions(applied) == before
    assert one(applied, "by_region").schedule == "5m"
    assert shop.load().plan(applied).empty


def test_an_option_that_is_named_no_more_gets_its_default(shop, applied):
    shop.write({"tables/by_region.sql": BY_REGION.replace("WITH (schedule = '1m') ", "")})
    shop.load().apply(applied)
    assert one(applied, "by_region").schedule == "calculated"


def test_blanks_and_comments_are_no_other_query(shop, applied):
    shop.write({"tables/by_region.sql": BY_REGION.replace("SELECT region,", "SELECT  -- where\n   region,")})
    assert shop.load().plan(applied).empty


def test_another_query_rebuilds_a_stream_table_with_all_that_moves_with_it(shop, applied):
    shop.write({"tables/by_region.sql": BY_REGION.replace("FROM sales", "FROM sales WHERE amount > 5")})
    plan = shop.load().apply(applied)
    assert names(plan) == NOTHING | {"rebuilt": ["by_region"]}
    assert totals(applied) == (30, 35)
    assert applied.lsn == 4
    assert {each.lsn for each in applied.tables()} == {2, 3, 4}
    assert all_right(applied)


def test_what_reads_other_columns_is_rebuilt_too(shop, applied):
    shop.write({"tables/big.sql": BIG})
    shop.load().apply(applied)
    shop.write({"tables/by_region.sql": BY_REGION.replace("AS n", "AS n, MAX(amount) AS most")})
    plan = shop.load().plan(applied)
    assert {each.name: each.why for each in plan.rebuilt} == {
        "by_region": "its query changes",
        "big": "the columns of what it reads change",
    }
    before = applied.lsn
    shop.load().apply(applied, plan)
    assert applied.lsn == before + 1
    assert rows(applied, "big") == {("south", 25, 2, 20): 1}
    assert all_right(applied)
    assert shop.load().plan(applied).empty


def test_a_change_of_mode_is_a_change_of_definition(shop, applied):
    shop.write({"tables/by_region.sql": BY_REGION.replace("'1m'", "'1m', refresh_mode = 'full'")})
    plan = shop.load().apply(applied)
    assert plan.rebuilt[0].why == "its refresh_mode changes"
    assert all_right(applied)
    assert shop.load().plan(applied).empty


def test_create_alter_rebuild_drop_and_groups_share_one_commit(shop, applied):
    sell(applied, 4, amount=100)
    shop.write(
        {
            "anabranch.yml": GROUP.replace("by_region, by_product", "by_region, big"),
            "tables/by_region.sql": BY_REGION.replace("AS n", "AS many"),
            "tables/by_product.sql": BY_PRODUCT.replace("1m", "9m"),
            "tables/big.sql": BIG,
        }
    )
    shop.remove("tables/summary.sql")
    plan = shop.load().plan(applied)
    assert names(plan) == {
        "tables": [],
        "created": ["big"],
        "altered": ["by_product"],
        "rebuilt": ["by_region"],
        "dropped": ["summary"],
    }
    before = applied.lsn
    shop.load().apply(applied, plan)
    assert applied.lsn == before + 1
    assert [each.name for each in applied.status()] == ["big", "by_product", "by_region"]
    assert applied.refresh_groups()[0].members == ("by_region", "big")
    assert all_right(applied)
    assert shop.load().plan(applied).empty


def test_what_no_file_names_any_more_is_dropped(shop, applied):
    shop.remove("tables/summary.sql")
    plan = shop.load().apply(applied)
    assert plan.dropped == ("summary",)
    assert [each.name for each in applied.status()] == ["by_product", "by_region"]
    assert [each.name for each in applied.tables()] == ["by_product", "by_region", "sales"]


def test_it_stays_if_dropping_is_not_wanted(shop, applied):
    shop.remove("tables/summary.sql")
    assert shop.load().apply(applied, drop=False).empty
    assert len(applied.status()) == 3
    assert shop.load().plan(applied).dropped == ("summary",)


def test_what_people_made_is_never_dropped(shop, applied):
    applied.create_stream_table("mine", "SELECT COUNT(*) AS n FROM sales")
    applied.create_refresh_group("ours", ["mine", "by_product"])
    applied.create_table("notes", "id BIGINT")
    plan = shop.load().plan(applied)
    assert plan.empty
    assert plan.unnamed_sources == ("notes",)
    assert "Sources that no file names stay as they are: notes." in str(plan)


def test_what_people_made_and_a_file_names_is_altered_and_never_dropped(shop, applied):
    applied.create_stream_table("mine", "SELECT COUNT(*) AS n FROM sales")
    shop.write({"tables/mine.sql": "CREATE STREAM TABLE mine AS SELECT COUNT(*) AS many FROM sales;"})
    assert names(shop.load().apply(applied)) == NOTHING | {"rebuilt": ["mine"]}
    shop.remove("tables/mine.sql")
    assert shop.load().plan(applied).empty


def test_what_was_dropped_by_hand_and_made_anew_is_no_longer_the_projects(shop, applied):
    applied.drop_stream_table("summary")
    applied.create_stream_table("summary", "SELECT 1 AS one")
    shop.remove("tables/summary.sql")
    assert shop.load().plan(applied).empty


def test_sources_are_never_dropped(shop, applied):
    for name in SHOP:
        shop.remove(name)
    plan = shop.load().apply(applied)
    assert set(plan.dropped) == {"summary", "by_region", "by_product"}
    assert plan.unnamed_sources == ("sales",)
    assert rows(applied, "sales").total() == 3


def test_what_others_read_is_not_dropped_under_them(shop, applied):
    applied.create_stream_table("mine", "SELECT regional_total FROM summary")
    shop.remove("tables/summary.sql")
    before = everything(applied)
    with pytest.raises(HasDependents, match="summary"):
        shop.load().plan(applied)
    with pytest.raises(HasDependents):
        shop.load().apply(applied)
    assert everything(applied) == before
