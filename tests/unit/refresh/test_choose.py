"""Differential or full, by recorded histories."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.refresh.choose import RECENT, Choice, PastRefresh, Sizes, choose

MILLIONS = 6_000_000


def full(seconds: float, read: int = MILLIONS, stored: int = 1000, changed: int = 0) -> PastRefresh:
    return PastRefresh("FULL", seconds, changed, read, stored)


def diff(seconds: float, changed: int, read: int = MILLIONS, stored: int = 1000) -> PastRefresh:
    return PastRefresh("DIFFERENTIAL", seconds, changed, read, stored)


def action(changed: int, past: list[PastRefresh], read: int = MILLIONS, stored: int = 1000) -> str:
    return choose(Sizes(changed, read, stored), past).action


# -- what is known at the beginning -----------------------------------------------------------------


def test_with_nothing_known_it_is_differential():
    assert choose(Sizes(1200, MILLIONS, 0), []) == Choice(
        "DIFFERENTIAL", "differential: 1,200 of 6,000,000 rows changed, nothing known yet about the time"
    )


def test_after_the_first_fill_a_small_change_is_differential():
    choice = choose(Sizes(1200, MILLIONS, 1000), [full(4.1)])
    assert choice.action == "DIFFERENTIAL"
    assert choice.because == "differential: 1,200 of 6,000,000 rows changed, about 0.5 s, full about 4.1 s"


def test_after_the_first_fill_a_change_of_nearly_everything_is_full():
    choice = choose(Sizes(5_400_000, MILLIONS, 1000), [full(4.1)])
    assert choice.action == "FULL"
    assert choice.because == "full: 5,400,000 of 6,000,000 rows changed, about 4.1 s, differential about 13 s"


def test_a_fill_of_few_rows_says_that_many_take_longer():
    grown = choose(Sizes(1000, 60 * MILLIONS, 1000), [full(1.5, read=MILLIONS)])
    assert grown.action == "DIFFERENTIAL"
    assert "full about 60 s" in grown.because


def test_if_only_differentials_are_known_full_is_judged_by_them():
    past = [diff(0.8, 1000)] * 5
    assert action(1000, past) == "DIFFERENTIAL"
    slow = [diff(0.8, 1000), diff(60.0, 5_000_000), diff(0.8, 1000), diff(61.0, 5_000_000)]
    assert action(5_500_000, slow) == "FULL"
    assert action(1000, slow) == "DIFFERENTIAL"


# -- recorded histories -----------------------------------------------------------------------------


def test_a_small_change_of_a_large_table_is_differential_by_its_own_record():
    past = [full(4.1), diff(0.9, 1500), diff(0.8, 1100), diff(0.8, 900)]
    choice = choose(Sizes(1200, MILLIONS, 1000), past)
    assert choice.action == "DIFFERENTIAL"
    assert choice.because.endswith("about 0.8 s, full about 4.1 s")


def test_one_large_batch_among_small_ones_is_full_and_the_next_is_not():
    past = [full(4.1), *[diff(0.8, 1000 + 10 * i) for i in range(6)]]
    assert action(5_400_000, past) == "FULL"
    past.append(full(4.2, changed=5_400_000))
    assert action(1200, past) == "DIFFERENTIAL"


def test_where_small_and_large_batches_alternate_each_goes_its_way():
    past = [full(4.0)]
    for _ in range(12):
        assert action(1200, past) == "DIFFERENTIAL"
        past.append(diff(0.8, 1200))
        assert action(5_000_000, past) == "FULL"
        past.append(full(4.0, changed=5_000_000))


def test_tiny_tables_where_both_cost_the_same_are_differential():
    past = [full(0.5, read=10, stored=10)]
    for seconds in (0.55, 0.5, 0.6, 0.52):
        assert action(3, past, read=10, stored=10) == "DIFFERENTIAL"
        past.append(diff(seconds, 3, read=10, stored=10))
    assert action(10, past, read=10, stored=10) == "DIFFERENTIAL"


def test_a_hiccup_of_either_kind_changes_nothing():
    calm = [full(4.1), diff(0.8, 1000), diff(0.8, 1100), diff(0.9, 1000)]
    assert action(1000, [*calm, diff(45.0, 1000)]) == "DIFFERENTIAL"
    assert action(1000, [full(4.1), *calm, full(0.01)]) == "DIFFERENTIAL"
    busy = [full(4.1), diff(20.0, 4_000_000), full(4.0), full(4.2)]
    assert action(4_000_000, [*busy, full(90.0)]) == "FULL"


def test_a_query_whose_differentials_are_slow_learns_to_be_full():
    """A handful of changes that touch every group."""
    past = [full(2.0)]
    taken = []
    for _ in range(8):
        taken.append(action(1000, past))
        past.append(diff(9.0, 1000) if taken[-1] == "DIFFERENTIAL" else full(2.0))
    assert taken[0] == "DIFFERENTIAL"
    assert set(taken[1:]) == {"FULL"}


def test_drift_is_followed_within_a_few_refreshes():
    past = [full(4.0), *[diff(0.8, 1000)] * 10]
    late = 0
    while action(1000, past) == "DIFFERENTIAL":
        past.append(diff(12.0, 1000))
        late += 1
    assert 2 <= late <= 5


def test_when_the_table_grows_a_full_refresh_is_expected_to_take_longer():
    past = [full(4.0), diff(6.0, 1000), full(4.0)]
    assert action(1000, past) == "FULL"
    assert action(1000, past, read=4 * MILLIONS) == "DIFFERENTIAL"


# -- neither to and fro, nor stuck ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ratio", [0.7, 0.75, 0.9, 1.0, 1.1])
def test_noise_does_not_move_it_to_and_fro(seed, ratio):
    """Full takes `ratio` of a differential's time, and each up to a tenth more or less."""
    chance = random.Random(seed)
    past = [full(4.0)]
    taken = []
    for _ in range(60):
        taken.append(action(200_000, past))
        noise = chance.uniform(0.9, 1.1)
        past.append(full(4.0 * noise) if taken[-1] == "FULL" else diff(4.0 / ratio * noise, 200_000))
    switches = sum(one != other for one, other in pairwise(taken))
    assert switches <= 8


def test_a_differential_that_was_slow_once_by_bad_luck_is_tried_again():
    past = [full(4.0), diff(40.0, 1000)]
    waited = 0
    while action(1000, past) == "FULL":
        past.append(full(4.0))
        waited += 1
    assert 50 <= waited <= 150
    choice = choose(Sizes(1000, MILLIONS, 1000), past)
    assert choice.because == (
        f"differential: 1,000 of 6,000,000 rows changed, tried again after {waited} refreshes, "
        "40 s before, full about 4.0 s"
    )
    past.append(diff(0.8, 1000))
    past.append(diff(0.8, 1000))
    assert action(1000, past) == "DIFFERENTIAL"


def test_what_is_slow_for_good_costs_only_a_fraction_more():
    past = [full(4.0), diff(40.0, 1000)]
    spent = 0.0
    for _ in range(600):
        took = 4.0 if action(1000, past) == "FULL" else 40.0
        past.append(full(took) if took == 4.0 else diff(took, 1000))
        spent += took
    assert spent <= 1.1 * 600 * 4.0


def test_a_full_refresh_that_was_slow_once_is_tried_again_when_most_rows_change():
    past = [full(200.0), *[diff(60.0, 5_000_000), diff(1.0, 1000)] * 3]
    waited = 0
    while action(5_000_000, past) == "DIFFERENTIAL":
        past.append(diff(60.0, 5_000_000))
        waited += 1
        assert waited < 100


def test_where_few_rows_change_full_is_never_tried_for_the_sake_of_it():
    past = [full(4.0)]
    for _ in range(1000):
        assert action(1000, past[-100:] if len(past) > 100 else past) == "DIFFERENTIAL"
        past.append(diff(0.8, 1000))


def test_when_batches_shrink_again_full_gives_way():
    past = [full(4.0), diff(20.0, 4_000_000), *[full(4.0, changed=4_000_000)] * (2 * RECENT)]
    assert action(4_000_000, past) == "FULL"
    assert action(2000, past) == "DIFFERENTIAL"


# -- whatever the past ------------------------------------------------------------------------------

ROWS = st.integers(0, 10**12)
ANY_PAST = st.builds(
    PastRefresh, st.sampled_from(["FULL", "DIFFERENTIAL"]), st.floats(0, 10**6), ROWS, ROWS, ROWS
)


@given(st.builds(Sizes, ROWS, ROWS, ROWS), st.lists(ANY_PAST, max_size=30))
def test_every_past_gives_a_choice_with_its_reason(sizes, past):
    choice = choose(sizes, past)
    assert choice.action in ("FULL", "DIFFERENTIAL")
    assert choice.because.startswith(choice.action.lower())
    assert choose(sizes, past) == choice


@given(st.lists(ANY_PAST, min_size=1, max_size=30), ROWS, ROWS, st.tuples(ROWS, ROWS).map(sorted))
def test_more_changes_never_speak_for_differential(past, read, stored, changed):
    few, many = (choose(Sizes(rows, read, stored), past) for rows in changed)
    if "tried again" not in few.because + many.because and few.action == "FULL":
        assert many.action == "FULL"
