"""The fuse: a batch that is too large waits for a person, and everything says so."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.errors import FuseError, FuseNotBlown, InvalidOption, RefreshHeld, UnknownStreamTable
from anabranch.streams.fuse import Fuse, effective_ceiling, judge, remember
from tests.engines.duck import DuckEngine
from tests.engines.lakes import duck_lake
from tests.streams.shop import BY_REGION, actions, all_right, diamond, one, rows, stock

pytestmark = pytest.mark.rotating(2)

NAMES = ("by_product", "by_region", "summary")
COLUMNS = ("name", "mode", "state", "ceiling", "effective_ceiling", "pending_changes", "blown_at", "reason")
WHY = 'the fuse has blown: 11 pending changes exceed the ceiling of 10; reset_fuse("by_region", …) decides'


@pytest.fixture
def fused(shop) -> Iterator[ab.Lake]:
    """The sales by region, no more than ten changes at a time."""
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", fuse="on", fuse_ceiling=10)
    return shop


def sell_many(lake: ab.Lake, count: int) -> None:
    """So many sales at once, each of another id."""
    first = lake.lsn * 1_000_000
    lake.insert("sales", [(first + number, "north", 1, 1, 1) for number in range(count)])


def minute(lake: ab.Lake, clock: ab.ManualClock, sales: int = 0) -> Any:
    """A minute later, with so many sales in it: a tick."""
    if sales:
        sell_many(lake, sales)
    clock.advance(60)
    return lake.tick()


def fuse(lake: ab.Lake, name: str = "by_region") -> Any:
    (found,) = [each for each in lake.fuse_status() if each.name == name]
    return found


def newest(lake: ab.Lake, name: str = "by_region") -> Any:
    return lake.refresh_history(name, 1)[0]


# -- the ceiling ----------------------------------------------------------------------------------


def test_exactly_the_ceiling_is_applied_and_one_more_is_stopped(fused, clock):
    assert minute(fused, clock, 10).refreshed == ("by_region",)
    before = rows(fused, "by_region")
    report = minute(fused, clock, 11)
    assert report.refreshed == ()
    assert report.held == (("by_region", f'"by_region" is suspended: {WHY}'),)
    assert rows(fused, "by_region") == before
    assert all_right(fused)


def test_a_blown_fuse_says_why_in_status_and_history_and_where_people_look(fused, clock):
    minute(fused, clock, 11)
    found = one(fused, "by_region")
    assert (found.status, found.status_reason, found.fuse_state) == ("SUSPENDED", WHY, "blown")
    assert found.held == f'"by_region" is suspended: {WHY}'
    entry = newest(fused)
    assert (entry.action, entry.status, entry.reason) == ("SKIP", "SKIPPED", found.held)
    assert entry.initiated_by == "scheduler"
    seen = fuse(fused)
    assert tuple(vars(seen)) == COLUMNS
    assert (seen.mode, seen.state, seen.ceiling, seen.effective_ceiling) == ("on", "blown", 10, 10)
    assert (seen.pending_changes, seen.blown_at, seen.reason) == (11, clock.now(), WHY)
    assert "fuse blown" in str(fused.dependency_tree())
    assert "on, blown, ceiling 10" in str(fused.explain("by_region"))


def test_an_episode_is_one_line_of_the_history_however_many_ticks_it_lasts(fused, clock):
    for _ in range(4):
        minute(fused, clock, 11)
    assert actions(fused)[1:] == [("by_region", "SKIP", "SKIPPED")]
    assert fuse(fused).pending_changes == 44


def test_the_observer_is_told_that_it_was_skipped_and_not_that_a_refresh_began(fused, clock):
    events: list[tuple[str, str | None]] = []
    sell_many(fused, 11)
    clock.advance(60)
    fused.tick(observer=lambda event: events.append((event.kind, event.stream_table)))
    assert events == [("tick_started", None), ("skipped", "by_region"), ("tick_finished", None)]


def test_it_is_weighed_when_it_is_due_and_not_before(fused, clock):
    sell_many(fused, 11)
    assert fused.tick().held == ()
    assert fuse(fused).state == "armed"
    clock.advance(60)
    assert fused.tick().held


def test_an_update_counts_twice_and_what_was_read_does_not_count_again(fused, clock):
    minute(fused, clock, 5)
    fused.update("sales", {"amount": "amount + 1"}, where="region = 'north'")  # 6 rows
    assert fuse(fused).pending_changes == 12
    assert minute(fused, clock).held


def test_consumed_changes_do_not_count(fused, clock):
    for _ in range(5):
        assert minute(fused, clock, 8).refreshed == ("by_region",)
    assert fuse(fused).pending_changes == 0


def test_an_upstream_that_is_refreshed_in_full_counts_with_what_differs(shop, clock):
    shop.create_stream_table(
        "north", "SELECT id FROM sales WHERE region = 'north'", schedule="1m", refresh_mode="full"
    )
    shop.create_stream_table(
        "odd", "SELECT id FROM north WHERE id % 2 = 1", schedule="1m", fuse="on", fuse_ceiling=10
    )
    for _ in range(3):
        assert minute(shop, clock, 10).refreshed == ("north", "odd")
    shop.update("sales", {"id": "-id"}, where="id = 1")
    shop.refresh_stream_table("north", upstream=False)
    assert fuse(shop, "odd").pending_changes == 2


def test_changes_add_up_until_they_are_read(fused, clock):
    sell_many(fused, 6)
    sell_many(fused, 5)
    assert minute(fused, clock).held


def test_the_lakes_ceiling_counts_where_there_is_no_own(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", fuse="on")
    shop.create_stream_table(
        "regions", "SELECT DISTINCT region FROM sales", schedule="1m", fuse="on", fuse_ceiling=100
    )
    assert minute(shop, clock, 11).held == ()
    shop.set("fuse_default_ceiling", 10)
    assert minute(shop, clock, 10).held == ()
    report = minute(shop, clock, 11)
    assert ([name for name, _ in report.held], report.refreshed) == (["by_region"], ("regions",))
    assert fuse(shop).ceiling == 10


def test_a_source_that_another_took_the_place_of_counts_with_all_its_rows(fused, clock):
    """Dropped and made again empty: what a fuse is for."""
    minute(fused, clock, 8)
    fused.drop_table("sales")
    fused.create_table(
        "sales", "id BIGINT, region STRING, product BIGINT, pieces BIGINT, amount DECIMAL(12,2)"
    )
    before = rows(fused, "by_region")
    assert minute(fused, clock).held
    assert rows(fused, "by_region") == before


def test_a_fuse_works_in_mode_full_too(shop, clock):
    shop.create_stream_table(
        "by_region", BY_REGION, schedule="1m", refresh_mode="full", fuse="on", fuse_ceiling=10
    )
    assert minute(shop, clock, 10).refreshed
    assert minute(shop, clock, 11).held


def test_nothing_is_weighed_before_the_first_fill(shop, clock):
    sell_many(shop, 100)
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", fuse="on", fuse_ceiling=1)
    shop.create_stream_table("later", BY_REGION, schedule="1m", initialize=False, fuse="on", fuse_ceiling=1)
    assert minute(shop, clock).refreshed == ("later",)


# -- sensitivity ----------------------------------------------------------------------------------


def test_with_sensitivity_three_two_in_a_row_are_applied_and_the_third_is_stopped(fused, clock):
    fused.alter_stream_table("by_region", fuse_sensitivity=3)
    assert minute(fused, clock, 11).refreshed
    assert newest(fused).reason.endswith("11 pending changes exceed the ceiling of 10, 1 of 3 times in a row")
    assert fuse(fused).reason == "the last 1 of 3 in a row exceeded the ceiling"
    assert minute(fused, clock, 11).refreshed
    report = minute(fused, clock, 12)
    assert "12 pending changes exceed the ceiling of 10, 3 of 3 times in a row" in report.held[0][1]


def test_one_below_the_ceiling_begins_the_row_anew_and_one_without_changes_does_not(fused, clock):
    fused.alter_stream_table("by_region", fuse_sensitivity=2)
    for sales in (11, 10, 11, 0):
        assert not minute(fused, clock, sales).held
    assert minute(fused, clock, 11).held


def test_a_batch_whose_refresh_fails_is_the_same_batch_when_it_is_tried_again(shop, clock):
    shop.create_stream_table(
        "shares",
        "SELECT id, amount / pieces AS share FROM sales",
        schedule="1m",
        fuse="on",
        fuse_ceiling=10,
        fuse_sensitivity=2,
    )
    shop.insert("sales", [(100 + number, "north", 1, 0, 1) for number in range(11)])
    clock.advance(60)
    for _ in range(3):
        assert shop.tick().failed
        clock.advance(60)
    assert fuse(shop, "shares").state == "armed"


# -- upstream -------------------------------------------------------------------------------------


def test_changes_of_an_upstream_stream_table_count_in_the_tick_that_makes_them(shop, clock):
    shop.create_stream_table("north", "SELECT id FROM sales WHERE region = 'north'", schedule="1m")
    shop.create_stream_table(
        "odd", "SELECT id FROM north WHERE id % 2 = 1", schedule="1m", fuse="on", fuse_ceiling=10
    )
    assert minute(shop, clock, 10).refreshed == ("north", "odd")
    report = minute(shop, clock, 11)
    assert report.refreshed == ("north",)
    assert "11 pending changes exceed the ceiling of 10" in one(shop, "odd").status_reason
    assert shop.verify("north").ok


def test_what_is_below_a_blown_one_goes_on_with_what_there_is(fused, clock):
    fused.create_stream_table("low", "SELECT MIN(revenue) AS low FROM by_region", schedule="1m")
    fused.create_stream_table("count", "SELECT COUNT(*) AS n FROM sales", schedule="1m")
    report = minute(fused, clock, 11)
    assert report.refreshed == ("count",)
    assert [name for name, _ in report.held] == ["by_region"]
    assert all_right(fused)


# -- groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("parallelism", [1, 4])
def test_a_blown_fuse_holds_its_group_with_the_reason(place, clock, parallelism):
    with duck_lake(place, clock=clock, parallelism=parallelism) as lake:
        stock(lake)
        diamond(lake)
        lake.alter_stream_table("by_region", fuse="on", fuse_ceiling=10)
        before = {name: rows(lake, name) for name in NAMES}
        epoch = lake.diamond_groups()[0].epoch
        for _ in range(3):
            report = minute(lake, clock, 11)
            assert report.refreshed == ()
            assert {name for name, _ in report.held} == set(NAMES)
            assert all('"by_region" is suspended: the fuse has blown' in why for _, why in report.held)
        assert {name: rows(lake, name) for name in NAMES} == before
        assert lake.diamond_groups()[0].epoch == epoch
        for name in NAMES:
            assert actions(lake, name)[1:] == [(name, "SKIP", "SKIPPED")]
            assert "the fuse has blown: 11 pending changes exceed" in newest(lake, name).reason
            assert "the fuse has blown" in one(lake, name).held
        assert [each.status for each in lake.status()] == ["ACTIVE", "SUSPENDED", "ACTIVE"]
        lake.reset_fuse("by_region", "apply")
        assert sorted(lake.tick().refreshed) == sorted(NAMES)
        assert lake.diamond_groups()[0].epoch == epoch + 1
        assert all_right(lake)


def test_what_members_have_staged_counts_and_nothing_of_the_group_is_published(shop, clock):
    shop.create_stream_table("north", "SELECT id, amount FROM sales WHERE region = 'north'", schedule="1m")
    shop.create_stream_table(
        "pairs",
        "SELECT s.id, n.amount FROM sales s JOIN north n ON s.id = n.id",
        schedule="1m",
        fuse="on",
        fuse_ceiling=21,
    )
    assert len({each.group_id for each in shop.status()}) == 1
    before = rows(shop, "north"), rows(shop, "pairs")
    assert minute(shop, clock, 10).refreshed == ("north", "pairs")
    before = rows(shop, "north"), rows(shop, "pairs")
    report = minute(shop, clock, 11)  # 11 sales, and 11 rows of north that are staged
    assert "22 pending changes exceed the ceiling of 21" in report.held[0][1]
    assert (rows(shop, "north"), rows(shop, "pairs")) == before


def test_a_declared_group_is_held_too(fused, clock):
    fused.create_stream_table("count", "SELECT COUNT(*) AS n FROM sales", schedule="1m")
    fused.create_refresh_group("desk", ["by_region", "count"])
    report = minute(fused, clock, 11)
    assert {name for name, _ in report.held} == {"by_region", "count"}


def test_it_is_so_when_every_refresh_reads_what_is_newest(place, clock):
    with duck_lake(place, clock=clock, tick_watermark_enabled=False) as lake:
        stock(lake)
        diamond(lake)
        lake.create_stream_table("low", "SELECT regional_total AS low FROM summary", schedule="1m")
        lake.alter_stream_table("summary", fuse="on", fuse_ceiling=1)
        for _ in range(2):
            assert {name for name, _ in minute(lake, clock, 3).held} == set(NAMES)
        assert [entry[1] for entry in actions(lake, "summary")] == ["REINITIALIZE", "SKIP"]
        lake.reset_fuse("summary", "reinitialize")
        assert sorted(lake.tick().refreshed) == sorted([*NAMES, "low"])
        assert all_right(lake)


def test_in_mode_none_the_other_members_go_on(shop, clock):
    diamond(shop, diamond_consistency="none")
    shop.alter_stream_table("by_region", fuse="on", fuse_ceiling=10)
    report = minute(shop, clock, 11)
    assert [name for name, _ in report.held] == ["by_region"]
    assert sorted(report.refreshed) == ["by_product", "summary"]


# -- resetting ------------------------------------------------------------------------------------


def test_apply_lets_the_batch_through_once_and_then_it_is_armed_again(fused, clock):
    minute(fused, clock, 11)
    fused.reset_fuse("by_region", "apply")
    found = one(fused, "by_region")
    assert (found.status, found.status_reason, found.fuse_state) == ("ACTIVE", None, "armed")
    assert fuse(fused).reason == "it was reset: the next refresh does apply"
    assert fused.tick().refreshed == ("by_region",)
    assert "let through by reset_fuse" in newest(fused).reason
    assert fuse(fused).reason is None
    assert minute(fused, clock, 11).held
    assert all_right(fused)


def test_apply_holds_until_a_refresh_has_succeeded(shop, clock):
    shop.create_stream_table(
        "shares",
        "SELECT id, amount / pieces AS share FROM sales",
        schedule="1m",
        fuse="on",
        fuse_ceiling=10,
    )
    shop.insert("sales", [(100 + number, "north", 1, 0, 1) for number in range(11)])
    assert minute(shop, clock).held
    shop.reset_fuse("shares", "apply")
    assert shop.tick().failed
    shop.update("sales", {"pieces": "1"}, where="pieces = 0")
    assert minute(shop, clock).refreshed == ("shares",)
    assert minute(shop, clock, 11).held


def test_a_decision_stands_when_all_are_resumed(fused, clock):
    minute(fused, clock, 11)
    fused.reset_fuse("by_region", "apply")
    fused.resume_stream_table("by_region")
    assert fused.tick().refreshed == ("by_region",)


def test_a_batch_whose_versions_expired_meanwhile_is_let_through_as_a_fill_from_nothing(place, clock):
    with duck_lake(place, clock=clock, snapshot_retention="0s", orphan_grace="0s") as lake:
        stock(lake)
        lake.create_stream_table("by_region", BY_REGION, schedule="1m", fuse="on", fuse_ceiling=10)
        minute(lake, clock, 11)
        sell_many(lake, 1)
        lake.maintain()
        assert fuse(lake).pending_changes == 15  # all there is
        lake.reset_fuse("by_region", "apply")
        assert lake.tick().refreshed == ("by_region",)
        assert newest(lake).action == "REINITIALIZE"
        assert all_right(lake)


def test_reinitialize_rebuilds_from_nothing(fused, clock):
    minute(fused, clock, 11)
    fused.reset_fuse("by_region", "reinitialize")
    assert fused.tick().refreshed == ("by_region",)
    entry = newest(fused)
    assert (entry.action, entry.status) == ("REINITIALIZE", "SUCCEEDED")
    assert "its fuse was reset: reinitialize" in entry.reason
    assert all_right(fused)
    assert minute(fused, clock, 1).refreshed
    assert newest(fused).action != "REINITIALIZE"
    assert minute(fused, clock, 11).held


def test_skip_changes_moves_its_frontier_and_leaves_its_siblings_untouched(shop, clock):
    diamond(shop)
    shop.alter_stream_table("by_region", fuse="on", fuse_ceiling=10)
    minute(shop, clock, 11)
    lsn = shop.lsn
    before = {name: (rows(shop, name), shop.refresh_history(name)) for name in NAMES}
    versions = {table.name: table.lsn for table in shop.tables() if table.name != "by_region"}
    shop.reset_fuse("by_region", "skip_changes")
    entry = newest(shop)
    assert (entry.action, entry.status, entry.lsn) == ("SKIP", "SKIPPED", None)
    assert entry.reason == "11 pending changes were skipped, as decided: reset_fuse with skip_changes"
    assert entry.since["sales"] < entry.until["sales"] == lsn
    assert fuse(shop).pending_changes == 0
    assert rows(shop, "by_region") == before["by_region"][0]
    for name in ("by_product", "summary"):
        assert (rows(shop, name), shop.refresh_history(name)) == before[name]
    assert {table.name: table.lsn for table in shop.tables() if table.name != "by_region"} == versions
    # The siblings go on as if nothing had been: they apply what it passed over.
    assert sorted(minute(shop, clock).refreshed) == ["by_product", "summary"]
    assert shop.verify("by_product").ok
    assert not shop.verify("by_region").ok


def test_what_comes_after_skipped_changes_is_applied_on_top(shop, clock):
    shop.create_stream_table(
        "north",
        "SELECT id FROM sales WHERE region = 'north'",
        schedule="1m",
        refresh_mode="differential",
        fuse="on",
        fuse_ceiling=10,
    )
    minute(shop, clock, 11)
    shop.reset_fuse("north", "skip_changes")
    shop.insert("sales", [(4, "north", 1, 1, 1)])
    assert minute(shop, clock).refreshed == ("north",)
    assert rows(shop, "north") == {(1,): 1, (4,): 1}
    found = shop.verify("north")
    assert (found.missing, found.surplus) == (11, 0)
    for reason in (fuse(shop, "north").reason, one(shop, "north").status_reason):
        assert reason == "11 changes were skipped, refresh_stream_table(…, full=True) brings them in"
    shop.refresh_stream_table("north", full=True)
    assert (fuse(shop, "north").reason, one(shop, "north").status_reason) == (None, None)
    assert all_right(shop)


def test_skip_changes_of_what_its_group_has_staged_happens_with_the_next_publish(shop, clock):
    diamond(shop)
    shop.alter_stream_table("summary", fuse="on", fuse_ceiling=1)
    report = minute(shop, clock, 2)
    assert '"summary" is suspended' in report.held[0][1]
    before = rows(shop, "summary")
    shop.reset_fuse("summary", "skip_changes")
    assert "skip_changes" in fuse(shop, "summary").reason
    assert sorted(shop.tick().refreshed) == ["by_product", "by_region"]
    assert rows(shop, "summary") == before
    assert (newest(shop, "summary").action, newest(shop, "summary").status) == ("SKIP", "SKIPPED")
    assert shop.verify("by_region").ok
    assert "4 changes were skipped" in fuse(shop, "summary").reason
    shop.alter_stream_table("summary", fuse="off")
    assert sorted(minute(shop, clock, 1).refreshed) == sorted(NAMES)


def test_resuming_arms_it_again_and_the_same_batch_blows_it_again(fused, clock):
    minute(fused, clock, 11)
    fused.resume_stream_table("by_region")
    assert fuse(fused).state == "armed"
    assert fused.tick().held
    fused.alter_stream_table("by_region", fuse_ceiling=11)
    assert fuse(fused).state == "blown"
    fused.resume_stream_table("by_region")
    assert fused.tick().refreshed == ("by_region",)
    assert len([entry for entry in actions(fused) if entry[1] == "SKIP"]) == 2


@pytest.mark.parametrize(
    "changes", [{"query": f"{BY_REGION} HAVING COUNT(*) > 1"}, {"refresh_mode": "full"}], ids=str
)
def test_altering_what_it_computes_takes_the_batch_in_and_arms_it_again(fused, clock, changes):
    minute(fused, clock, 11)
    fused.alter_stream_table("by_region", **changes)
    found = one(fused, "by_region")
    assert (found.status, found.status_reason, found.fuse_state) == ("ACTIVE", None, "armed")
    assert fuse(fused).pending_changes == 0
    assert all_right(fused)
    assert minute(fused, clock, 11).held


def test_what_has_not_blown_cannot_be_reset(fused, clock):
    before = fused.lsn, fused.status(), fused.refresh_history()
    for action in ("apply", "reinitialize", "skip_changes"):
        with pytest.raises(FuseNotBlown) as caught:
            fused.reset_fuse("by_region", action)
        assert caught.value.code == "AB721"
    fused.suspend_stream_table("by_region")
    with pytest.raises(FuseNotBlown):
        fused.reset_fuse("by_region", "apply")
    fused.resume_stream_table("by_region")
    with pytest.raises(UnknownStreamTable):
        fused.reset_fuse("by_regoin", "apply")
    assert (fused.lsn, fused.status(), fused.refresh_history()) == before


@pytest.mark.parametrize("action", ["", "applied", None, 7, ["apply"], "'; --"], ids=ascii)
def test_an_unknown_action_is_refused_with_those_there_are(fused, clock, action):
    minute(fused, clock, 11)
    with pytest.raises(FuseError, match="AB720") as caught:
        fused.reset_fuse("by_region", action)
    assert "apply, reinitialize, skip_changes" in caught.value.hint
    assert fuse(fused).state == "blown"


# -- by hand --------------------------------------------------------------------------------------


def test_by_hand_a_blown_one_is_held_and_the_hint_names_the_way_out(fused, clock):
    minute(fused, clock, 11)
    with pytest.raises(RefreshHeld) as caught:
        fused.refresh_stream_table("by_region")
    assert 'reset_fuse("by_region"' in caught.value.hint
    assert "11 pending changes exceed the ceiling of 10" in caught.value.detail
    fused.reset_fuse("by_region", "apply")
    fused.refresh_stream_table("by_region")
    assert all_right(fused)
    assert minute(fused, clock, 11).held


def test_by_hand_an_armed_one_is_passed_with_a_notice(fused, clock):
    sell_many(fused, 11)
    with pytest.warns(ab.Notice, match="11 pending changes exceed the ceiling of 10"):
        entry = fused.refresh_stream_table("by_region")
    assert "refreshed by hand nevertheless" in entry.reason
    assert fuse(fused).state == "armed"
    assert minute(fused, clock, 11).held


# -- learning -------------------------------------------------------------------------------------


def test_auto_tolerates_growth_and_stops_a_spike(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", fuse="auto")
    assert fuse(shop).reason == "it learns: 0 of 5 batches seen"
    for sales in (10, 11, 12, 14, 15, 17, 19, 21, 23, 26):
        assert minute(shop, clock, sales).refreshed, sales
    ceiling = fuse(shop).effective_ceiling
    assert 26 < ceiling < 100
    assert minute(shop, clock, 200).held
    assert (
        f"200 pending changes exceed the learned ceiling of {ceiling}" in one(shop, "by_region").status_reason
    )


def test_auto_is_not_taught_by_what_was_let_through(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", fuse="auto")
    for _ in range(6):
        minute(shop, clock, 5)
    ceiling = fuse(shop).effective_ceiling
    for _ in range(2):
        assert minute(shop, clock, 200).held
        shop.reset_fuse("by_region", "apply")
        assert shop.tick().refreshed
    assert fuse(shop).effective_ceiling == ceiling


def test_until_auto_has_learned_a_ceiling_stands_in(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", fuse="auto", fuse_ceiling=10)
    assert minute(shop, clock, 11).held


def test_auto_knows_what_went_before_it_was_switched_on_and_forgets_when_switched_off(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", refresh_mode="differential")
    for _ in range(5):
        minute(shop, clock, 5)
    shop.alter_stream_table("by_region", fuse="auto")
    assert fuse(shop).effective_ceiling is not None
    assert minute(shop, clock, 200).held
    shop.alter_stream_table("by_region", fuse="off")
    shop.alter_stream_table("by_region", fuse="auto")
    shop.resume_stream_table("by_region")
    assert fuse(shop).effective_ceiling is None
    assert minute(shop, clock).refreshed == ("by_region",)


# -- options --------------------------------------------------------------------------------------


def test_a_fuse_without_any_ceiling_is_told_and_never_blows(shop, clock):
    with pytest.warns(ab.Notice, match='the fuse of "by_region" has no ceiling') as caught:
        shop.create_stream_table("by_region", BY_REGION, schedule="1m", fuse="on")
    assert {warning.filename for warning in caught} == {__file__}
    assert "neither fuse_ceiling nor fuse_default_ceiling" in fuse(shop).reason
    assert minute(shop, clock, 1_000).refreshed
    shop.alter_stream_table("by_region", fuse_ceiling=10)
    with pytest.warns(ab.Notice, match="has no ceiling"):
        shop.alter_stream_table("by_region", fuse_ceiling=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shop.alter_stream_table("by_region", fuse="auto")


def test_an_immediate_stream_table_has_no_fuse(shop):
    for mode in ("on", "auto"):
        with pytest.raises(InvalidOption, match="immediate"):
            shop.create_stream_table("by_region", BY_REGION, refresh_mode="immediate", fuse=mode)
    shop.create_stream_table("by_region", BY_REGION, refresh_mode="immediate")
    with pytest.raises(InvalidOption):
        shop.alter_stream_table("by_region", fuse="on", fuse_ceiling=1)
    shop.create_stream_table("regions", "SELECT DISTINCT region FROM sales", fuse="on", fuse_ceiling=1)
    with pytest.raises(InvalidOption):
        shop.alter_stream_table("regions", refresh_mode="immediate")


def test_a_fuse_that_is_off_shows_nothing_and_is_not_counted_for(shop):
    shop.create_stream_table("by_region", BY_REGION)
    sell_many(shop, 3)
    found = fuse(shop)
    assert (found.mode, found.state, found.ceiling, found.effective_ceiling) == ("off", "off", None, None)
    assert (found.pending_changes, found.blown_at, found.reason) == (None, None, None)
    assert "fuse" not in str(shop.dependency_tree())
    assert "fuse" not in str(shop.explain("by_region"))


# -- by the rule ----------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["on", "auto"]),
    st.none() | st.integers(5, 12),
    st.integers(1, 3),
    st.lists(st.integers(1, 9) | st.integers(1, 60), min_size=1, max_size=12),
)
def test_whatever_comes_it_blows_when_the_rule_says_so(tmp_path, mode, ceiling, sensitivity, batches):
    """Each batch that is stopped is let through; what is shown is right at every step."""
    clock, fuse_, past, in_a_row = ab.ManualClock(), Fuse(mode, ceiling, sensitivity), (), 0
    with warnings.catch_warnings(), duck_lake(tmp_path / clock.new_id(), clock=clock) as lake:
        warnings.simplefilter("ignore", ab.Notice)
        stock(lake)
        options = {"fuse": mode, "fuse_ceiling": ceiling, "fuse_sensitivity": sensitivity}
        lake.create_stream_table("by_region", BY_REGION, schedule="1m", **options)
        for batch in batches:
            verdict = judge(fuse_, past, in_a_row, batch)
            assert bool(minute(lake, clock, batch).held) == verdict.blows
            if verdict.blows:
                assert verdict.because in one(lake, "by_region").status_reason
                lake.reset_fuse("by_region", "apply")
                assert lake.tick().refreshed == ("by_region",)
            in_a_row = 0 if verdict.blows else verdict.in_a_row
            past = past if verdict.exceeds else remember(past, batch)
            assert fuse(lake).effective_ceiling == effective_ceiling(fuse_, past)
        assert all_right(lake)


# -- other processes, and none --------------------------------------------------------------------


def test_another_process_finds_it_blown_and_may_reset_it(place, clock, fused):
    minute(fused, clock, 11)
    with duck_lake(place, clock=clock) as other:
        assert fuse(other).state == "blown"
        assert other.tick().held
        other.reset_fuse("by_region", "apply")
    assert fused.tick().refreshed == ("by_region",)


def test_so_on_postgresql(place, clock, postgres):
    with duck_lake(place, clock=clock, catalog=postgres()) as lake:
        stock(lake)
        lake.create_stream_table("by_region", BY_REGION, schedule="1m", fuse="on", fuse_ceiling=10)
        for action, word in (
            ("apply", "SUCCEEDED"),
            ("reinitialize", "SUCCEEDED"),
            ("skip_changes", "SKIPPED"),
        ):
            assert minute(lake, clock, 11).held
            assert (fuse(lake).state, fuse(lake).pending_changes) == ("blown", 11)
            lake.reset_fuse("by_region", action)
            lake.tick()
            assert (newest(lake).status, fuse(lake).pending_changes) == (word, 0)


def test_a_scheduler_that_was_overtaken_suspends_nothing(place, clock, fused):
    """Its lease has passed to another while it was weighing."""
    sell_many(fused, 11)
    clock.advance(60)

    def overtake() -> None:
        fused._context.failpoints.disarm("refresh.before_member")
        clock.advance(3600)
        with duck_lake(place, clock=clock) as other:
            other.alter_stream_table("by_region", fuse_ceiling=11)
            assert other.tick().refreshed == ("by_region",)

    fused._context.failpoints.arm("refresh.before_member", overtake)
    with pytest.raises(ab.AnabranchError) as caught:
        fused.tick()
    assert caught.value.code == "AB302"
    assert one(fused, "by_region").status == "ACTIVE"


def test_what_a_person_decided_while_it_was_weighed_stands(fused, clock):
    sell_many(fused, 11)
    clock.advance(60)

    def decide() -> None:
        fused._context.failpoints.disarm("refresh.before_member")
        fused.alter_stream_table("by_region", fuse="off")

    fused._context.failpoints.arm("refresh.before_member", decide)
    report = fused.tick()
    assert (report.refreshed, report.held) == ((), ())
    assert fused.tick().refreshed == ("by_region",)


def test_weighing_asks_nothing_of_the_engine(fused, clock, monkeypatch):
    methods = [name for name, value in vars(DuckEngine).items() if callable(value) and name[0] != "_"]
    sell_many(fused, 11)
    with monkeypatch.context() as patched:
        for name in methods:
            patched.setattr(DuckEngine, name, lambda *_, name=name, **__: pytest.fail(f"asked: {name}"))
        assert minute(fused, clock).held
        assert fuse(fused).pending_changes == 11
        fused.reset_fuse("by_region", "skip_changes")


def test_where_nothing_changed_no_file_is_looked_into(fused, clock, monkeypatch):
    minute(fused, clock, 5)
    monkeypatch.setattr(
        "anabranch.iceberg.live_rows.read_row_count", lambda *_: pytest.fail("a file was looked into")
    )
    for _ in range(3):
        assert minute(fused, clock).unchanged == ("by_region",)
    assert fuse(fused).pending_changes == 0
