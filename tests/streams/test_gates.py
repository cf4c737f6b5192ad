"""Gates: what is made from a source that isn't ready waits, near or far, and nothing else does."""

from __future__ import annotations

import getpass
import socket
from contextlib import suppress

import pytest

import anabranch as ab
from anabranch.errors import InputError, NotASource, UnknownTable
from tests.engines.lakes import duck_lake
from tests.streams.at_every_version import Watch
from tests.streams.loading import (
    DASHBOARD,
    LINES,
    ORDERS,
    PIPELINE,
    define,
    empty,
    load,
    notices,
    refreshes,
    skips,
)
from tests.streams.shop import actions, all_right, diamond, one, rows, sell

ME = f"{getpass.getuser()}@{socket.gethostname()}"


@pytest.fixture
def etl(duck_lake: ab.Lake) -> ab.Lake:
    """Sources that nothing was loaded into yet."""
    empty(duck_lake)
    return duck_lake


@pytest.fixture
def kept(etl: ab.Lake) -> ab.Lake:
    """The same, loaded, with what is made from them."""
    load(etl)
    define(etl)
    return etl


def gated(lake: ab.Lake) -> set[str]:
    return {gate.source_table for gate in lake.source_gates() if gate.gated}


def hold_reasons(report: object) -> dict[str, str]:
    return dict(report.held)


# -- bootstrap ------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["orders", "order_lines"])
def test_gated_created_loaded_in_any_order_and_ungated_everything_is_refreshed_once(etl, clock, first):
    """And no version that anybody can read is made of half of it."""
    etl.gate_sources(["orders", "order_lines"])
    define(etl)
    batches = {"orders": ORDERS, "order_lines": LINES}
    for source in sorted(batches, key=lambda name: name != first):
        for row in batches[source][:-1]:
            etl.insert(source, [row])
            clock.advance(60)
            etl.tick()
        with etl.transaction() as tx:
            tx.insert(source, batches[source][-1:])
            tx.ungate_source(source)
        clock.advance(60)
        etl.tick()
    for name in PIPELINE:
        assert refreshes(etl, name) == 1, name
        assert len(skips(etl, name)) == 1, name
        lsns = {entry.lsn for entry in etl.refresh_history(name)} - {None}
        assert [bool(rows(etl, name, as_of=lsn)) for lsn in lsns] == [True], name
    assert rows(etl, "order_report") == {(35, 8): 1}
    Watch(etl).look()


def test_creating_over_a_gated_source_puts_the_first_fill_off_and_says_so(etl):
    load(etl)
    etl.gate_source("orders")
    (told,) = notices(lambda: etl.create_stream_table("order_summary", PIPELINE["order_summary"]))
    assert told == (
        'the first fill of "order_summary" is put off: "order_summary" waits for "orders", '
        f"which is gated since 2030-01-01 00:00:00 UTC by {ME}"
    )
    found = one(etl, "order_summary")
    assert (found.status, rows(etl, "order_summary")) == ("INITIALIZING", {})
    assert told.endswith(found.held)
    assert skips(etl, "order_summary") == [found.held]
    assert etl.refresh_history("order_summary")[0].initiated_by == "create"
    etl.ungate_source("orders")
    assert etl.tick().refreshed == ("order_summary",)
    assert one(etl, "order_summary").status == "ACTIVE"
    assert rows(etl, "order_summary") == {("north", 10): 1, ("south", 25): 1}


def test_so_does_creating_over_stream_tables_that_wait(etl):
    etl.gate_source("orders")
    load(etl)
    told = notices(lambda: define(etl))
    assert [text.partition(" is put off")[0] for text in told] == [
        'the first fill of "order_summary"',
        'the first fill of "order_report"',
    ]
    assert one(etl, "line_summary").status == "ACTIVE"


def test_a_first_fill_that_was_put_off_comes_without_a_schedule_too(etl, clock):
    etl.gate_source("orders")
    text = "SELECT count(*) AS n FROM orders"
    etl.create_stream_table("asked_for", text, schedule=None)
    etl.create_stream_table("left_alone", text, schedule=None, initialize=False)
    clock.advance(60)
    etl.tick()
    etl.ungate_source("orders")
    assert etl.tick().refreshed == ("asked_for",)
    etl.insert("orders", etl.arrow("orders").slice(0, 1))
    clock.advance(60)
    assert etl.tick().refreshed == ()
    assert [each.status for each in etl.status()] == ["ACTIVE", "INITIALIZING"]


def test_several_created_at_once_are_put_off_where_they_wait(etl):
    etl.gate_source("order_lines")
    load(etl)
    etl.create_stream_tables([{"name": name, "query": query} for name, query in PIPELINE.items()])
    assert {each.name: each.status for each in etl.status()} == {
        "line_summary": "INITIALIZING",
        "order_report": "INITIALIZING",
        "order_summary": "ACTIVE",
    }


def test_loaded_anew_behind_a_gate_no_empty_state_is_seen_downstream(kept, clock):
    before = {name: rows(kept, name) for name in PIPELINE}
    kept.gate_source("orders")
    kept.truncate("orders")
    for amount in (1, 2, 3):
        clock.advance(60)
        kept.tick()
        assert {name: rows(kept, name) for name in PIPELINE} == before
        kept.insert("orders", [(amount, "west", amount)])
    kept.ungate_source("orders")
    clock.advance(60)
    kept.tick()
    assert rows(kept, "order_summary") == {("west", 6): 1}
    assert rows(kept, "order_report") == {(6, 8): 1}
    for name in PIPELINE:
        assert all(rows(kept, name, as_of=entry.lsn) for entry in kept.refresh_history(name) if entry.lsn)
    Watch(kept).look()


def test_behind_its_gate_a_source_may_be_dropped_and_made_anew(kept, clock):
    kept.gate_source("orders")
    kept.drop_table("orders")
    assert gated(kept) == {"orders"}
    clock.advance(60)
    kept.tick()
    kept.create_table("orders", "id BIGINT, region STRING, amount BIGINT, note STRING")
    clock.advance(60)
    assert set(hold_reasons(kept.tick())) == {"order_summary", "order_report"}
    with kept.transaction() as tx:
        tx.insert("orders", [(9, "west", 9, "new")])
        tx.ungate_source("orders")
    kept.tick()
    assert rows(kept, "order_summary") == {("west", 9): 1}


def test_the_gate_of_a_source_that_is_gone_can_be_opened(etl):
    etl.gate_source("orders")
    etl.drop_table("orders")
    etl.ungate_source("orders")
    assert gated(etl) == set()
    with pytest.raises(UnknownTable):
        etl.gate_source("orders")


# -- who waits ------------------------------------------------------------------------------------


def test_only_what_is_downstream_waits(kept, clock):
    kept.create_stream_table("order_dashboard", DASHBOARD, schedule="1m")
    kept.gate_source("order_lines")
    kept.insert("orders", [(4, "east", 100)])
    kept.insert("order_lines", [(4, 1)])
    clock.advance(60)
    report = kept.tick()
    assert set(report.refreshed) == {"order_summary", "order_dashboard"}
    assert set(hold_reasons(report)) == {"line_summary", "order_report"}
    assert rows(kept, "order_report") == {(35, 8): 1}


def test_what_waits_says_for_which_source_since_when_and_by_whom(kept, clock):
    clock.advance(30)
    kept.gate_source("orders")
    clock.advance(60)
    kept.tick()
    why = f'"order_report" waits for "orders", which is gated since 2030-01-01 00:00:30 UTC by {ME}'
    found = one(kept, "order_report")
    assert (found.held, found.gated_by_sources, found.status) == (why, ("orders",), "ACTIVE")
    assert skips(kept, "order_report") == [why]
    assert one(kept, "line_summary").gated_by_sources == ()


def test_two_gates_are_both_named_and_both_must_open(kept, clock):
    kept.gate_source("order_lines")
    clock.advance(60)
    kept.gate_source("orders")
    kept.insert("orders", [(4, "east", 100)])
    assert hold_reasons(kept.tick())["order_report"].endswith('; gated too: "orders"')
    assert one(kept, "order_report").gated_by_sources == ("order_lines", "orders")
    kept.ungate_source("order_lines")
    assert 'waits for "orders"' in hold_reasons(kept.tick())["order_report"]
    kept.ungate_source("orders")
    assert "order_report" in kept.tick().refreshed
    assert len(skips(kept, "order_report")) == 1, "one episode, whatever it waited for"


def test_an_episode_is_one_line_of_history_however_many_ticks(kept, clock):
    for _ in range(2):
        kept.gate_source("orders")
        for _ in range(3):
            clock.advance(60)
            kept.tick()
        kept.ungate_source("orders")
        kept.tick()
    assert len(skips(kept, "order_summary")) == 2
    assert one(kept, "order_summary").held is None


def test_what_came_while_it_was_shut_arrives_in_one_refresh(kept, clock):
    kept.gate_source("orders")
    for number in range(4, 9):
        kept.insert("orders", [(number, "east", 1)])
        clock.advance(60)
        kept.tick()
    before = refreshes(kept, "order_summary")
    kept.ungate_source("orders")
    kept.tick()
    assert refreshes(kept, "order_summary") == before + 1
    assert kept.refresh_history("order_summary", 1)[0].action == "DIFFERENTIAL"
    assert rows(kept, "order_summary")[("east", 5)] == 1


def test_a_gated_source_under_a_diamond_holds_all_of_it(shop, clock):
    shop.create_table("other", "id BIGINT, region STRING")
    diamond(shop)
    shop.alter_stream_table(
        "by_region",
        query="SELECT s.region, SUM(amount) AS revenue, COUNT(*) AS n FROM sales s "
        "LEFT JOIN other o ON s.region = o.region GROUP BY s.region",
    )
    before = {each.name: rows(shop, each.name) for each in shop.status()}
    shop.gate_source("other")
    sell(shop, 4)
    clock.advance(60)
    report = shop.tick()
    assert set(hold_reasons(report)) == {"by_region", "by_product", "summary"}
    assert all('"by_region" waits for "other"' in why for why in hold_reasons(report).values())
    assert {each.name: rows(shop, each.name) for each in shop.status()} == before
    assert one(shop, "by_product").gated_by_sources == ()
    assert '"by_region" waits for "other"' in one(shop, "by_product").held
    shop.ungate_source("other")
    assert len(shop.tick().refreshed) == 3
    assert all_right(shop)


def test_members_of_a_diamond_that_move_on_their_own_wait_on_their_own(shop, clock):
    diamond(shop, diamond_consistency="none")
    shop.create_table("other", "id BIGINT")
    shop.alter_stream_table(
        "by_product",
        query="SELECT product, SUM(amount) AS revenue, SUM(amount / pieces) AS prices FROM sales "
        "WHERE EXISTS (SELECT 1 FROM other) GROUP BY product",
    )
    shop.gate_source("other")
    sell(shop, 4)
    clock.advance(60)
    report = shop.tick()
    assert report.refreshed == ("by_region",)
    assert set(hold_reasons(report)) == {"by_product", "summary"}


def test_a_gated_source_under_a_declared_group_holds_all_of_it(kept, clock):
    kept.create_refresh_group("both", ["order_summary", "line_summary"])
    kept.gate_source("orders")
    kept.insert("order_lines", [(9, 9)])
    clock.advance(60)
    report = kept.tick()
    assert report.refreshed == ()
    assert set(hold_reasons(report)) == set(PIPELINE)
    assert '"order_summary" waits for "orders"' in hold_reasons(report)["line_summary"]
    kept.ungate_source("orders")
    assert set(kept.tick().refreshed) >= {"line_summary"}


def test_a_new_member_of_a_group_that_waits_is_filled_with_it(shop):
    """One that doesn't read the gated source itself, but is published with one that does."""
    shop.create_table("other", "region STRING")
    shop.create_stream_table(
        "by_region", "SELECT s.region FROM sales s LEFT JOIN other o ON s.region = o.region"
    )
    shop.gate_source("other")
    pair = "SELECT r.region FROM by_region r JOIN names n ON r.region = n.region"
    specs = [
        {"name": "names", "query": "SELECT DISTINCT region FROM sales"},
        {"name": "pair", "query": pair},
    ]
    (told, *_) = notices(lambda: shop.create_stream_tables(specs))
    assert 'the first fill of "names", "pair" is put off: "by_region" waits for "other"' in told
    assert rows(shop, "names") == {}
    shop.ungate_source("other")
    shop.tick()
    assert len(rows(shop, "names")) == len(rows(shop, "pair")) == 2
    assert all_right(shop)


# -- who does not -------------------------------------------------------------------------------


def test_one_that_ignores_gates_is_filled_and_refreshed(etl, clock):
    etl.gate_source("orders")
    etl.insert("orders", ORDERS[:1])
    query = PIPELINE["order_summary"]
    assert (
        notices(lambda: etl.create_stream_table("progress", query, schedule="1m", bootstrap_gating="ignore"))
        == []
    )
    etl.create_stream_table("below", "SELECT region FROM progress", schedule="1m")
    etl.insert("orders", ORDERS[1:2])
    clock.advance(60)
    report = etl.tick()
    assert report.refreshed == ("progress",)
    assert set(hold_reasons(report)) == {"below"}, "what reads it doesn't ignore the gate"
    (gate,) = etl.source_gates()
    assert gate.affected_stream_tables == ("below",)
    assert one(etl, "progress").gated_by_sources == ()


def test_it_can_be_told_to_ignore_gates_later_and_to_respect_them_again(kept, clock):
    kept.gate_source("orders")
    kept.insert("orders", [(4, "east", 1)])
    clock.advance(60)
    kept.alter_stream_table("order_summary", bootstrap_gating="ignore")
    assert kept.tick().refreshed == ("order_summary",)
    kept.alter_stream_table("order_summary", bootstrap_gating="respect")
    clock.advance(60)
    assert "order_summary" in hold_reasons(kept.tick())


def test_one_that_ignores_gates_still_waits_with_its_group(shop, clock):
    diamond(shop)
    shop.alter_stream_table("by_region", bootstrap_gating="ignore")
    shop.gate_source("sales")
    sell(shop, 4)
    clock.advance(60)
    report = shop.tick()
    assert set(hold_reasons(report)) == {"by_region", "by_product", "summary"}
    assert all('"by_product" waits for "sales"' in why for why in hold_reasons(report).values())
    for name in ("by_product", "summary"):
        shop.alter_stream_table(name, bootstrap_gating="ignore")
    assert len(shop.tick().refreshed) == 3


def test_immediate_tables_take_no_notice_of_gates(etl, clock):
    etl.gate_source("orders")
    etl.insert("orders", ORDERS[:2])
    query = PIPELINE["order_summary"]
    assert notices(lambda: etl.create_stream_table("now", query, refresh_mode="immediate")) == []
    assert rows(etl, "now") == {("north", 10): 1, ("south", 20): 1}
    etl.insert("orders", ORDERS[2:])
    assert rows(etl, "now") == {("north", 10): 1, ("south", 25): 1}
    assert one(etl, "now").gated_by_sources == ()


def test_what_reads_an_immediate_table_waits_for_the_sources_behind_it(etl, clock):
    load(etl)
    etl.create_stream_table("now", PIPELINE["order_summary"], refresh_mode="immediate")
    etl.create_stream_table("later", "SELECT region FROM now", schedule="1m")
    etl.gate_source("orders")
    etl.insert("orders", [(4, "east", 1)])
    clock.advance(60)
    assert set(hold_reasons(etl.tick())) == {"later"}
    assert ("east", 1) in rows(etl, "now")


def test_a_refresh_by_hand_passes_and_names_the_gate(kept):
    kept.gate_source("orders")
    kept.insert("orders", [(4, "east", 1)])
    told = notices(lambda: kept.refresh_stream_table("order_report"))
    assert [text.partition(", which")[0] for text in told] == [
        '"order_summary" is refreshed by hand, although "order_summary" waits for "orders"',
        '"order_report" is refreshed by hand, although "order_report" waits for "orders"',
    ]
    assert rows(kept, "order_report") == {(36, 8): 1}
    assert kept.refresh_history("order_report", 1)[0].initiated_by == "manual"


def test_refreshed_by_hand_in_between_it_is_still_one_episode(kept, clock):
    kept.gate_source("orders")
    for number in range(4, 7):
        clock.advance(60)
        kept.tick()
        kept.insert("orders", [(number, "east", 1)])
        kept.refresh_stream_table("order_report")
        assert 'waits for "orders"' in one(kept, "order_report").held
    assert len(skips(kept, "order_report")) == 1
    kept.ungate_source("orders")
    clock.advance(60)
    kept.tick()
    assert one(kept, "order_report").held is None


def test_so_it_is_for_those_that_only_wait_with_their_group(kept, clock):
    kept.create_refresh_group("all_of_it", list(PIPELINE))
    kept.gate_source("orders")
    for _ in range(2):
        clock.advance(60)
        kept.tick()
        kept.insert("order_lines", [(4, 1)])
        kept.refresh_stream_table("order_report")
    assert [len(skips(kept, name)) for name in PIPELINE] == [1, 1, 1]


def test_what_is_not_filled_yet_is_filled_by_hand_all_the_way_up(etl):
    etl.gate_sources(["orders", "order_lines"])
    define(etl)
    load(etl)
    assert len(notices(lambda: etl.refresh_stream_table("order_report"))) == 3
    assert rows(etl, "order_report") == {(35, 8): 1}


def test_a_query_altered_by_hand_passes_and_names_the_gate(kept):
    kept.gate_source("orders")
    told = notices(lambda: kept.alter_stream_table("order_report", query="SELECT revenue FROM order_summary"))
    assert any('"order_report" waits for "orders"' in text for text in told)
    assert rows(kept, "order_report") == {(10,): 1, (25,): 1}


# -- when it counts -------------------------------------------------------------------------------


def test_gated_while_a_refresh_runs_that_one_finishes_and_the_next_waits(kept, clock):
    kept.insert("orders", [(4, "east", 1)])
    clock.advance(60)

    def meddle(event: ab.Event) -> None:
        if event.kind == "refresh_started" and event.stream_table == "order_summary":
            with kept.transaction() as tx:
                tx.gate_source("orders")
                tx.truncate("orders")

    assert set(kept.tick(observer=meddle).refreshed) == {"order_summary", "order_report"}
    assert rows(kept, "order_report") == {(36, 8): 1}
    clock.advance(60)
    assert set(hold_reasons(kept.tick())) == {"order_summary", "order_report"}
    assert rows(kept, "order_report") == {(36, 8): 1}


@pytest.mark.parametrize("watermark", [True, False])
def test_gated_between_looking_and_reading_it_waits(kept, clock, watermark):
    """The tick reads at a later lsn than the one at which it found out what is due."""
    kept.set("tick_watermark_enabled", watermark)
    kept.insert("orders", [(4, "east", 1)])
    clock.advance(60)

    def started(event: ab.Event) -> None:
        if event.kind == "tick_started":
            with kept.transaction() as tx:
                tx.truncate("orders")
                tx.gate_source("orders")

    report = kept.tick(observer=started)
    assert report.refreshed == ()
    assert set(hold_reasons(report)) == {"order_summary", "order_report"}
    assert rows(kept, "order_report") == {(35, 8): 1}


def test_members_that_read_what_is_newest_read_nothing_past_a_gate(kept, clock):
    kept.set("tick_watermark_enabled", False)
    kept.set("parallelism", 1)
    kept.create_refresh_group("both", ["line_summary", "order_summary"], "read_committed")
    kept.insert("orders", [(4, "east", 1)])
    kept.insert("order_lines", [(4, 1)])
    clock.advance(60)

    def meddle(event: ab.Event) -> None:
        if event.kind == "refresh_finished" and event.stream_table == "line_summary":
            with kept.transaction() as tx:
                tx.truncate("orders")
                tx.gate_source("orders")

    assert set(kept.tick(observer=meddle).refreshed) >= {"line_summary", "order_summary"}
    assert rows(kept, "order_summary")[("east", 1)] == 1


def test_gates_come_before_suspension_and_watermarks(kept, clock):
    kept.create_watermark_group("pair", ["orders", "order_lines"])
    kept.suspend_stream_table("order_report")
    kept.gate_source("orders")
    clock.advance(60)
    assert 'waits for "orders", which is gated' in hold_reasons(kept.tick())["order_report"]
    kept.ungate_source("orders")
    assert "waits for the first watermark" in hold_reasons(kept.tick())["order_report"]
    kept.drop_watermark_group("pair")
    assert "is suspended" in hold_reasons(kept.tick())["order_report"]
    assert [reason.split()[1] for reason in skips(kept, "order_report")] == ["waits", "waits", "is"]


# -- transactions ---------------------------------------------------------------------------------


def test_a_rolled_back_ungate_stays_gated(etl):
    etl.gate_source("orders")
    (before,) = etl.source_gates()
    with suppress(ZeroDivisionError), etl.transaction() as tx:
        tx.insert("orders", ORDERS)
        tx.ungate_source("orders")
        raise ZeroDivisionError
    assert etl.source_gates() == [before]
    assert etl.arrow("orders").num_rows == 0


def test_a_rolled_back_gate_stays_open(etl):
    with suppress(ZeroDivisionError), etl.transaction() as tx:
        tx.gate_source("orders")
        raise ZeroDivisionError
    assert etl.source_gates() == []


def test_ungating_is_seen_when_the_rows_are_and_not_before(place, clock, etl):
    etl.gate_source("orders")
    with duck_lake(place, clock=clock) as other:
        with etl.transaction() as tx:
            tx.insert("orders", ORDERS)
            tx.ungate_source("orders")
            assert gated(other) == {"orders"}
            assert other.arrow("orders").num_rows == 0
        assert gated(other) == set()
        assert other.arrow("orders").num_rows == 3
    assert etl.commits(1)[0].kind == "write"


def test_a_transaction_that_only_gates_is_a_commit_of_its_own(etl):
    before = etl.lsn
    with etl.transaction() as tx:
        tx.gate_source("orders")
        tx.gate_sources(["order_lines"])
    assert (tx.lsn, etl.lsn) == (before + 1, before + 1)
    assert etl.commits(1)[0].kind == "gate"
    assert gated(etl) == {"orders", "order_lines"}


def test_a_table_can_be_gated_in_the_transaction_that_creates_it(etl):
    with etl.transaction() as tx:
        tx.create_table("fresh", "id BIGINT")
        tx.gate_source("fresh")
    assert gated(etl) == {"fresh"}


def test_what_is_said_last_in_a_transaction_counts(etl):
    with etl.transaction() as tx:
        tx.gate_source("orders")
        tx.ungate_source("orders")
        tx.ungate_source("order_lines")
        tx.gate_source("order_lines")
    assert gated(etl) == {"order_lines"}


def test_a_transaction_that_was_committed_before_gates_nothing_again(etl):
    for _ in range(2):
        with etl.transaction(attempt="night load") as tx:
            tx.insert("orders", ORDERS)
            tx.gate_source("orders")
            tx.gate_sources(["order_lines"])
            tx.advance_watermark("orders", "2030-01-01")
        etl.ungate_sources(["orders", "order_lines"])
        with etl.transaction(attempt="night load") as tx:
            tx.ungate_source("orders")
            tx.ungate_sources(["orders"])
    assert gated(etl) == set()
    assert etl.arrow("orders").num_rows == 3


# -- again and again ------------------------------------------------------------------------------


def test_gating_twice_keeps_the_time_and_makes_no_commit(etl, clock):
    etl.gate_source("orders")
    (before,) = etl.source_gates()
    lsn = etl.lsn
    clock.advance(60)
    etl.gate_source("orders")
    (after,) = etl.source_gates()
    assert (after.gated_at, after.gated_by, etl.lsn) == (before.gated_at, before.gated_by, lsn)


def test_ungating_twice_or_what_never_was_gated_changes_nothing(etl, clock):
    etl.ungate_source("orders")
    assert etl.source_gates() == []
    etl.gate_source("orders")
    etl.ungate_source("orders")
    before, lsn = etl.source_gates(), etl.lsn
    clock.advance(60)
    etl.ungate_source("orders")
    assert (etl.source_gates(), etl.lsn) == (before, lsn)


def test_gated_again_it_is_as_new(etl, clock):
    etl.gate_source("orders")
    clock.advance(60)
    etl.ungate_source("orders")
    (was,) = etl.source_gates()
    assert (was.gated, was.gate_seconds) == (False, 60.0)
    assert was.ungated_at == clock.now()
    clock.advance(60)
    etl.gate_source("orders")
    (now,) = etl.source_gates()
    assert (now.gated, now.gated_at, now.ungated_at, now.gate_seconds) == (True, clock.now(), None, 0.0)


def test_several_at_once_or_none(etl):
    lsn = etl.lsn
    for act in (etl.gate_sources, etl.ungate_sources):
        with pytest.raises(UnknownTable) as caught:
            act(["orders", "order_line"])
        assert caught.value.hint == 'did you mean "order_lines"?'
    assert (etl.source_gates(), etl.lsn) == ([], lsn)
    etl.gate_sources(["orders", "order_lines", "orders"])
    assert gated(etl) == {"orders", "order_lines"}
    etl.ungate_sources(["orders", "order_lines"])
    assert gated(etl) == set()
    etl.gate_sources([])


def test_a_transaction_in_which_one_name_is_unknown_gates_none_of_them(etl):
    with etl.transaction() as tx:
        with pytest.raises(UnknownTable):
            tx.gate_sources(["orders", "nowhere"])
        tx.insert("orders", ORDERS)
    assert etl.source_gates() == []


@pytest.mark.parametrize("names", ["orders", b"orders", 7, None, {"orders": 1}])
def test_several_are_named_by_a_list(etl, names):
    with pytest.raises(InputError):
        etl.gate_sources(names)


def test_a_stream_table_is_suspended_not_gated(kept):
    for act in (kept.gate_source, lambda name: kept.gate_sources(["orders", name]), kept.ungate_source):
        with pytest.raises(NotASource) as caught:
            act("order_summary")
        assert caught.value.code == "AB701"
        assert "suspend_stream_table" in caught.value.hint
    assert kept.source_gates() == []


def test_a_table_that_nobody_reads_yet_may_be_gated(etl):
    etl.gate_source("orders")
    (gate,) = etl.source_gates()
    assert gate.affected_stream_tables == ()
    assert etl.tick().held == ()


# -- looking --------------------------------------------------------------------------------------


def test_gates_are_listed_with_what_waits_for_them_near_and_far(kept, clock):
    kept.create_table("more.orders", "id BIGINT")
    kept.gate_sources(["orders", "more.orders"])
    clock.advance(90)
    read, unread = kept.source_gates()
    assert (read.source_table, read.schema_name, read.gated) == ("orders", "main", True)
    assert (read.gated_by, read.gate_seconds, read.ungated_at) == (ME, 90.0, None)
    assert read.affected_stream_tables == ("order_report", "order_summary")
    assert (unread.source_table, unread.schema_name) == ("orders", "more")
    assert unread.affected_stream_tables == ()


def test_the_tree_and_the_explanation_show_gates(kept):
    assert "gated" not in str(kept.dependency_tree())
    kept.gate_source("orders")
    tree = str(kept.dependency_tree())
    assert "orders  (source, gated)" in tree
    assert "order_lines  (source)" in tree
    (line,) = {line.strip("│├└─ ↑") for line in tree.splitlines() if "order_summary" in line}
    assert line.endswith("waits for orders)")
    assert "orders  (source, gated)" in str(kept.dependency_tree("order_report"))
    explained = kept.explain("order_report")
    assert explained.gated_by_sources == ("orders",)
    assert "waits for orders (gated)" in str(explained)


# -- for too long ---------------------------------------------------------------------------------


def stale(lake: ab.Lake) -> list[str]:
    return [text for text in notices(lake.tick) if "has been gated" in text]


def test_of_a_gate_that_is_shut_for_long_somebody_is_told_once(place, clock, etl):
    etl.gate_source("orders")
    clock.advance(3600)
    assert stale(etl) == []
    clock.advance(1)
    (told,) = stale(etl)
    assert told == (
        f'"orders" has been gated for 1h1s by {ME}: is it still being loaded? '
        'ungate_source("orders") opens it'
    )
    clock.advance(86400)
    assert stale(etl) == []
    with duck_lake(place, clock=clock) as other:
        assert stale(other) == []


def test_of_the_next_episode_somebody_is_told_again(etl, clock):
    etl.set("gate_stale_after", "10m")
    for _ in range(2):
        etl.gate_source("orders")
        clock.advance(601)
        assert len(stale(etl)) == 1
        etl.ungate_source("orders")
        clock.advance(601)
        assert stale(etl) == []


def test_a_gate_that_nobody_waits_for_and_one_that_is_loaded_in_time(etl, clock):
    etl.gate_sources(["orders", "order_lines"])
    clock.advance(1800)
    etl.ungate_source("order_lines")
    clock.advance(1801)
    (told,) = stale(etl)
    assert '"orders"' in told


def test_nothing_is_entered_for_a_gate_that_holds_nobody(etl, clock):
    etl.gate_source("orders")
    etl.tick()
    assert actions(etl) == []
