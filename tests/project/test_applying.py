"""A project applied to a lake: all of it in one commit, as the plan said, and then there is nothing left."""

from __future__ import annotations

import json

import pytest

import anabranch as ab
from anabranch.errors import (
    BrokenDefinition,
    CircularDefinition,
    DifferentColumns,
    HasDependents,
    InvalidGroup,
    InvalidOption,
    NameTaken,
    NotASource,
    OwnedElsewhere,
    PlanOutdated,
    RefreshHeld,
    UnknownColumnInQuery,
    UnknownTable,
)
from anabranch.jsonable import jsonable
from tests.crash.promises import check_promises
from tests.project.folders import BY_PRODUCT, BY_REGION, SHOP, SUMMARY, YML, Folder
from tests.project.upheaval import AFTER, BEFORE, SALES
from tests.streams.shop import actions, all_right, one, rows, sell, totals

GROUP = YML + "refresh_groups:\n  both: {members: [by_region, by_product]}\n"
FEWER = "SELECT region, SUM(amount) AS revenue, COUNT(*) AS n FROM sales WHERE id > 1 GROUP BY region"
BIG = "CREATE STREAM TABLE big AS SELECT * FROM by_region WHERE revenue > 10;"


def everything(lake: ab.Lake) -> object:
    """All that a reader can see."""
    return (
        lake.lsn,
        lake.tables(),
        lake.status(),
        lake.refresh_history(),
        lake.refresh_groups(),
        lake.watermark_groups(),
        [lake.explain(each.name).query for each in lake.status()],
    )


def names(plan):
    return {
        "tables": [each.name for each in plan.new_tables],
        "created": [each.name for each in plan.created],
        "altered": [each.name for each in plan.altered],
        "rebuilt": [each.name for each in plan.rebuilt],
        "dropped": list(plan.dropped),
    }


NOTHING = {"tables": [], "created": [], "altered": [], "rebuilt": [], "dropped": []}


@pytest.fixture
def applied(shop, lake):
    """The shop, in a lake, with a few sales."""
    shop.load().apply(lake)
    lake.insert("sales", [(1, "north", 1, 1, 10), (2, "south", 1, 2, 20), (3, "south", 2, 1, 5)])
    lake.refresh_stream_table("summary")
    return lake


# -- plans ----------------------------------------------------------------------------------------


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
    assert json.loads(json.dumps(jsonable(plan)))["created"][0]["name"] == "by_product"
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


# -- altering -------------------------------------------------------------------------------------


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


# -- dropping -------------------------------------------------------------------------------------


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


# -- groups ---------------------------------------------------------------------------------------


def test_groups_come_change_and_go(shop, applied):
    shop.write({"anabranch.yml": GROUP})
    plan = shop.load().apply(applied)
    assert [(each.action, each.name, each.members) for each in plan.groups] == [
        ("create", "both", ("by_region", "by_product"))
    ]
    assert shop.load().plan(applied).empty
    shop.write({"anabranch.yml": GROUP.replace("]}", "], isolation: repeatable_read}")})
    assert [each.action for each in shop.load().apply(applied).groups] == ["change"]
    assert applied.refresh_groups()[0].isolation == "repeatable_read"
    assert shop.load().plan(applied).empty
    shop.write({"anabranch.yml": YML})
    assert [each.action for each in shop.load().apply(applied).groups] == ["drop"]
    assert applied.refresh_groups() == []


def test_a_group_of_stream_tables_that_are_created_with_it(shop, lake):
    shop.write({"anabranch.yml": GROUP})
    shop.load().apply(lake)
    assert lake.refresh_groups()[0].members == ("by_product", "by_region")
    assert lake.lsn == 1


def test_a_group_goes_with_its_members(shop, applied):
    shop.write({"anabranch.yml": GROUP})
    shop.load().apply(applied)
    shop.write({"anabranch.yml": YML})
    shop.remove("tables/summary.sql")
    shop.remove("tables/by_region.sql")
    shop.load().apply(applied)
    assert applied.refresh_groups() == []
    assert [each.name for each in applied.status()] == ["by_product"]
    assert shop.load().plan(applied).empty


def test_watermark_groups_come_change_and_go(shop, applied):
    both = "watermark_groups:\n  loaded: {sources: [sales, returns], tolerance: 5m}\n"
    shop.write({"anabranch.yml": YML + both, "more.sql": "CREATE TABLE returns (id BIGINT);"})
    plan = shop.load().apply(applied)
    assert [(each.kind, each.action) for each in plan.groups] == [("watermark_group", "create")]
    assert applied.watermark_groups()[0].tolerance_seconds == 300
    assert shop.load().plan(applied).empty
    shop.write({"anabranch.yml": YML + both.replace("5m", "1h")})
    assert [each.action for each in shop.load().apply(applied).groups] == ["change"]
    assert applied.watermark_groups()[0].tolerance_seconds == 3600
    shop.write({"anabranch.yml": YML})
    shop.load().apply(applied)
    assert applied.watermark_groups() == []
    assert shop.load().plan(applied).empty


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (YML + "refresh_groups:\n  g: {members: [by_region, nobody]}\n", ab.AnabranchError),
        (YML + "watermark_groups:\n  g: {sources: [sales, by_region]}\n", NotASource),
        (YML + "watermark_groups:\n  g: {sources: [sales, nobody]}\n", UnknownTable),
    ],
)
def test_a_group_that_can_not_be_is_refused_and_nothing_else_happens(shop, applied, text, error):
    shop.write({"anabranch.yml": text, "tables/big.sql": BIG})
    before = everything(applied)
    with pytest.raises(error):
        shop.load().apply(applied)
    assert everything(applied) == before


def test_a_member_of_a_group_that_people_declared_is_not_taken_from_it(shop, applied):
    applied.create_stream_table("mine", "SELECT COUNT(*) AS n FROM sales")
    applied.create_refresh_group("ours", ["mine", "by_product"])
    shop.write({"anabranch.yml": GROUP})
    with pytest.raises(InvalidGroup, match="ours"):
        shop.load().plan(applied)


# -- sources --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (
            "id BIGINT, region STRING, product BIGINT, pieces BIGINT",
            "amount DECIMAL(12,2) is not in the file",
        ),
        (
            "id BIGINT, region STRING, product BIGINT, pieces BIGINT, amount DECIMAL(12, 2), x INT",
            "x INT is missing in the lake",
        ),
        (
            "id BIGINT, region BIGINT, product BIGINT, pieces BIGINT, amount DECIMAL(12, 2)",
            "region STRING in the lake is region BIGINT in the file",
        ),
        (
            "id BIGINT NOT NULL, region STRING, product BIGINT, pieces BIGINT, amount DECIMAL(12, 2)",
            "id BIGINT in the lake is id BIGINT NOT NULL in the file",
        ),
        (
            "region STRING, id BIGINT, product BIGINT, pieces BIGINT, amount DECIMAL(12, 2)",
            "the columns stand in another order",
        ),
    ],
)
def test_a_source_with_other_columns_is_an_error_that_tells_the_difference(shop, applied, columns, told):
    shop.write({"sources.sql": f"\nCREATE TABLE sales ({columns});"})
    with pytest.raises(DifferentColumns) as caught:
        shop.load().plan(applied)
    assert caught.value.detail == f"sources.sql, line 2: {told}."


def test_a_name_is_not_taken_by_another_kind_of_table(shop, applied):
    shop.write({"sources.sql": SHOP["sources.sql"] + "CREATE TABLE summary (id INT);"})
    shop.remove("tables/summary.sql")
    with pytest.raises(NameTaken, match="summary"):
        shop.load().plan(applied)
    shop.write({**SHOP, "tables/other.sql": "CREATE STREAM TABLE notes AS SELECT 1 AS a;"})
    applied.create_table("notes", "id INT")
    with pytest.raises(NameTaken, match="notes"):
        shop.load().plan(applied)


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"a.sql": "CREATE STREAM TABLE a AS SELECT nothing FROM sales;"}, UnknownColumnInQuery),
        ({"a.sql": "CREATE STREAM TABLE a AS SELECT 1 AS x FROM nowhere;"}, UnknownTable),
        (
            {
                "a.sql": "CREATE STREAM TABLE a AS SELECT x FROM b UNION SELECT id AS x FROM sales;",
                "b.sql": "CREATE STREAM TABLE b AS SELECT x FROM a;",
            },
            CircularDefinition,
        ),
        (
            {"a.sql": "CREATE STREAM TABLE a WITH (refresh_mode = immediate, fuse = on) AS SELECT 1 AS a;"},
            InvalidOption,
        ),
        (
            {"a.sql": "CREATE STREAM TABLE a WITH (refresh_mode = immediate) AS SELECT n FROM by_region;"},
            InvalidOption,
        ),
    ],
)
def test_a_definition_that_can_not_be_leaves_the_lake_as_it_was(shop, applied, files, error):
    shop.write({**files, "tables/by_region.sql": BY_REGION.replace("1m", "2m")})
    before = everything(applied)
    with pytest.raises(error):
        shop.load().plan(applied)
    with pytest.raises(error):
        shop.load().apply(applied)
    assert everything(applied) == before


def test_a_query_that_fails_when_it_runs_leaves_the_lake_as_it_was(shop, applied):
    shop.write(
        {
            "tables/by_region.sql": BY_REGION.replace("1m", "2m"),
            "tables/bad.sql": "CREATE STREAM TABLE bad AS SELECT CAST(region AS INT) AS n FROM sales;",
            "more.sql": "CREATE TABLE returns (id BIGINT);",
        }
    )
    shop.remove("tables/summary.sql")
    before = everything(applied)
    with pytest.raises(ab.AnabranchError):
        shop.load().apply(applied)
    assert everything(applied) == before


def test_readers_of_others_must_go_on_as_they_are(shop, applied):
    applied.create_stream_table("mine", "SELECT * FROM by_region")
    shop.write({"tables/by_region.sql": BY_REGION.replace("AS n", "AS many")})
    with pytest.raises(BrokenDefinition, match="mine"):
        shop.load().plan(applied)


def test_what_another_project_made_is_not_taken_over(shop, applied, tmp_path, clock):
    other = Folder(tmp_path / "other", clock).write(
        {"anabranch.yml": f"name: other\nlake: {shop.path}/lake\n", "a.sql": BY_REGION}
    )
    with pytest.raises(OwnedElsewhere, match="shop"):
        other.load().plan(applied)


def test_two_projects_share_a_lake(shop, applied, tmp_path, clock):
    other = Folder(tmp_path / "other", clock).write(
        {
            "anabranch.yml": f"name: other\nlake: {shop.path}/lake\n",
            "a.sql": "CREATE STREAM TABLE theirs AS SELECT SUM(revenue) AS r FROM by_region;",
        }
    )
    other.load().apply(applied)
    assert shop.load().plan(applied).empty
    other.remove("a.sql")
    assert other.load().apply(applied).dropped == ("theirs",)
    assert len(applied.status()) == 3


def test_what_is_published_with_a_suspended_one_is_not_rebuilt(shop, applied):
    applied.suspend_stream_table("by_product")
    shop.write({"tables/by_region.sql": BY_REGION.replace("FROM sales", "FROM sales WHERE id > 1")})
    before = everything(applied)
    with pytest.raises(RefreshHeld, match="held"):
        shop.load().apply(applied)
    assert everything(applied) == before


# -- others at work -------------------------------------------------------------------------------


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
