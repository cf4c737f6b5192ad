"""Watermarks: what reads several sources waits until they are loaded up to the same time, or near it."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

import anabranch as ab
from anabranch.errors import (
    InvalidName,
    InvalidWatermark,
    InvalidWatermarkGroup,
    NotASource,
    UnknownTable,
    WatermarkBackwards,
    WriteConflict,
)
from tests.engines.lakes import duck_lake
from tests.streams.loading import PIPELINE, define, empty, load, notices, refreshes, skips
from tests.streams.shop import one, rows

pytestmark = pytest.mark.rotating(2)

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
FAR = datetime(9999, 12, 31, 23)  # noqa: DTZ001  west of Greenwich that is past the end of time


@pytest.fixture
def etl(duck_lake: ab.Lake) -> ab.Lake:
    """Two sources, loaded, and what is made from them."""
    empty(duck_lake)
    load(duck_lake)
    define(duck_lake)
    return duck_lake


def changed(lake: ab.Lake, clock: ab.ManualClock) -> None:
    """Both sources have something new, and everything is due."""
    lake.insert("orders", [(4, "east", 1)])
    lake.insert("order_lines", [(4, 1)])
    clock.advance(60)


def hold_reasons(lake: ab.Lake) -> dict[str, str]:
    return dict(lake.tick().held)


def watermark(lake: ab.Lake, source: str = "orders") -> datetime | None:
    (found,) = [each.watermark for each in lake.watermarks() if each.source == source]
    return found


# -- one source -----------------------------------------------------------------------------------


def test_a_watermark_goes_forward(etl, clock):
    etl.advance_watermark("orders", MARCH)
    clock.advance(5)
    etl.advance_watermark("orders", MARCH + HOUR)
    (found,) = etl.watermarks()
    assert (found.source, found.watermark) == ("orders", MARCH + HOUR)
    assert (found.advanced_at, found.lsn) == (clock.now(), etl.lsn)


def test_the_same_again_changes_nothing(etl, clock):
    etl.advance_watermark("orders", MARCH)
    before, lsn = etl.watermarks(), etl.lsn
    clock.advance(5)
    etl.advance_watermark("orders", MARCH)
    assert (etl.watermarks(), etl.lsn) == (before, lsn)


def test_it_never_goes_back(etl):
    etl.advance_watermark("orders", MARCH)
    lsn = etl.lsn
    with pytest.raises(WatermarkBackwards) as caught:
        etl.advance_watermark("orders", MARCH - timedelta(microseconds=1))
    assert caught.value.code == "AB703"
    assert '"orders"' in caught.value.message
    assert "2026-03-01T00:00:00+00:00" in caught.value.detail
    assert (watermark(etl), etl.lsn) == (MARCH, lsn)


def test_nor_in_a_transaction_in_which_nothing_happens_then(etl):
    with suppress(WatermarkBackwards), etl.transaction() as tx:
        tx.insert("orders", [(9, "east", 9)])
        tx.advance_watermark("orders", MARCH + HOUR)
        tx.advance_watermark("orders", MARCH)
    assert etl.watermarks() == []
    assert etl.arrow("orders").num_rows == 3


def test_two_that_advance_at_once_leave_the_later_time(place, clock, etl):
    """The one that commits last finds that it would go back, and nothing of it happens."""
    with duck_lake(place, clock=clock) as other:
        tx = etl.transaction()
        tx.insert("orders", [(9, "east", 9)])
        tx.advance_watermark("orders", MARCH)
        other.advance_watermark("orders", MARCH + HOUR)
        with pytest.raises(WatermarkBackwards):
            tx.commit()
    assert watermark(etl) == MARCH + HOUR
    assert etl.arrow("orders").num_rows == 3


def test_a_source_that_is_dropped_meanwhile_gets_no_watermark(place, clock, etl):
    with duck_lake(place, clock=clock) as other:
        tx = etl.transaction()
        tx.advance_watermark("orders", MARCH)
        other.drop_table("orders")
        with pytest.raises(WriteConflict):
            tx.commit()
    assert etl.watermarks() == []


def test_it_is_seen_when_the_rows_are_and_not_before(place, clock, etl):
    with duck_lake(place, clock=clock) as other:
        with etl.transaction() as tx:
            tx.insert("orders", [(9, "east", 9)])
            tx.advance_watermark("orders", MARCH)
            assert other.watermarks() == []
        (found,) = other.watermarks()
        assert found.lsn == tx.lsn == other.lsn


def test_rolled_back_it_stays_where_it_was(etl):
    etl.advance_watermark("orders", MARCH)
    with suppress(ZeroDivisionError), etl.transaction() as tx:
        tx.advance_watermark("orders", MARCH + HOUR)
        raise ZeroDivisionError
    assert watermark(etl) == MARCH


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2026-03-01", MARCH),
        ("2026-03-01 00:00:00", MARCH),
        ("2026-03-01T01:00:00+01:00", MARCH),
        ("2026-03-01T00:00:00.000001Z", MARCH + timedelta(microseconds=1)),
        (datetime(2026, 3, 1), MARCH),  # noqa: DTZ001  in the lake's zone
        (datetime(2026, 3, 1, 2, tzinfo=timezone(2 * HOUR)), MARCH),
        (date(2026, 3, 1), MARCH),
    ],
    ids=str,
)
def test_a_timestamp_is_a_time_a_date_or_a_text(etl, given, meant):
    etl.advance_watermark("orders", given)
    assert watermark(etl) == meant


def test_what_has_no_zone_is_in_the_lakes(place, clock):
    with duck_lake(place, clock=clock, time_zone="Europe/Vienna") as lake:
        empty(lake)
        lake.advance_watermark("orders", "2026-03-01")
        assert watermark(lake) == MARCH - HOUR


@pytest.mark.parametrize("given", ["", "soon", "2026-13-01", "now", 7, None, 1.5, "x" * 10_000, FAR])
def test_what_is_no_timestamp_is_refused(place, clock, given):
    with duck_lake(place, clock=clock, time_zone="America/New_York") as lake:
        empty(lake)
        lsn = lake.lsn
        with pytest.raises(InvalidWatermark) as caught:
            lake.advance_watermark("orders", given)
        assert caught.value.code == "AB702"
        assert (lake.watermarks(), lake.lsn) == ([], lsn)


def test_only_sources_have_watermarks(etl):
    with pytest.raises(NotASource):
        etl.advance_watermark("order_summary", MARCH)
    with pytest.raises(UnknownTable) as caught:
        etl.advance_watermark("order_line", MARCH)
    assert caught.value.hint == 'did you mean "order_lines"?'


def test_a_watermark_goes_with_its_table(etl):
    etl.advance_watermark("orders", MARCH)
    etl.drop_table("orders")
    assert etl.watermarks() == []
    etl.create_table("orders", "id BIGINT, region STRING, amount BIGINT")
    etl.advance_watermark("orders", MARCH - HOUR)
    assert watermark(etl) == MARCH - HOUR


def test_made_anew_in_a_transaction_a_source_begins_anew(etl):
    etl.advance_watermark("orders", MARCH)
    with etl.transaction() as tx:
        tx.advance_watermark("orders", MARCH + HOUR)
        tx.drop_table("orders")
        tx.create_table("orders", "id BIGINT, region STRING, amount BIGINT")
        tx.advance_watermark("orders", MARCH - HOUR)
    assert watermark(etl) == MARCH - HOUR


# -- groups ---------------------------------------------------------------------------------------


def test_what_reads_two_sources_of_a_group_waits_until_they_are_aligned(etl, clock):
    etl.create_watermark_group("pipeline", ["orders", "order_lines"])
    etl.advance_watermark("orders", MARCH + HOUR)
    etl.advance_watermark("order_lines", MARCH)
    changed(etl, clock)
    report = etl.tick()
    assert set(report.refreshed) == {"order_summary", "line_summary"}, "each reads one of them"
    why = (
        '"order_report" waits for the watermark of "order_lines", which is at 2026-03-01 00:00:00 UTC, '
        '1h behind "orders" (watermark group "pipeline" allows 0s)'
    )
    assert dict(report.held) == {"order_report": why}
    assert one(etl, "order_report").held == why
    assert one(etl, "order_report").gated_by_sources == ()
    before = refreshes(etl, "order_report")
    for _ in range(3):
        clock.advance(60)
        etl.tick()
    assert skips(etl, "order_report") == [why]
    etl.advance_watermark("order_lines", MARCH + HOUR)
    etl.tick()
    assert refreshes(etl, "order_report") == before + 1
    assert rows(etl, "order_report") == {(36, 9): 1}


@pytest.mark.parametrize(
    ("lag", "waits"), [(HOUR, False), (HOUR + timedelta(microseconds=1), True)], ids=["equal", "more"]
)
def test_as_far_apart_as_is_allowed_is_aligned(etl, clock, lag, waits):
    etl.create_watermark_group("pipeline", ["orders", "order_lines"], tolerance="1h")
    etl.advance_watermark("order_lines", MARCH)
    etl.advance_watermark("orders", MARCH + lag)
    (group,) = etl.watermark_groups()
    assert (group.aligned, group.lag_seconds) == (not waits, lag.total_seconds())
    changed(etl, clock)
    assert ("order_report" in hold_reasons(etl)) is waits


def test_a_source_without_a_watermark_keeps_the_group_waiting(etl, clock):
    etl.create_watermark_group("pipeline", ["orders", "order_lines"])
    changed(etl, clock)
    assert hold_reasons(etl) == {
        "order_report": '"order_report" waits for the first watermark of "order_lines", "orders" '
        '(watermark group "pipeline")'
    }
    etl.advance_watermark("orders", MARCH)
    assert 'first watermark of "order_lines" (' in hold_reasons(etl)["order_report"]
    etl.advance_watermark("order_lines", MARCH)
    assert hold_reasons(etl) == {}
    assert len(skips(etl, "order_report")) == 1


def test_unless_it_is_to_be_left_out(etl, clock):
    etl.create_table("returns", "id BIGINT")
    etl.create_stream_table(
        "all_three",
        "SELECT o.revenue FROM order_report o WHERE EXISTS (SELECT 1 FROM returns)",
        schedule="1m",
    )
    etl.create_watermark_group("pipeline", ["orders", "order_lines", "returns"], missing="ignore")
    changed(etl, clock)
    assert hold_reasons(etl) == {}
    etl.advance_watermark("orders", MARCH)
    changed(etl, clock)
    assert hold_reasons(etl) == {}
    etl.advance_watermark("order_lines", MARCH + HOUR)
    changed(etl, clock)
    assert set(hold_reasons(etl)) == {"order_report", "all_three"}


def test_only_the_sources_that_it_reads_count(etl, clock):
    etl.create_table("returns", "id BIGINT")
    etl.create_watermark_group("pipeline", ["orders", "order_lines", "returns"])
    for source in ("orders", "order_lines"):
        etl.advance_watermark(source, MARCH)
    changed(etl, clock)
    assert hold_reasons(etl) == {}, "returns has no watermark, and nobody reads it"
    etl.advance_watermark("returns", MARCH + 9 * HOUR)
    changed(etl, clock)
    assert hold_reasons(etl) == {}
    (group,) = etl.watermark_groups()
    assert not group.aligned


def test_one_source_may_be_in_two_groups(etl, clock):
    etl.create_table("returns", "id BIGINT")
    query = "SELECT region FROM order_summary WHERE NOT EXISTS (SELECT 1 FROM returns)"
    etl.create_stream_table("not_returned", query, schedule="1m")
    etl.create_watermark_group("near", ["orders", "order_lines"], tolerance="0s")
    etl.create_watermark_group("wide", ["orders", "returns"], tolerance=timedelta(days=1))
    for source, hours in {"orders": 20, "order_lines": 19, "returns": 0}.items():
        etl.advance_watermark(source, MARCH + hours * HOUR)
    changed(etl, clock)
    assert set(hold_reasons(etl)) == {"order_report"}
    etl.advance_watermark("orders", MARCH + 25 * HOUR)
    etl.advance_watermark("order_lines", MARCH + 25 * HOUR)
    changed(etl, clock)
    assert set(hold_reasons(etl)) == {"not_returned"}


def test_dropping_the_group_lets_them_go_on(etl, clock):
    etl.create_watermark_group("pipeline", ["orders", "order_lines"])
    changed(etl, clock)
    assert set(hold_reasons(etl)) == {"order_report"}
    etl.drop_watermark_group("pipeline")
    assert "order_report" in etl.tick().refreshed
    assert (etl.watermark_groups(), etl.watermarks()) == ([], [])


def test_what_waits_for_watermarks_holds_what_it_is_published_with(etl, clock):
    etl.create_refresh_group("all_of_it", list(PIPELINE))
    etl.create_watermark_group("pipeline", ["orders", "order_lines"])
    changed(etl, clock)
    assert set(hold_reasons(etl)) == set(PIPELINE)


def test_a_first_fill_waits_for_watermarks_too(duck_lake):
    empty(duck_lake)
    load(duck_lake)
    duck_lake.create_watermark_group("pipeline", ["orders", "order_lines"])
    (told,) = notices(lambda: define(duck_lake))
    assert told.startswith('the first fill of "order_report" is put off: "order_report" waits for the first')
    for source in ("orders", "order_lines"):
        duck_lake.advance_watermark(source, MARCH)
    duck_lake.tick()
    assert rows(duck_lake, "order_report") == {(35, 8): 1}


def test_ignoring_gates_is_not_ignoring_watermarks(etl, clock):
    etl.alter_stream_table("order_report", bootstrap_gating="ignore")
    etl.create_watermark_group("pipeline", ["orders", "order_lines"])
    changed(etl, clock)
    assert set(hold_reasons(etl)) == {"order_report"}


def test_by_hand_it_is_refreshed_and_says_so(etl):
    etl.create_watermark_group("pipeline", ["orders", "order_lines"])
    etl.insert("orders", [(4, "east", 1)])
    (told,) = notices(lambda: etl.refresh_stream_table("order_report"))
    assert '"order_report" waits for the first watermark' in told
    assert rows(etl, "order_report") == {(36, 8): 1}


def test_groups_and_the_watermarks_that_they_want_are_listed(etl):
    etl.create_watermark_group("pipeline", ["orders", "order_lines"], "90s", "ignore")
    etl.advance_watermark("orders", MARCH)
    (group,) = etl.watermark_groups()
    assert (group.group_name, group.sources) == ("pipeline", ("order_lines", "orders"))
    assert (group.tolerance_seconds, group.missing) == (90.0, "ignore")
    assert (group.aligned, group.lag_seconds) == (True, 0.0)
    assert [(each.source, each.watermark, each.lsn) for each in etl.watermarks()] == [
        ("order_lines", None, None),
        ("orders", MARCH, etl.lsn),
    ]


def test_a_group_of_which_nobody_has_said_anything_has_no_lag(etl):
    etl.create_watermark_group("gated", ["orders", "order_lines"])
    etl.create_watermark_group("ignored", ["orders", "order_lines"], missing="ignore")
    assert [(each.aligned, each.lag_seconds) for each in etl.watermark_groups()] == [
        (False, None),
        (True, None),
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "culprit"),
    [
        (("", ["orders", "order_lines"]), InvalidWatermarkGroup, "named by"),
        (("taken", ["orders", "order_lines"]), InvalidWatermarkGroup, '"taken"'),
        (("g", ["orders"]), InvalidWatermarkGroup, "two sources"),
        (("g", "orders"), InvalidWatermarkGroup, "a list"),
        (("g", ["orders", "Orders"]), InvalidWatermarkGroup, '"orders" is named twice'),
        (("g", ["orders", "order_line"]), UnknownTable, '"order_line"'),
        (("g", ["orders", "order_summary"]), NotASource, '"order_summary"'),
        (("g", ["orders", "no such name"]), InvalidName, "no such name"),
        (("g", ["orders", "order_lines"], "soon"), InvalidWatermarkGroup, "'soon'"),
        (("g", ["orders", "order_lines"], "-1s"), InvalidWatermarkGroup, "'-1s'"),
        (("g", ["orders", "order_lines"], timedelta(seconds=-1)), InvalidWatermarkGroup, "tolerance"),
        (("g", ["orders", "order_lines"], 7), InvalidWatermarkGroup, "7"),
        (("g", ["orders", "order_lines"], "0s", "perhaps"), InvalidWatermarkGroup, "'perhaps'"),
    ],
    ids=str,
)
def test_a_group_that_cannot_be_names_the_culprit_and_stores_nothing(etl, arguments, error, culprit):
    etl.create_watermark_group("taken", ["orders", "order_lines"])
    before, lsn = etl.watermark_groups(), etl.lsn
    with pytest.raises(error) as caught:
        etl.create_watermark_group(*arguments)
    assert culprit in str(caught.value)
    assert (etl.watermark_groups(), etl.lsn) == (before, lsn)


def test_a_group_that_does_not_exist_cannot_be_dropped(etl):
    etl.create_watermark_group("pipeline", ["orders", "order_lines"])
    with pytest.raises(InvalidWatermarkGroup) as caught:
        etl.drop_watermark_group("pipelines")
    assert (caught.value.code, caught.value.hint) == ("AB704", 'did you mean "pipeline"?')


def test_a_source_that_goes_shrinks_its_groups_and_below_two_they_go(etl):
    etl.create_table("returns", "id BIGINT")
    etl.create_watermark_group("two", ["orders", "returns"])
    etl.create_watermark_group("three", ["orders", "order_lines", "returns"])
    told = notices(lambda: etl.drop_table("returns"))
    assert told == ['the watermark group "two" is gone: less than two of its sources are left']
    assert [(each.group_name, each.sources) for each in etl.watermark_groups()] == [
        ("three", ("order_lines", "orders"))
    ]


# -- gates that wait for them ---------------------------------------------------------------------


def gates(lake: ab.Lake) -> dict[str, bool]:
    return {gate.source_table: gate.gated for gate in lake.source_gates()}


def test_a_gate_may_open_with_the_first_watermark(etl):
    etl.gate_source("orders", auto_ungate_on_watermark=True)
    etl.gate_source("order_lines")
    with etl.transaction() as tx:
        tx.insert("orders", [(4, "east", 1)])
        tx.advance_watermark("orders", MARCH)
        tx.advance_watermark("order_lines", MARCH)
        assert gates(etl) == {"orders": True, "order_lines": True}
    assert gates(etl) == {"orders": False, "order_lines": True}
    etl.gate_source("orders")
    etl.advance_watermark("orders", MARCH + HOUR)
    assert gates(etl)["orders"], "that one was not to open by itself"


def test_it_opens_even_if_the_source_is_where_it_was(etl):
    """Loaded once more up to the same time: that is when it is ready."""
    etl.advance_watermark("orders", MARCH)
    etl.gate_source("orders", auto_ungate_on_watermark=True)
    etl.advance_watermark("orders", MARCH)
    assert not gates(etl)["orders"]


def test_rolled_back_the_watermark_opens_nothing(etl):
    etl.gate_source("orders", auto_ungate_on_watermark=True)
    with suppress(ZeroDivisionError), etl.transaction() as tx:
        tx.advance_watermark("orders", MARCH)
        raise ZeroDivisionError
    assert gates(etl)["orders"]


def test_what_was_said_last_about_opening_counts_and_the_gate_stays_as_old_as_it_is(etl, clock):
    etl.gate_source("orders")
    (before,) = etl.source_gates()
    clock.advance(5)
    etl.gate_source("orders", auto_ungate_on_watermark=True)
    (after,) = etl.source_gates()
    assert after.gated_at == before.gated_at
    etl.advance_watermark("orders", MARCH)
    assert not gates(etl)["orders"]
