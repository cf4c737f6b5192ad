"""Differential or full, by estimates from sizes and by recorded histories."""

from __future__ import annotations

import doctest
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.refresh import choose as module
from anabranch.refresh.choose import (
    RECENT,
    Choice,
    Estimates,
    PastRefresh,
    Sizes,
    choose,
    choose_again,
    machine_factor,
)

MILLIONS = 6_000_000
FEW, MANY = 1_200, 5_400_000
ROW = 1.5e-6
"""Seconds that a changed row is estimated to take, in these tests."""


def full(seconds: float, estimated: float | None = 4.0) -> PastRefresh:
    return PastRefresh("FULL", seconds, estimated)


def diff(seconds: float, changed: int, estimated: float | None = None) -> PastRefresh:
    return PastRefresh("DIFFERENTIAL", seconds, estimate(changed) if estimated is None else estimated)


def cold(action: str, seconds: float) -> PastRefresh:
    return PastRefresh(action, seconds, None)  # type: ignore[arg-type]


def estimate(changed: int) -> float:
    """What a differential refresh is estimated to take."""
    return 0.5 + ROW * changed


def decide(changed: int, past: list[PastRefresh], whole: float = 4.0, machine: float = 1.0) -> Choice:
    return choose(Sizes(changed, MILLIONS, 1000), Estimates(whole, estimate(changed)), past, machine)


def action(changed: int, past: list[PastRefresh], whole: float = 4.0, machine: float = 1.0) -> str:
    return decide(changed, past, whole, machine).action


def test_the_examples_hold() -> None:
    assert not doctest.testmod(module).failed


# -- what is known at the beginning -----------------------------------------------------------------


def test_the_first_choice_is_made_by_sizes_alone() -> None:
    assert decide(FEW, []) == Choice(
        "DIFFERENTIAL", "differential: 1,200 of 6,000,000 rows changed, about 0.5 s, full about 4.0 s"
    )
    assert decide(MANY, []) == Choice(
        "FULL", "full: 5,400,000 of 6,000,000 rows changed, about 4.0 s, differential about 8.6 s"
    )


def test_what_began_cold_is_no_evidence() -> None:
    """The fill that started Spark took half a minute, and so did the first differential refresh."""
    for changed in (FEW, MANY):
        started = [cold("FULL", 30.0), cold("DIFFERENTIAL", 25.0)]
        assert decide(changed, started) == decide(changed, [])


def test_where_both_are_estimated_about_the_same_it_is_differential() -> None:
    assert choose(Sizes(3, 10, 3), Estimates(0.14, 0.22), []).action == "DIFFERENTIAL"
    assert choose(Sizes(3, 10, 3), Estimates(0.95, 1.0), []).action == "DIFFERENTIAL"
    assert choose(Sizes(3, 10, 3), Estimates(0.7, 1.0), []).action == "FULL"


def test_a_slow_machine_slows_both_and_changes_no_choice() -> None:
    for changed in (FEW, 1_000_000, 2_000_000, 3_000_000, MANY):
        assert action(changed, [], machine=7.0) == action(changed, []) == action(changed, [], machine=60.0)
    assert decide(FEW, [], machine=3.0).because.endswith("about 1.5 s, full about 12 s")


def test_the_machine_is_judged_by_tables_not_by_how_often_each_was_refreshed() -> None:
    assert machine_factor({"often": [9.0] * 50, "a": [2.0], "b": [2.2]}) == 2.2
    assert machine_factor({"a": []}) == 1.0
    assert machine_factor({"a": [1e9]}) == module.WIDEST


# -- recorded histories -----------------------------------------------------------------------------


def test_estimates_are_corrected_by_what_was_measured() -> None:
    twice = [full(8.0), diff(1.0, FEW), full(8.0), diff(1.0, FEW)]
    choice = decide(FEW, twice)
    assert choice.action == "DIFFERENTIAL"
    assert choice.because.endswith("about 1.0 s, full about 7.8 s")


def test_a_ratio_that_was_measured_at_one_size_holds_for_another() -> None:
    past = [diff(5.0, FEW)] * 6
    choice = decide(1_000_000, past)
    assert choice.action == "FULL"
    assert "differential about 18 s" in choice.because


def test_ratios_of_a_like_size_count_most() -> None:
    """Small batches take what is estimated, large ones take a third of it."""
    past = [*[diff(estimate(MANY) / 3, MANY)] * 4, *[diff(estimate(FEW), FEW)] * 4]
    assert action(MANY, [diff(estimate(FEW), FEW)] * 4) == "FULL"
    assert action(4_000_000, [*past, diff(estimate(MANY) / 3, MANY)]) == "DIFFERENTIAL"


def test_one_large_batch_among_small_ones_is_full_and_the_next_is_not() -> None:
    past = [full(4.1), *[diff(0.5, 1000 + 10 * i) for i in range(6)]]
    assert action(MANY, past) == "FULL"
    past.append(full(4.2))
    assert action(FEW, past) == "DIFFERENTIAL"


def test_where_small_and_large_batches_alternate_each_goes_its_way() -> None:
    past = [full(4.0)]
    for _ in range(12):
        assert action(FEW, past) == "DIFFERENTIAL"
        past.append(diff(0.8, FEW))
        assert action(5_000_000, past) == "FULL"
        past.append(full(4.0))


def test_a_hiccup_of_either_kind_changes_nothing() -> None:
    calm = [full(4.1), diff(0.8, 1000), diff(0.8, 1100), diff(0.9, 1000)]
    assert action(1000, [*calm, diff(45.0, 1000)]) == "DIFFERENTIAL"
    assert action(1000, [full(4.1), *calm, full(0.01)]) == "DIFFERENTIAL"
    busy = [full(4.1), diff(20.0, 4_000_000), full(4.0), full(4.2)]
    assert action(4_000_000, [*busy, full(90.0)]) == "FULL"


def test_a_query_whose_differentials_are_slow_learns_to_be_full() -> None:
    """A handful of changes that touch every group."""
    past = [full(4.0)]
    taken = []
    for _ in range(8):
        taken.append(action(1000, past))
        past.append(diff(18.0, 1000) if taken[-1] == "DIFFERENTIAL" else full(4.0))
    assert taken[0] == "DIFFERENTIAL"
    assert set(taken[1:]) == {"FULL"}


def test_a_full_refresh_that_takes_longer_than_estimated_gives_way() -> None:
    past = [full(20.0)]
    assert action(3_000_000, []) == "FULL"
    assert action(3_000_000, past) == "DIFFERENTIAL"


def test_drift_is_followed_within_a_few_refreshes() -> None:
    past = [full(4.0), *[diff(0.8, 1000)] * 10]
    late = 0
    while action(1000, past) == "DIFFERENTIAL":
        past.append(diff(12.0, 1000))
        late += 1
    assert 2 <= late <= 5


def test_when_the_table_grows_a_full_refresh_is_expected_to_take_longer() -> None:
    past = [full(4.0), diff(6.0, 1000), full(4.0)]
    assert action(1000, past) == "FULL"
    assert action(1000, past, whole=16.0) == "DIFFERENTIAL"


# -- neither to and fro, nor stuck ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ratio", [0.7, 0.75, 0.9, 1.0, 1.1])
def test_noise_does_not_move_it_to_and_fro(seed: int, ratio: float) -> None:
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


def test_a_differential_that_was_slow_once_by_bad_luck_is_tried_again() -> None:
    past = [full(4.0), diff(40.0, 1000)]
    waited = 0
    while action(1000, past) == "FULL":
        past.append(full(4.0))
        waited += 1
    assert 30 <= waited <= 150
    choice = decide(1000, past)
    assert choice.because.startswith(
        f"differential: 1,000 of 6,000,000 rows changed, tried again after {waited} refreshes, "
    )
    assert choice.because.endswith("s before, full about 4.2 s")
    past.append(diff(0.8, 1000))
    past.append(diff(0.8, 1000))
    assert action(1000, past) == "DIFFERENTIAL"


def test_what_is_slow_for_good_costs_only_a_fraction_more() -> None:
    past = [full(4.0), diff(40.0, 1000)]
    spent = 0.0
    for _ in range(600):
        took = 4.0 if action(1000, past) == "FULL" else 40.0
        past.append(full(took) if took == 4.0 else diff(took, 1000))
        spent += took
    assert spent <= 1.13 * 600 * 4.0


def test_a_full_refresh_that_was_slow_once_is_tried_again_when_most_rows_change() -> None:
    past = [full(200.0), *[diff(60.0, 5_000_000), diff(1.0, 1000)] * 3]
    waited = 0
    while action(5_000_000, past) == "DIFFERENTIAL":
        past.append(diff(60.0, 5_000_000))
        waited += 1
        assert waited < 100


def test_where_few_rows_change_full_is_never_tried_for_the_sake_of_it() -> None:
    past = [full(4.0)]
    for _ in range(1000):
        assert action(1000, past[-100:]) == "DIFFERENTIAL"
        past.append(diff(0.8, 1000))


def test_when_batches_shrink_again_full_gives_way() -> None:
    past = [full(4.0), diff(6.0, 4_000_000), *[full(4.0)] * (2 * RECENT)]
    assert action(4_000_000, past) == "FULL"
    assert action(2000, past) == "DIFFERENTIAL"


# -- a differential refresh that met more than was assumed ------------------------------------------


def test_it_turns_to_full_where_going_on_is_expected_to_take_longer() -> None:
    choice = choose_again("more rows are to be looked up", Estimates(4.0, 9.0), [])
    assert choice == Choice(
        "FULL", "full: more rows are to be looked up, going on about 9.0 s, full about 4.0 s"
    )


def test_it_goes_on_where_that_is_not_clearly_slower() -> None:
    assert choose_again("", Estimates(4.0, 2.0), []).action == "DIFFERENTIAL"
    assert choose_again("", Estimates(4.0, 4.4), []).action == "DIFFERENTIAL"
    assert choose_again("", Estimates(4.0, 9.0), [full(30.0)]).action == "DIFFERENTIAL"


# -- whatever the past ------------------------------------------------------------------------------

ROWS = st.integers(0, 10**12)
SECONDS = st.floats(0, 10**9)
ANY_PAST = st.builds(PastRefresh, st.sampled_from(["FULL", "DIFFERENTIAL"]), SECONDS, st.none() | SECONDS)
MACHINES = st.floats(0, 10**9)


@given(
    st.builds(Sizes, ROWS, ROWS, ROWS),
    st.builds(Estimates, SECONDS, SECONDS),
    st.lists(ANY_PAST, max_size=30),
    MACHINES,
)
def test_every_past_gives_a_choice_with_its_reason(
    sizes: Sizes, estimates: Estimates, past: list[PastRefresh], machine: float
) -> None:
    choice = choose(sizes, estimates, past, machine)
    assert choice.action in ("FULL", "DIFFERENTIAL")
    assert choice.because.startswith(choice.action.lower())
    assert "nan" not in choice.because
    assert "inf" not in choice.because
    assert "-" not in choice.because
    assert choose(sizes, estimates, past, machine) == choice


@given(
    st.lists(st.sampled_from([full(3.0), full(5.0), cold("FULL", 60.0)]), max_size=10),
    st.floats(0.01, 100),
    st.tuples(st.floats(0.01, 1000), st.floats(0.01, 1000)).map(sorted),
    st.floats(0.1, 10),
)
def test_without_differentials_more_changes_never_speak_for_them(
    past: list[PastRefresh], whole: float, estimated: list[float], machine: float
) -> None:
    few, many = (choose(Sizes(1, 1, 1), Estimates(whole, each), past, machine) for each in estimated)
    if few.action == "FULL":
        assert many.action == "FULL"
