"""Durations: what people write, and back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.durations import MAX_DURATION, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("7d", 604_800),
        ("1w", 604_800),
        ("250ms", 0.25),
        ("1.5h", 5400),
        (" 1H ", 3600),
        ("0s", 0),
        ("1m1m", 120),
        ("36500d", 36_500 * 86_400),
    ],
)
def test_a_duration_is_a_row_of_numbers_with_units(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    ["", " ", "5", "s", "-5s", "+5s", "5 s", "5x", "5min", "1h 30m", "1e3s", "٣s", "36500d1ms", "9" * 41],
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match=r"duration|longer"):
        parse_duration(text)


@given(st.integers(0, int(MAX_DURATION.total_seconds() * 1000)))
def test_a_shown_duration_reads_back(milliseconds):
    length = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(length)) == length


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (5400, "1h30m"), (0.25, "250ms"), (86_400, "1d"), (90_061.001, "1d1h1m1s1ms")],
)
def test_a_duration_is_shown_as_short_as_can_be(seconds, text):
    assert format_duration(timedelta(seconds=seconds)) == text
