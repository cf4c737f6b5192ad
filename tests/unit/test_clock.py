"""Clocks: time is an argument, identities are unique."""

from __future__ import annotations

import string
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from anabranch.clock import ManualClock, SystemClock


def test_the_system_clock_is_in_utc_and_goes_on():
    clock = SystemClock()
    before = clock.now()
    began = time.monotonic()
    clock.sleep(0.01)
    assert time.monotonic() - began >= 0.01
    assert before.tzinfo is UTC
    assert clock.now() > before


def test_a_manual_clock_moves_only_when_told_to():
    clock = ManualClock()
    start = clock.now()
    assert clock.now() == start
    clock.advance(1.5)
    assert clock.now() - start == timedelta(seconds=1.5)
    clock.advance(0)
    assert clock.now() - start == timedelta(seconds=1.5)


def test_sleeping_on_a_manual_clock_takes_no_time():
    clock = ManualClock()
    start = clock.now()
    began = time.monotonic()
    clock.sleep(3600)
    assert time.monotonic() - began < 60
    assert clock.now() - start == timedelta(hours=1)


def test_a_manual_clock_does_not_go_back():
    clock = ManualClock()
    start = clock.now()
    with pytest.raises(ValueError, match="go back"):
        clock.advance(-0.001)
    assert clock.now() == start


def test_a_manual_clock_starts_where_it_is_told_and_needs_a_zone():
    start = datetime(2024, 2, 29, 12, tzinfo=timezone(timedelta(hours=2)))
    assert ManualClock(start).now() == start
    with pytest.raises(ValueError, match="zone"):
        ManualClock(datetime(2024, 2, 29))  # noqa: DTZ001


@pytest.mark.parametrize("clock", [SystemClock(), ManualClock()], ids=["system", "manual"])
def test_identities_are_32_hexadecimal_digits_and_never_repeat(clock):
    ids = [clock.new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert all(len(one) == 32 and set(one) <= set(string.hexdigits.lower()) for one in ids)
