"""How schedules are written, and when they come due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import AnabranchError, InputError, InvalidSchedule
from anabranch.schedule.schedules import (
    AT_ONCE,
    MAX_CRON_LENGTH,
    MIN_PERIOD,
    ByHand,
    Calculated,
    Cron,
    Every,
    format_schedule,
    next_due,
    parse_schedule,
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def firings(schedule: str, start: str, count: int) -> list[str]:
    found = [utc(start)]
    for _ in range(count):
        found.append(next_due(parse_schedule(schedule), found[-1]))
    return [moment.strftime("%m-%d %H:%M") for moment in found[1:]]


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("30s", Every(timedelta(seconds=30))),
        (" 1H30m ", Every(timedelta(minutes=90))),
        ("*/5 * * * *", Cron("*/5 * * * *")),
        (" 0  6 * * mon-fri ", Cron("0 6 * * mon-fri")),
        ("0 6 * * * Europe/Vienna", Cron("0 6 * * *", "Europe/Vienna")),
        ("0 6 * * * UTC", Cron("0 6 * * *")),
        ("@Daily", Cron("@daily")),
        ("@yearly America/New_York", Cron("@yearly", "America/New_York")),
        ("calculated", Calculated()),
        ("CALCULATED", Calculated()),
        (None, ByHand()),
    ],
)
def test_a_schedule_is_read_and_reads_back(text, schedule):
    assert parse_schedule(text) == schedule
    assert parse_schedule(format_schedule(schedule)) == schedule


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "soon",
        "5 minutes",
        "-5m",
        "0s",
        "999ms",
        "none",
        "calculated daily",
        "* * * *",
        "* * * * * *",
        "* * * * * * UTC",
        "61 * * * *",
        "*/0 * * * *",
        "5-1 * * * *",
        "a b c d e",
        "@often",
        "@daily Europe/Vienna now",
        "@",
        "* * * * * Mars/Olympus",
        "* * * * * Europe",
        "* * * * * ../../etc/passwd",
        "* * * * * /etc/localtime",
        "* * * * * Europe/Vienna\0",
        "0 0 30 2 *",
        "0 0 31 4,6 *",
        "0 0 * 2 MON#9",
        "*/5 * * * " + "1," * MAX_CRON_LENGTH + "1",
        "１ * * * *",
        "9" * 500 + "s",
        5,
        5.0,
        True,
        timedelta(seconds=5),
        b"5m",
        ["5m"],
    ],
    ids=repr,
)
def test_anything_else_is_refused_with_a_hint(text):
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule(text)
    assert caught.value.code == "AB114"
    assert caught.value.hint
    assert isinstance(caught.value, InputError)
    assert len(str(caught.value)) < 400


@given(st.text(max_size=60) | st.text("*/0123456789 -,LW#@adilyz", max_size=30))
def test_no_text_makes_it_stumble(text):
    try:
        schedule = parse_schedule(text)
    except AnabranchError:
        return
    if isinstance(schedule, Every | Cron):
        start = utc("2030-01-01")
        assert next_due(schedule, start) > start


def test_a_second_is_the_shortest_period():
    assert parse_schedule("1s") == Every(MIN_PERIOD)
    with pytest.raises(InvalidSchedule, match="999ms is too short"):
        parse_schedule("999ms")


def test_a_day_that_comes_every_four_years_is_taken():
    assert firings("0 0 29 2 *", "2030-01-01", 2) == ["02-29 00:00", "02-29 00:00"]


def test_what_was_never_refreshed_is_due_at_once():
    assert next_due(parse_schedule("1h"), None) == AT_ONCE
    assert next_due(parse_schedule("@yearly"), None) == AT_ONCE


def test_a_period_counts_from_the_last_refresh():
    assert next_due(Every(timedelta(minutes=5)), utc("2030-01-01T00:03")) == utc("2030-01-01T00:08")


def test_cron_fires_by_the_clock_and_later_than_the_last_refresh():
    assert firings("*/20 * * * *", "2030-01-01T00:20", 3) == ["01-01 00:40", "01-01 01:00", "01-01 01:20"]
    just_before = utc("2030-01-01T00:39:59.999999")
    assert next_due(Cron("*/20 * * * *"), just_before) == utc("2030-01-01T00:40")


def test_a_moment_in_another_zone_is_the_same_moment_and_one_without_is_none():
    there = utc("2030-07-01T00:03").astimezone(ZoneInfo("Asia/Tokyo"))
    assert next_due(Cron("@hourly"), there) == utc("2030-07-01T01:00")
    assert next_due(Every(timedelta(hours=1)), there).tzinfo is UTC
    with pytest.raises(ValueError, match="zone"):
        next_due(Cron("@hourly"), there.replace(tzinfo=None))


def test_an_hour_that_the_spring_skips_counts_when_the_clocks_have_gone_forward():
    """In Vienna, 02:00 on 31 March 2030 is 03:00: 01:00 UTC."""
    daily = "30 2 * * * Europe/Vienna"
    assert firings(daily, "2030-03-29T12:00", 3) == ["03-30 01:30", "03-31 01:00", "04-01 00:30"]


def test_an_hour_that_the_autumn_repeats_counts_once():
    """In Vienna, 03:00 on 27 October 2030 is 02:00 again: 01:00 UTC."""
    daily = "30 2 * * * Europe/Vienna"
    assert firings(daily, "2030-10-25T12:00", 3) == ["10-26 00:30", "10-27 00:30", "10-28 01:30"]


def test_a_refresh_within_the_repeated_hour_is_not_due_in_the_past():
    daily = parse_schedule("30 2 * * * Europe/Vienna")
    within = utc("2030-10-27T01:10")
    assert next_due(daily, within) == utc("2030-10-28T01:30")


def test_what_fires_every_hour_goes_on_through_both_changes():
    hourly = "@hourly Europe/Vienna"
    half = "*/30 * * * * Europe/Vienna"
    assert firings(half, "2030-03-31T00:30", 3) == ["03-31 01:00", "03-31 01:30", "03-31 02:00"]
    assert firings(half, "2030-10-27T00:00", 4)[-1] == "10-27 02:00"
    assert firings(hourly, "2030-10-26T23:00", 3) == ["10-27 00:00", "10-27 01:00", "10-27 02:00"]


@given(
    st.datetimes(datetime(2029, 1, 1), datetime(2032, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.sampled_from(
        ["*/7 * * * *", "15 2 * * *", "0 */3 * * *", "30 1,2,3 * * SUN", "@daily", "59 23 L * *"]
    ),
    st.sampled_from(["UTC", "Europe/Vienna", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia"]),
)
def test_the_next_firing_is_always_later(moment, expression, zone):
    found = next_due(Cron(expression, zone), moment)
    assert moment < found < moment + timedelta(days=40)
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("90s", "0:01:30"),
        ("*/5 * * * *", "0:05:00"),
        ("0 9,10 * * *", "1:00:00"),
        ("@weekly", "7 days, 0:00:00"),
    ],
)
def test_schedules_compare_by_their_shortest_gap(text, gap):
    assert str(parse_schedule(text).shortest_gap) == gap
