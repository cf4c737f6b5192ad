"""Applying while others are at work, and what follows for gates, cycles and writers."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.errors import (
    BrokenDefinition,
    PlanOutdated,
)
from tests.crash.promises import check_promises
from tests.project.folders import BY_REGION, SUMMARY, YML, Folder
from tests.project.looking import BIG, FEWER, everything
from tests.project.upheaval import AFTER, BEFORE, SALES
from tests.streams.shop import all_right, one, rows, sell, totals

pytestmark = pytest.mark.rotating(2)


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda lake: lake.alter_stream_table("by_region", schedule="9m"),
        lambda lake: lake.drop_stream_table("summary"),
        lambda lake: lake.create_stream_table("big", "SELECT 1 AS a"),
        lambda lake: lake.alter_stream_table("by_region", query=FEWER),
    ],
    ids=["options", "drop", "create", "query"],
)
def test_a_plan_is_refused_once_the_lake_is_another(shop, applied, meanwhile):
    shop.write({"tables/by_region.sql": BY_REGION.replace("1m", "2m"), "tables/big.sql": BIG})
    plan = shop.load().plan(applied)
    meanwhile(applied)
    before = everything(applied)
    with pytest.raises(PlanOutdated):
        shop.load().apply(applied, plan)
    assert everything(applied) == before


def test_a_plan_is_refused_once_the_files_are_others(shop, applied):
    shop.write({"tables/big.sql": BIG})
    plan = shop.load().plan(applied)
    shop.write({"tables/by_region.sql": BY_REGION.replace("1m", "2m")})
    with pytest.raises(PlanOutdated):
        shop.load().apply(applied, plan)


def test_rows_and_refreshes_meanwhile_do_not_make_a_plan_outdated(shop, applied):
    shop.write({"tables/big.sql": BIG, "tables/by_region.sql": BY_REGION.replace("AS n", "AS many")})
    plan = shop.load().plan(applied)
    sell(applied, 4, amount=50)
    applied.refresh_stream_table("summary")
    sell(applied, 5, amount=50)
    shop.load().apply(applied, plan)
    assert totals(applied) == (135, 135)
    assert all_right(applied)


def test_new_stream_tables_over_gated_sources_wait(shop, applied):
    applied.gate_source("sales")
    shop.write({"tables/other.sql": "CREATE STREAM TABLE other AS SELECT COUNT(*) AS n FROM sales;"})
    shop.load().apply(applied)
    assert one(applied, "other").status == "INITIALIZING"
    applied.ungate_source("sales")
    applied.tick()
    assert rows(applied, "other") == {(3,): 1}
    assert all_right(applied)


def test_a_stream_table_may_be_filled_later(shop, applied):
    shop.write({"tables/later.sql": BIG.replace("big AS", "big WITH (initialize = FALSE) AS")})
    plan = shop.load().apply(applied)
    assert not plan.created[0].fills
    assert one(applied, "big").status == "INITIALIZING"
    assert shop.load().plan(applied).empty


def test_a_cycle_is_closed_by_a_project(folder):
    folder.write(
        {
            "anabranch.yml": YML + "settings:\n  allow_circular: true\n",
            "all.sql": """
                CREATE TABLE edges (a BIGINT, b BIGINT);
                CREATE STREAM TABLE odd AS
                    SELECT a, b FROM edges UNION SELECT e.a, p.b FROM edges e JOIN even p ON e.b = p.a;
                CREATE STREAM TABLE even AS SELECT e.a, p.b FROM edges e JOIN odd p ON e.b = p.a;
            """,
        }
    )
    with folder.connect() as lake:
        plan = folder.load().apply(lake)
        assert ("cycle", ("even", "odd")) in [(each.kind, each.members) for each in plan.together]
        lake.insert("edges", [(1, 2), (2, 3), (3, 1)])
        lake.refresh_stream_table("odd")
        assert rows(lake, "even").total() == 9
        assert folder.load().plan(lake).empty
        assert all_right(lake)


def test_immediate_stream_tables_come_and_change_with_the_rest(shop, applied):
    now = "CREATE STREAM TABLE now WITH (refresh_mode = immediate) AS SELECT COUNT(*) AS n FROM sales;"
    shop.write({"tables/now.sql": now})
    shop.load().apply(applied)
    sell(applied, 4)
    assert rows(applied, "now") == {(4,): 1}
    shop.write({"tables/now.sql": now.replace("FROM", ", MAX(id) AS newest FROM")})
    shop.load().apply(applied)
    sell(applied, 5)
    assert rows(applied, "now") == {(5, 5): 1}
    assert shop.load().plan(applied).empty


def test_an_upstream_that_is_behind_is_brought_up_first(shop, applied):
    applied.create_stream_table("mine", "SELECT id, region FROM sales", schedule=None)
    shop.write({"tables/top.sql": "CREATE STREAM TABLE top AS SELECT COUNT(*) AS n FROM sales;"})
    shop.load().apply(applied)
    sell(applied, 4)
    applied.refresh_stream_table("top")
    shop.write({"tables/top.sql": "CREATE STREAM TABLE top AS SELECT COUNT(*) AS n FROM mine;"})
    shop.load().apply(applied)
    assert rows(applied, "top") == {(4,): 1}
    assert all_right(applied)


def test_the_summary_stays_what_its_query_says(shop, applied):
    shop.write({"tables/summary.sql": SUMMARY.replace("p.total AS", "p.total + 0 AS")})
    shop.load().apply(applied)
    assert totals(applied) == (35, 35)


def test_on_either_catalog_all_of_it_is_one_commit(tmp_path, clock, catalog):
    folder = Folder(tmp_path / "shop", clock)
    folder.write(BEFORE)
    with folder.connect(catalog=catalog) as lake:
        folder.load().apply(lake)
        lake.insert("sales", SALES)
        folder.write(AFTER)
        before = lake.lsn
        plan = folder.load().plan(lake)
        folder.load().apply(lake, plan)
        assert lake.lsn == before + 1
        assert folder.load().plan(lake).empty
        check_promises(lake)


def test_a_stream_table_in_error_is_mended_by_another_query(shop, applied):
    now = "CREATE STREAM TABLE copied AS SELECT * FROM mine;"
    applied.create_table("mine", "id BIGINT")
    shop.write({"tables/copied.sql": now})
    shop.load().apply(applied)
    applied.drop_table("mine")
    applied.create_table("mine", "other BIGINT")
    applied.insert("mine", [(7,)])
    with pytest.raises(BrokenDefinition):
        applied.refresh_stream_table("copied")
    assert one(applied, "copied").status == "ERROR"
    shop.write({"tables/copied.sql": now.replace("*", "other AS id")})
    shop.load().apply(applied)
    assert one(applied, "copied").status == "ACTIVE"
    assert rows(applied, "copied") == {(7,): 1}


def test_what_is_rebuilt_passes_gates_and_says_so(shop, applied):
    applied.gate_source("sales")
    shop.write({"tables/by_region.sql": BY_REGION.replace("FROM sales", "FROM sales WHERE id > 1")})
    with pytest.warns(ab.Notice, match="filled at once, although"):
        shop.load().apply(applied)
    assert rows(applied, "by_region") == {("south", 25, 2): 1}
    assert all_right(applied)


def test_state_that_a_rebuilt_stream_table_needs_no_more_goes(shop, applied):
    stateful = """CREATE STREAM TABLE counted AS SELECT region, COUNT(DISTINCT product) AS n FROM sales
        GROUP BY region HAVING MAX(amount) > (SELECT AVG(amount) FROM sales);"""
    plain = applied.snapshot().tables()
    shop.write({"tables/counted.sql": stateful})
    shop.load().apply(applied)
    assert len(applied.snapshot().tables()) > len(plain) + 1
    shop.write({"tables/counted.sql": "CREATE STREAM TABLE counted AS SELECT region FROM sales;"})
    shop.load().apply(applied)
    assert applied.snapshot().tables() == sorted([*plain, "counted"])
    shop.write({"tables/counted.sql": stateful})
    shop.load().apply(applied)
    shop.remove("tables/counted.sql")
    shop.load().apply(applied)
    assert applied.snapshot().tables() == plain
    check_promises(applied)
