"""Creating, altering, dropping, suspending: all of it or nothing, the old contents until there are new."""

from __future__ import annotations

import warnings
from decimal import Decimal

import pytest

import anabranch as ab
from anabranch.errors import (
    BrokenDefinition,
    CircularDefinition,
    EngineFailed,
    HasDependents,
    InvalidOption,
    NameTaken,
    NotIncremental,
    NotWritable,
    RefreshHeld,
    UnknownStreamTable,
)
from tests.streams.shop import (
    BY_PRODUCT,
    BY_REGION,
    DIAMOND,
    SUMMARY,
    actions,
    all_right,
    diamond,
    one,
    rows,
    sell,
    totals,
)

pytestmark = pytest.mark.rotating(2)


def everything(lake: ab.Lake) -> object:
    return lake.lsn, lake.tables(), lake.status(), lake.refresh_history()


# -- creating -------------------------------------------------------------------------------------


def test_a_stream_table_is_filled_when_it_is_created(shop):
    shop.create_stream_table("by_region", BY_REGION)
    assert rows(shop, "by_region") == {("north", Decimal(10), 1): 1, ("south", Decimal(25), 2): 1}
    assert actions(shop) == [("by_region", "REINITIALIZE", "SUCCEEDED")]
    assert one(shop, "by_region").status == "ACTIVE"


def test_default_options_are_stored(shop):
    shop.create_stream_table("by_region", BY_REGION)
    found = one(shop, "by_region")
    assert (found.schedule, found.refresh_mode, found.fuse_state) == ("calculated", "auto", "off")
    assert found.effective_schedule == "1m"
    assert found.effective_mode == "differential"


BAD = [
    ("schedule", "often"),
    ("schedule", "61 * * * *"),
    ("schedule", "0s"),
    ("schedule", 5),
    ("refresh_mode", "sometimes"),
    ("refresh_mode", None),
    ("diamond_consistency", "maybe"),
    ("diamond_schedule_policy", "median"),
    ("bootstrap_gating", "perhaps"),
    ("fuse", "blown"),
    ("fuse_ceiling", 0),
    ("fuse_ceiling", "many"),
    ("fuse_sensitivity", None),
    ("fuse_sensitivity", True),
]


@pytest.mark.parametrize(("option", "value"), BAD)
def test_a_bad_value_is_refused_at_create_and_alter(shop, option, value):
    shop.create_stream_table("kept", BY_REGION)
    before = everything(shop)
    with pytest.raises(ab.AnabranchError) as error:
        shop.create_stream_table("by_region", BY_REGION, **{option: value})
    assert error.value.hint or error.value.detail
    with pytest.raises(ab.AnabranchError):
        shop.alter_stream_table("kept", **{option: value})
    assert everything(shop) == before


def test_an_option_that_does_not_exist_is_refused_by_name(shop):
    shop.create_stream_table("kept", BY_REGION)
    for act in (
        lambda: shop.alter_stream_table("kept", colour="blue"),
        lambda: shop.create_stream_tables([{"name": "n", "query": BY_REGION, "colour": "blue"}]),
    ):
        with pytest.raises(InvalidOption, match="colour"):
            act()


def test_slowest_without_atomic_is_refused_at_create_and_alter(shop):
    both = {"diamond_schedule_policy": "slowest", "diamond_consistency": "none"}
    with pytest.raises(InvalidOption):
        shop.create_stream_table("by_region", BY_REGION, **both)
    shop.create_stream_table("by_region", BY_REGION, diamond_consistency="none")
    with pytest.raises(InvalidOption):
        shop.alter_stream_table("by_region", diamond_schedule_policy="slowest")
    shop.alter_stream_table("by_region", diamond_consistency="atomic", diamond_schedule_policy="slowest")
    with pytest.raises(InvalidOption):
        shop.alter_stream_table("by_region", diamond_consistency="none")


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT region FROM nowhere", ab.AnabranchError),
        ("SELECT colour FROM sales", ab.AnabranchError),
        ("SELECT FROM", ab.AnabranchError),
        ("DROP TABLE sales", ab.AnabranchError),
        ("SELECT id, amount / (pieces - 1) AS x FROM sales", EngineFailed),
    ],
)
def test_creation_that_fails_leaves_nothing(shop, query, error):
    before = everything(shop)
    with pytest.raises(error):
        shop.create_stream_table("wrong", query)
    assert everything(shop) == before
    shop.create_stream_table("wrong", BY_REGION)


def test_a_name_is_taken_once(shop):
    shop.create_stream_table("by_region", BY_REGION)
    for name in ("by_region", "sales"):
        with pytest.raises(NameTaken):
            shop.create_stream_table(name, BY_REGION)


def test_several_are_created_at_once_whatever_their_order(shop):
    before = shop.lsn
    specs = [{"name": name, "query": query} for name, query in DIAMOND.items()]
    shop.create_stream_tables(list(reversed(specs)))
    assert shop.lsn == before + 1
    assert totals(shop) == (Decimal(35), Decimal(35))
    assert all_right(shop)


def test_of_several_all_are_created_or_none(shop):
    before = everything(shop)
    with pytest.raises(ab.AnabranchError):
        shop.create_stream_tables(
            [
                {"name": "by_region", "query": BY_REGION},
                {"name": "wrong", "query": "SELECT nothing FROM by_region"},
            ]
        )
    assert everything(shop) == before


def test_a_definition_that_closes_a_circle_is_refused_with_its_path(shop):
    before = everything(shop)
    with pytest.raises(CircularDefinition) as error:
        shop.create_stream_tables(
            [{"name": "a", "query": "SELECT * FROM b"}, {"name": "b", "query": "SELECT * FROM a"}]
        )
    assert '"a" feeds "b" feeds "a"' in (error.value.detail or "")
    assert everything(shop) == before
    shop.create_stream_table("a", "SELECT id FROM sales")
    shop.create_stream_table("b", "SELECT id FROM a")
    with pytest.raises(CircularDefinition):
        shop.alter_stream_table("a", query="SELECT id FROM b")


def test_closing_a_diamond_says_so(shop):
    shop.create_stream_table("by_region", BY_REGION)
    shop.create_stream_table("by_product", BY_PRODUCT)
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always")
        shop.create_stream_table("summary", SUMMARY)
    (notice,) = [str(each.message) for each in notices if issubclass(each.category, ab.Notice)]
    assert '"sales" reaches it through "by_product" and "by_region"' in notice


def test_joining_a_group_brings_all_of_it_to_one_moment(shop):
    shop.create_stream_table("by_region", BY_REGION)
    sell(shop, 4)
    shop.create_stream_table("by_product", BY_PRODUCT)
    shop.create_stream_table("summary", SUMMARY)
    assert totals(shop) == (Decimal(36), Decimal(36))
    assert all_right(shop)


def test_what_is_not_to_be_initialized_is_filled_by_the_next_tick(shop):
    shop.create_stream_table("by_region", BY_REGION, initialize=False)
    assert rows(shop, "by_region") == {}
    assert one(shop, "by_region").status == "INITIALIZING"
    shop.create_stream_table("big", "SELECT region FROM by_region WHERE revenue > 20")
    assert one(shop, "big").status == "INITIALIZING"
    shop.tick()
    assert rows(shop, "big") == {("south",): 1}
    assert {each.status for each in shop.status()} == {"ACTIVE"}


def test_what_cannot_be_incremental_is_refused_or_says_that_it_is_full(shop):
    query = "SELECT id, rand() AS r FROM sales"
    with pytest.raises(NotIncremental):
        shop.create_stream_table("chance", query, refresh_mode="differential")
    with pytest.warns(ab.Notice, match="refreshed in full"):
        shop.create_stream_table("chance", query)
    found = one(shop, "chance")
    assert found.effective_mode == "full"
    assert "rand" in found.mode_reason


# -- writing to it --------------------------------------------------------------------------------


def test_a_stream_table_is_written_by_nobody_else(shop):
    shop.create_stream_table("ids", "SELECT id FROM sales")
    for change in (
        lambda: shop.insert("ids", [(9,)]),
        lambda: shop.update("ids", {"id": "1"}),
        lambda: shop.delete("ids"),
        lambda: shop.truncate("ids"),
        lambda: shop.merge("ids", [(9,)], on=["id"]),
        lambda: shop.drop_table("ids"),
        lambda: shop.sql("INSERT INTO ids VALUES (9)"),
        lambda: shop.sql("DELETE FROM ids"),
    ):
        with pytest.raises(NotWritable):
            change()


def test_state_is_not_shown_among_the_tables(shop):
    shop.create_stream_table(
        "summary", "SELECT MAX(amount) AS most FROM (SELECT amount FROM sales WHERE id > 0)"
    )
    shop.create_stream_table(
        "top", "SELECT id, amount FROM sales WHERE id > 0 ORDER BY amount DESC, id LIMIT 2"
    )
    assert [table.name for table in shop.tables()] == ["sales", "summary", "top"]


# -- altering -------------------------------------------------------------------------------------


def test_altering_the_query_keeps_the_old_contents_readable_until_the_new_are_there(shop):
    shop.create_stream_table("by_region", BY_REGION)
    before = shop.lsn
    shop.alter_stream_table("by_region", query=BY_REGION + " HAVING SUM(amount) > 10")
    assert rows(shop, "by_region") == {("south", Decimal(25), 2): 1}
    assert len(rows(shop, "by_region", as_of=before)) == 2
    assert all_right(shop)


def test_an_altered_member_is_published_with_its_group(shop):
    diamond(shop)
    sell(shop, 4)
    epoch = shop.diamond_groups()[0].epoch
    shop.alter_stream_table("by_region", query=BY_REGION.replace("GROUP", "WHERE id <> 1 GROUP"))
    assert totals(shop) == (Decimal(26), Decimal(36))
    assert {each.epoch for each in shop.diamond_groups()} == {epoch + 1}
    assert all_right(shop)


def test_columns_may_be_added_by_an_altered_query(shop):
    shop.create_stream_table("ids", "SELECT id FROM sales")
    shop.create_stream_table("high", "SELECT id FROM ids WHERE id > 1")
    shop.alter_stream_table("ids", query="SELECT id, region FROM sales")
    assert rows(shop, "ids") == {(1, "north"): 1, (2, "south"): 1, (3, "south"): 1}
    sell(shop, 4)
    shop.refresh_stream_table("high")
    assert rows(shop, "high") == {(2,): 1, (3,): 1, (4,): 1}
    assert all_right(shop)


def test_what_an_altered_query_needs_no_more_is_not_kept_beside_it(shop):
    stateful = """SELECT region, COUNT(DISTINCT product) AS n FROM sales GROUP BY region
        HAVING MAX(amount) > (SELECT AVG(amount) FROM sales)"""
    shop.create_stream_table("regions", stateful)
    stored = set(shop.snapshot().tables())
    shop.alter_stream_table("regions", query="SELECT region FROM sales")
    assert set(shop.snapshot().tables()) == {"regions", "sales"} < stored
    shop.alter_stream_table("regions", query=stateful)
    assert set(shop.snapshot().tables()) == stored
    sell(shop, 4, region="west", amount=100)
    shop.refresh_stream_table("regions")
    assert all_right(shop)
    shop.drop_stream_table("regions")
    assert shop.snapshot().tables() == ["sales"]


def test_a_query_under_which_readers_could_not_go_on_is_refused(shop):
    shop.create_stream_table("ids", "SELECT id, region FROM sales")
    shop.create_stream_table("north", "SELECT id FROM ids WHERE region = 'north'")
    before = everything(shop)
    with pytest.raises(BrokenDefinition, match="north"):
        shop.alter_stream_table("ids", query="SELECT id FROM sales")
    assert everything(shop) == before


def test_a_failing_new_query_changes_nothing(shop):
    shop.create_stream_table("ids", "SELECT id FROM sales")
    before = everything(shop)
    with pytest.raises(EngineFailed):
        shop.alter_stream_table("ids", query="SELECT id / (pieces - 1) AS id FROM sales")
    assert everything(shop) == before


def test_the_mode_may_be_altered_back_and_forth(shop):
    shop.create_stream_table("by_region", BY_REGION)
    shop.alter_stream_table("by_region", refresh_mode="full")
    sell(shop, 4)
    assert shop.refresh_stream_table("by_region").action == "FULL"
    shop.alter_stream_table("by_region", refresh_mode="differential")
    sell(shop, 5)
    assert shop.refresh_stream_table("by_region").action == "DIFFERENTIAL"
    assert all_right(shop)


def test_options_are_altered_without_a_refresh(shop):
    shop.create_stream_table("by_region", BY_REGION)
    before = len(actions(shop))
    shop.alter_stream_table("by_region", schedule="5m")
    assert one(shop, "by_region").schedule == "5m"
    shop.alter_stream_table("by_region", schedule=None)
    assert one(shop, "by_region").schedule is None
    assert len(actions(shop)) == before


# -- dropping -------------------------------------------------------------------------------------


def test_what_others_read_is_dropped_only_with_them(shop):
    diamond(shop)
    with pytest.raises(HasDependents) as error:
        shop.drop_stream_table("by_region")
    assert '"summary"' in error.value.detail
    shop.drop_stream_table("by_region", cascade=True)
    assert [each.name for each in shop.status()] == ["by_product"]
    assert [table.name for table in shop.tables()] == ["by_product", "sales"]
    assert one(shop, "by_product").group_id is None


def test_a_name_can_be_used_again(shop):
    shop.create_stream_table("by_region", BY_REGION)
    shop.drop_stream_table("by_region")
    shop.create_stream_table("by_region", "SELECT region FROM sales")
    assert rows(shop, "by_region") == {("north",): 1, ("south",): 2}


def test_an_unknown_stream_table_is_named(shop):
    shop.create_stream_table("by_region", BY_REGION)
    for call in (
        lambda: shop.drop_stream_table("by_regoin"),
        lambda: shop.alter_stream_table("by_regoin", schedule="1m"),
        lambda: shop.suspend_stream_table("by_regoin"),
        lambda: shop.resume_stream_table("by_regoin"),
        lambda: shop.refresh_stream_table("by_regoin"),
        lambda: shop.verify("by_regoin"),
        lambda: shop.explain("by_regoin"),
        lambda: shop.dependency_tree("by_regoin"),
    ):
        with pytest.raises(UnknownStreamTable) as error:
            call()
        assert '"by_region"' in (error.value.hint or "")


# -- suspending -----------------------------------------------------------------------------------


def test_a_suspended_stream_table_stays_as_it_is_until_it_is_resumed(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m")
    before = rows(shop, "by_region")
    shop.suspend_stream_table("by_region")
    sell(shop, 4)
    clock.advance(60)
    assert shop.tick().held == (("by_region", '"by_region" is suspended: by hand'),)
    with pytest.raises(RefreshHeld):
        shop.refresh_stream_table("by_region")
    assert rows(shop, "by_region") == before
    shop.resume_stream_table("by_region")
    assert shop.tick().refreshed == ("by_region",)
    assert rows(shop, "by_region")[("north", Decimal(11), 2)] == 1


def test_a_table_that_is_altered_is_not_filled_from_one_that_is_not(shop):
    shop.create_stream_table("ids", "SELECT id FROM sales", initialize=False)
    shop.create_stream_table("many", "SELECT COUNT(*) AS n FROM ids", initialize=False)
    with pytest.raises(RefreshHeld):
        shop.alter_stream_table("many", query="SELECT COUNT(*) + 1 AS n FROM ids")
    assert one(shop, "many").status == "INITIALIZING"
    assert rows(shop, "many") == {}
    shop.refresh_stream_table("ids")
    shop.alter_stream_table("many", query="SELECT COUNT(*) + 1 AS n FROM ids")
    assert rows(shop, "many") == {(4,): 1}


def test_a_query_that_reads_what_is_behind_does_not_take_a_table_back_in_time(shop):
    shop.create_stream_table("ids", "SELECT id FROM sales", schedule=None)
    shop.create_stream_table("copy", "SELECT id FROM sales", schedule=None)
    sell(shop, 4)
    shop.refresh_stream_table("copy")
    before = everything(shop)
    with pytest.raises(RefreshHeld) as error:
        shop.alter_stream_table("copy", query="SELECT id FROM ids")
    assert "back in time" in error.value.message
    assert everything(shop) == before
    shop.refresh_stream_table("ids")
    shop.alter_stream_table("copy", query="SELECT id FROM ids")
    assert rows(shop, "copy") == rows(shop, "ids")
