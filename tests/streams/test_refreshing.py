"""What a refresh does, by hand and by the scheduler: as little as it can, from one moment, on record."""

from __future__ import annotations

import warnings
from decimal import Decimal

import pytest

import anabranch as ab
from anabranch.errors import EngineFailed, EngineMemory
from tests.streams.shop import BY_PRODUCT, BY_REGION, actions, all_right, diamond, one, rows, sell, totals

CHAIN = {
    "a": "SELECT id, region, amount FROM sales WHERE id > 1",
    "b": "SELECT region, SUM(amount) AS total FROM a GROUP BY region",
    "c": "SELECT region FROM b WHERE total > 10",
}


def chain(lake: ab.Lake, **options: object) -> None:
    options = {"refresh_mode": "differential", **options}
    lake.create_stream_tables([{"name": name, "query": query, **options} for name, query in CHAIN.items()])


def no_statement(lake: ab.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        type(lake._context.engine), "run_query", lambda *_: pytest.fail("a statement was run")
    )


# -- by the scheduler -----------------------------------------------------------------------------


def test_a_change_flows_down_a_chain_in_one_tick(shop, clock):
    chain(shop, schedule="1m")
    sell(shop, 4, region="west", amount=11)
    clock.advance(60)
    assert shop.tick().refreshed == ("a", "b", "c")
    assert rows(shop, "c") == {("south",): 1, ("west",): 1}
    assert [entry.action for entry in shop.refresh_history(limit=3)] == ["DIFFERENTIAL"] * 3
    assert all_right(shop)


def test_linear_graphs_form_no_group(shop):
    chain(shop)
    assert shop.diamond_groups() == []
    assert {each.group_id for each in shop.status()} == {None}


def test_nothing_is_refreshed_before_it_is_due(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m")
    sell(shop, 4)
    clock.advance(59)
    report = shop.tick()
    assert report.refreshed == ()
    assert (report.next_due - clock.now()).total_seconds() == 1
    clock.advance(1)
    assert shop.tick().refreshed == ("by_region",)


def test_what_is_calculated_is_as_fresh_as_its_readers_want_it(shop, clock):
    shop.create_stream_table("a", CHAIN["a"])
    shop.create_stream_table("b", CHAIN["b"], schedule="10s")
    assert one(shop, "a").effective_schedule == "10s"
    sell(shop, 4)
    clock.advance(10)
    assert shop.tick().refreshed == ("a", "b")


def test_by_hand_means_by_hand(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule=None)
    sell(shop, 4)
    clock.advance(10_000)
    assert shop.tick().refreshed == ()
    assert shop.refresh_stream_table("by_region").status == "SUCCEEDED"


def test_cron_comes_due_at_its_minute(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="*/5 * * * *")
    sell(shop, 4)
    clock.advance(299)
    assert shop.tick().refreshed == ()
    clock.advance(1)
    assert shop.tick().refreshed == ("by_region",)


def test_nothing_changed_means_no_statement_no_version_and_one_line_of_history(shop, clock, monkeypatch):
    diamond(shop)
    no_statement(shop, monkeypatch)
    before, entries = shop.lsn, len(actions(shop))
    for _ in range(3):
        clock.advance(60)
        report = shop.tick()
        assert sorted(report.unchanged) == ["by_product", "by_region", "summary"]
        assert report.refreshed == ()
    assert shop.lsn == before
    assert actions(shop)[entries:] == [
        (name, "NO_DATA", "SUCCEEDED") for name in ("by_product", "by_region", "summary")
    ]


def test_a_change_that_cancels_moves_the_frontier_and_no_rows(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m")
    version = [table.lsn for table in shop.tables() if table.name == "by_region"]
    sell(shop, 4)
    shop.delete("sales", where="id = 4")
    clock.advance(60)
    shop.tick()
    assert [table.lsn for table in shop.tables() if table.name == "by_region"] == version
    assert shop.refresh_history("by_region", 1)[0].until == {"sales": shop.tick().lsn}


def test_what_is_written_during_a_tick_waits_for_the_next(shop, clock):
    chain(shop, schedule="1m")
    sell(shop, 4, amount=100)

    def meddle(event: ab.Event) -> None:
        if event.kind == "refresh_finished" and event.stream_table == "a":
            sell(shop, 5, amount=1000)

    clock.advance(60)
    report = shop.tick(observer=meddle)
    assert report.refreshed == ("a", "b", "c")
    assert {entry.tick_watermark_lsn for entry in shop.refresh_history(limit=3)} == {report.lsn}
    assert rows(shop, "b")[("north", Decimal(100))] == 1
    assert all_right(shop)
    clock.advance(60)
    shop.tick()
    assert rows(shop, "b")[("north", Decimal(1100))] == 1


def test_observers_see_every_step_and_may_use_the_lake(shop, clock):
    diamond(shop)
    sell(shop, 4)
    clock.advance(60)
    seen: list[tuple[str, str | None]] = []

    def look(event: ab.Event) -> None:
        seen.append((event.kind, event.stream_table))
        totals(shop)

    shop.tick(observer=look)
    kinds = [kind for kind, _ in seen]
    assert kinds[0] == "tick_started"
    assert kinds[-2:] == ["group_committed", "tick_finished"]
    assert {name for kind, name in seen if kind == "refresh_finished"} == {
        "by_region",
        "by_product",
        "summary",
    }


# -- by hand --------------------------------------------------------------------------------------


def test_a_refresh_by_hand_brings_up_what_is_stale_above_it_from_one_lsn(shop):
    chain(shop)
    sell(shop, 4, amount=50)
    pinned = shop.lsn
    entry = shop.refresh_stream_table("c")
    assert entry.until == {"sales": pinned}
    assert [each.stream_table for each in reversed(shop.refresh_history(limit=3))] == ["a", "b", "c"]
    assert {each.initiated_by for each in shop.refresh_history(limit=3)} == {"manual"}
    assert rows(shop, "c") == {("south",): 1, ("north",): 1}


def test_without_upstream_only_itself(shop):
    chain(shop)
    sell(shop, 4, amount=50)
    assert shop.refresh_stream_table("c", upstream=False).action == "NO_DATA"
    assert rows(shop, "c") == {("south",): 1}


def test_by_hand_a_member_moves_with_its_group(shop):
    diamond(shop)
    sell(shop, 4)
    shop.refresh_stream_table("by_region")
    assert totals(shop) == (Decimal(36), Decimal(36))
    newest = shop.refresh_history(limit=3)
    assert {entry.stream_table for entry in newest} == {"by_region", "by_product", "summary"}
    assert len({(entry.group_id, entry.epoch) for entry in newest}) == 1


def test_a_full_refresh_leaves_a_change_so_what_is_below_stays_differential(shop):
    chain(shop)
    sell(shop, 4, amount=50)
    assert shop.refresh_stream_table("a", full=True).action == "FULL"
    assert shop.refresh_stream_table("c").action == "DIFFERENTIAL"
    assert shop.refresh_history("b", 1)[0].action == "DIFFERENTIAL"
    assert all_right(shop)


def test_a_full_refresh_of_what_did_not_change_leaves_the_rows_as_they_are(shop):
    chain(shop)
    before = rows(shop, "b")
    assert shop.refresh_stream_table("b", full=True).action == "FULL"
    assert rows(shop, "b") == before
    shop.refresh_stream_table("c")
    assert all_right(shop)


def test_a_failure_by_hand_is_raised_and_recorded_but_does_not_count(shop):
    shop.create_stream_table("by_product", BY_PRODUCT)
    before = rows(shop, "by_product")
    sell(shop, 4, pieces=0)
    for _ in range(3):
        with pytest.raises(EngineFailed):
            shop.refresh_stream_table("by_product")
    found = one(shop, "by_product")
    assert (found.status, found.consecutive_failures) == ("ACTIVE", 0)
    assert "zero" in found.last_error.lower()
    assert actions(shop)[-1] == ("by_product", "DIFFERENTIAL", "FAILED")
    assert rows(shop, "by_product") == before


# -- looking --------------------------------------------------------------------------------------


def test_lag_is_the_age_of_the_first_change_that_is_not_reflected(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1h")
    clock.advance(100)
    assert one(shop, "by_region").lag_seconds == 0
    sell(shop, 4)
    clock.advance(20)
    sell(shop, 5)
    clock.advance(10)
    found = one(shop, "by_region")
    assert found.lag_seconds == 30
    assert (clock.now() - found.data_timestamp).total_seconds() == 30
    shop.refresh_stream_table("by_region")
    assert one(shop, "by_region").lag_seconds == 0


def test_history_says_from_where_to_where(shop):
    shop.create_stream_table("by_region", BY_REGION)
    first = shop.refresh_history("by_region")[0]
    sell(shop, 4)
    entry = shop.refresh_stream_table("by_region")
    assert (entry.since, entry.until) == (first.until, {"sales": shop.commits()[1].lsn})
    assert (entry.rows_inserted, entry.rows_deleted) == (1, 1)
    assert entry.lsn == shop.lsn
    assert rows(shop, "by_region", as_of=entry.lsn) == rows(shop, "by_region")


def test_the_tree_prints_itself(shop):
    diamond(shop)
    text = str(shop.dependency_tree())
    assert "├─ by_product  (auto: differential, group 1)" in text
    assert "summary" in str(shop.dependency_tree("by_region"))
    assert "sales" in str(shop.dependency_tree("summary"))


def test_explain_knows_stream_tables_by_name(shop):
    diamond(shop)
    text = str(shop.explain("by_region"))
    for part in (
        "Stream table by_region",
        "by_product, by_region, summary",
        "read by   summary",
        "SQL of the change",
    ):
        assert part in text
    assert shop.explain("by_region").incremental


def test_verify_finds_what_is_wrong(shop):
    shop.create_stream_table("ids", "SELECT id FROM sales")
    assert shop.verify("ids").ok
    sell(shop, 4)
    assert shop.verify("ids").ok  # it is behind, not wrong
    with shop.transaction() as transaction:
        table = transaction.working("ids")
        table.clear()
    found = shop.verify("ids")
    assert (found.missing, found.surplus) == (3, 0)


def test_contents_that_somebody_else_changed_are_made_anew(shop):
    shop.create_stream_table("ids", "SELECT id FROM sales")
    with shop.transaction() as transaction:
        transaction.working("ids").clear()
    entry = shop.refresh_stream_table("ids")
    assert entry.action == "REINITIALIZE"
    assert "another Iceberg client" in entry.reason
    assert shop.verify("ids").ok


def test_compaction_is_no_change(shop, clock):
    shop.create_stream_table("ids", "SELECT id FROM sales", refresh_mode="differential")
    for number in range(4, 7):
        sell(shop, number)
        shop.refresh_stream_table("ids")
    shop.compact("ids")
    sell(shop, 7)
    assert shop.refresh_stream_table("ids").action == "DIFFERENTIAL"
    assert all_right(shop)


def test_versions_that_a_stream_table_still_needs_are_kept(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule=None, refresh_mode="differential")
    for number in range(4, 8):
        sell(shop, number)
        clock.advance(3600 * 24 * 30)
        shop.maintain()
    assert shop.refresh_stream_table("by_region").action == "DIFFERENTIAL"
    assert all_right(shop)


def test_a_suspended_stream_table_does_not_hold_old_versions_for_ever(shop, clock):
    shop.set("orphan_grace", "0s")
    shop.create_stream_table("by_region", BY_REGION, schedule=None)
    shop.suspend_stream_table("by_region")
    for number in range(4, 8):
        sell(shop, number)
        shop.delete("sales", where=f"id = {number - 1}")
        clock.advance(3600 * 24 * 30)
        shop.maintain()
    shop.resume_stream_table("by_region")
    entry = shop.refresh_stream_table("by_region")
    assert (entry.action, "no longer kept" in entry.reason) == ("REINITIALIZE", True)
    assert all_right(shop)


def test_history_is_kept_as_long_as_was_asked_for(shop, clock):
    shop.set("history_retention", "1d")
    shop.create_stream_table("by_region", BY_REGION)
    clock.advance(3600 * 25)
    shop.maintain()
    assert shop.refresh_history() == []


def test_by_hand_a_suspended_upstream_is_read_as_it_is(shop):
    chain(shop)
    shop.suspend_stream_table("a")
    sell(shop, 4, amount=50)
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always")
        shop.refresh_stream_table("c")
    assert any("suspended" in str(notice.message) for notice in notices)
    assert all_right(shop)


def test_what_reads_a_table_that_moved_without_rows_is_as_fresh_as_that(shop, clock):
    shop.create_stream_table("south", "SELECT id, amount FROM sales WHERE region = 'south'", schedule="1m")
    shop.create_stream_table("many", "SELECT COUNT(*) AS n FROM south", schedule="1m")
    sell(shop, 4, region="north")
    clock.advance(60)
    shop.tick()
    assert one(shop, "south").lag_seconds == 0
    assert one(shop, "many").lag_seconds == 0


def test_a_change_that_is_too_much_for_one_task_is_computed_without_asking_for_that(shop, monkeypatch):
    shop.set("driver_rows", 0)
    shop.create_stream_table("by_region", BY_REGION, refresh_mode="differential")
    sell(shop, 4, amount=50)
    engine = type(shop._context.engine)
    held = []

    def collected(self: object, frame: object) -> None:
        held.append(frame)
        raise EngineMemory("a task of Spark's ran out of memory")

    with monkeypatch.context() as patched:
        patched.setattr(engine, "collect", collected)
        assert shop.refresh_stream_table("by_region").status == "SUCCEEDED"
    assert len(held) == 1
    assert all_right(shop)
