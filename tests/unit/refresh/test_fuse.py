"""The rule of the fuse: when a batch of changes is too large to be applied without asking."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.streams.fuse import (
    AUTO,
    NEEDED,
    OFF,
    ON,
    RECENT,
    Fuse,
    effective_ceiling,
    judge,
    learned_ceiling,
    remember,
)

sizes = st.integers(min_value=1, max_value=1 << 40)
pasts = st.lists(sizes, max_size=40)
fuses = st.builds(
    Fuse,
    mode=st.sampled_from([OFF, ON, AUTO]),
    ceiling=st.none() | sizes,
    sensitivity=st.integers(min_value=1, max_value=5),
)


def blown_at(fuse: Fuse, batches: list[int]) -> int | None:
    """The place of the batch that blows it, if all before are applied."""
    past: tuple[int, ...] = ()
    in_a_row = 0
    for place, batch in enumerate(batches):
        verdict = judge(fuse, past, in_a_row, batch)
        if verdict.blows:
            return place
        in_a_row = verdict.in_a_row
        past = past if verdict.exceeds else remember(past, batch)
    return None


# -- the ceiling ----------------------------------------------------------------------------------


def test_exactly_the_ceiling_is_not_too_much_and_one_more_is():
    fuse = Fuse(ON, ceiling=10)
    assert not judge(fuse, (), 0, 10).exceeds
    assert judge(fuse, (), 0, 11).blows


def test_a_fuse_that_is_off_or_has_no_ceiling_never_blows():
    assert not judge(Fuse(OFF, ceiling=1), (), 0, 1 << 60).exceeds
    assert not judge(Fuse(ON), (), 0, 1 << 60).exceeds


def test_the_reason_has_both_numbers():
    assert judge(Fuse(ON, 10_000), (), 0, 12_345).because == (
        "12,345 pending changes exceed the ceiling of 10,000"
    )
    assert judge(Fuse(AUTO), (100,) * 9, 0, 5_000).because == (
        "5,000 pending changes exceed the learned ceiling of 140"
    )
    assert judge(Fuse(ON, 10, 3), (), 2, 11).because == (
        "11 pending changes exceed the ceiling of 10, 3 of 3 times in a row"
    )


@given(fuses, pasts, st.integers(0, 10), st.integers(0, 1 << 41))
def test_it_blows_only_above_the_ceiling_and_only_often_enough(fuse, past, in_a_row, pending):
    ceiling = effective_ceiling(fuse, past)
    verdict = judge(fuse, past, in_a_row, pending)
    assert verdict.exceeds == (ceiling is not None and pending > ceiling)
    assert verdict.blows == (verdict.exceeds and in_a_row + 1 >= fuse.sensitivity)
    assert verdict.in_a_row == (in_a_row + 1 if verdict.exceeds else 0)
    assert (verdict.because is not None) == verdict.exceeds


@given(fuses, pasts, st.integers(0, 10), sizes, sizes)
def test_a_larger_batch_is_never_judged_more_mildly(fuse, past, in_a_row, one, other):
    less, more = sorted((one, other))
    assert judge(fuse, past, in_a_row, less).blows <= judge(fuse, past, in_a_row, more).blows


# -- sensitivity ----------------------------------------------------------------------------------


def test_with_sensitivity_three_the_third_in_a_row_is_stopped():
    fuse = Fuse(ON, ceiling=10, sensitivity=3)
    assert blown_at(fuse, [11, 11, 11, 11]) == 2
    assert blown_at(fuse, [11, 11, 10, 11, 11]) is None
    assert blown_at(fuse, [11, 11, 10, 11, 11, 11]) == 5


# -- learning -------------------------------------------------------------------------------------


def test_it_learns_nothing_from_a_few_batches():
    assert blown_at(Fuse(AUTO), [10] * (NEEDED - 1) + [1_000_000]) is None
    assert blown_at(Fuse(AUTO), [10] * NEEDED + [1_000_000]) == NEEDED


def test_until_it_has_learned_the_ceiling_counts_and_afterwards_the_lower_of_the_two():
    assert effective_ceiling(Fuse(AUTO, ceiling=1_000), [10] * 4) == 1_000
    assert effective_ceiling(Fuse(AUTO, ceiling=1_000), [10] * 5) == learned_ceiling([10] * 5)
    assert effective_ceiling(Fuse(AUTO, ceiling=15), [10] * 5) == 15
    assert effective_ceiling(Fuse(ON, ceiling=15), [1] * 5) == 15


def test_batches_that_were_all_alike_leave_room_for_chance():
    assert learned_ceiling([10] * 20) == 23
    assert learned_ceiling([1] * 20) == 5


def test_growth_by_a_tenth_every_time_is_tolerated_and_a_spike_is_not():
    growing = [round(100 * 1.1**step) for step in range(60)]
    assert blown_at(Fuse(AUTO), growing) is None
    assert blown_at(Fuse(AUTO), [*growing, growing[-1] * 10]) == len(growing)


@given(st.integers(1, 10_000), st.integers(0, 10_000), st.integers(NEEDED, 60))
def test_growth_by_the_same_every_time_is_tolerated(first, step, count):
    assert blown_at(Fuse(AUTO), [first + min(step, first) * number for number in range(count)]) is None


@given(st.lists(st.integers(1, 1_000), min_size=NEEDED, max_size=40))
def test_no_scatter_makes_room_for_a_batch_that_dwarfs_all(past):
    most = max(past[-RECENT:])
    assert judge(Fuse(AUTO), past, 0, most * 20 + 20).blows


def test_what_exceeded_the_ceiling_teaches_nothing():
    """Or two spikes in a row would be normal."""
    fuse = Fuse(AUTO, sensitivity=2)
    assert blown_at(fuse, [10] * 9 + [1_000, 1_000]) == 10


def test_only_recent_batches_count():
    assert learned_ceiling([1_000_000] * 30 + [10] * RECENT) == learned_ceiling([10] * RECENT)
    assert len(remember([1] * RECENT, 1)) == RECENT
