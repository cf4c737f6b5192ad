"""Plans: what they say, and that they change nothing."""

from __future__ import annotations

import json

from anabranch.jsonable import to_jsonable
from tests.project.looking import BIG, NOTHING, everything, names
from tests.streams.shop import all_right, sell, totals


def test_a_plan_says_what_would_be_created_and_changes_nothing(shop, lake):
    before = everything(lake)
    plan = shop.load().plan(lake)
    assert names(plan) == NOTHING | {"tables": ["sales"], "created": ["by_product", "by_region", "summary"]}
    assert everything(lake) == before
    (diamond,) = plan.together
    assert (diamond.kind, diamond.members) == ("diamond", ("by_product", "by_region", "summary"))
    assert '"sales" reaches it through "by_product" and "by_region"' in diamond.because


def test_a_plan_is_json_and_prints_itself(shop, lake):
    plan = shop.load().plan(lake)
    assert json.loads(json.dumps(to_jsonable(plan)))["created"][0]["name"] == "by_product"
    text = str(plan)
    assert "+ stream table  by_region   schedule 1m, incremental, its fill reads 0 rows" in text
    assert "4 to create; 0 rows of sources to read." in text


def test_everything_is_made_in_one_commit(shop, lake):
    project = shop.load()
    done = project.apply(lake, project.plan(lake))
    assert names(done)["created"] == ["by_product", "by_region", "summary"]
    assert lake.lsn == 1
    assert {each.status for each in lake.status()} == {"ACTIVE"}
    assert {each.lsn for each in lake.tables()} == {1}
    assert all_right(lake)


def test_a_second_plan_is_empty_and_a_second_apply_does_nothing(shop, applied):
    before = everything(applied)
    plan = shop.load().plan(applied)
    assert plan.empty
    assert str(plan).startswith("Project shop: nothing to change.")
    assert shop.load().apply(applied, plan).empty
    assert everything(applied) == before


def test_what_a_project_made_is_kept_fresh(shop, applied):
    sell(applied, 4, amount=7)
    applied.refresh_stream_table("summary")
    assert totals(applied) == (42, 42)
    assert all_right(applied)


def test_a_plan_tells_what_a_fill_costs(shop, applied):
    shop.write({"tables/big.sql": BIG})
    plan = shop.load().plan(applied)
    assert plan.source_rows == 3
    assert plan.created[0].maintenance.source_rows == 3


def test_a_plan_tells_what_is_not_incremental_and_why(shop, lake):
    shop.write(
        {"tables/full.sql": "CREATE STREAM TABLE forced WITH (refresh_mode = full) AS SELECT id FROM sales;"}
    )
    plan = shop.load().plan(lake)
    assert [name for name, _ in plan.not_incremental] == ["forced"]
    assert "forced is refreshed in full: it was created with refresh_mode = full." in str(plan)
