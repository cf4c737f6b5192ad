"""Waiting after failures."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from anabranch.streams.backoff import retry_delay


def test_the_wait_doubles_up_to_a_minute():
    waits = [retry_delay(failures).total_seconds() for failures in range(10)]
    assert waits == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_first_factor_and_cap_can_be_chosen():
    second = timedelta(seconds=1)
    assert retry_delay(3, first=5 * second, factor=3, cap=100 * second) == 45 * second
    assert retry_delay(1, first=5 * second, cap=second) == second
    assert retry_delay(10**9, factor=1) == second


@given(st.integers(0, 10**6))
def test_the_wait_never_shrinks_and_never_passes_the_cap(failures):
    assert retry_delay(failures) <= retry_delay(failures + 1) <= timedelta(seconds=60)
