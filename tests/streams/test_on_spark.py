"""Stories of the other files once more on Spark: what it computes, how it fails, threads that share it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import pytest

import anabranch as ab
from tests.streams import test_diamonds as diamonds
from tests.streams import test_fuse as fuses
from tests.streams import test_gates as gates
from tests.streams import test_lifecycle as lifecycle
from tests.streams import test_refreshing as refreshing
from tests.streams.at_every_version import Watch
from tests.streams.loading import empty
from tests.streams.shop import stock

STORIES = [
    diamonds.test_a_failing_branch_leaves_every_member_at_its_old_version,
    diamonds.test_a_failed_group_is_tried_again_with_backoff_and_advances_as_one,
    diamonds.test_nested_diamonds_are_one_group_with_two_convergence_points,
    diamonds.test_in_mode_none_the_other_branch_advances,
    diamonds.test_what_is_downstream_of_a_held_group_goes_on_with_what_there_is,
    fuses.test_what_members_have_staged_counts_and_nothing_of_the_group_is_published,
    refreshing.test_what_is_written_during_a_tick_waits_for_the_next,
    refreshing.test_a_full_refresh_leaves_a_change_so_what_is_below_stays_differential,
]
ALTERING = [
    lifecycle.test_altering_the_query_keeps_the_old_contents_readable_until_the_new_are_there,
    lifecycle.test_an_altered_member_is_published_with_its_group,
    gates.test_a_gated_source_under_a_diamond_holds_all_of_it,
]


@pytest.fixture
def shop(place, spark, clock) -> Iterator[ab.Lake]:
    """The same few sales, on Spark."""
    with ab.connect(place, spark=spark, clock=clock) as lake:
        stock(lake)
        yield lake


def name_of(story: Callable[..., None]) -> str:
    return story.__name__.removeprefix("test_")


def tell(story: Callable[..., None], **given: object) -> None:
    """Run a test of another file with what it asks for."""
    story(**{name: given[name] for name in inspect.signature(story).parameters})


@pytest.mark.rotating(3)
@pytest.mark.parametrize("story", STORIES, ids=name_of)
def test_on_spark(shop, clock, story):
    tell(story, shop=shop, clock=clock)
    free = {each.schedule_policy for each in shop.diamond_groups()} == {"none"}
    Watch(shop, strict=not free).look()


@pytest.mark.rotating(3)
@pytest.mark.parametrize("story", ALTERING, ids=name_of)
def test_altered_on_spark(shop, clock, story):
    tell(story, shop=shop, clock=clock)


def test_bootstrapped_on_spark(place, spark, clock):
    with ab.connect(place, spark=spark, clock=clock) as lake:
        empty(lake)
        gates.test_gated_created_loaded_in_any_order_and_ungated_everything_is_refreshed_once(
            lake, clock, "orders"
        )


@pytest.mark.rotating(2)
@pytest.mark.parametrize("parallelism", [1, 4])
def test_on_spark_a_held_branch_holds_its_group(shop, clock, parallelism):
    diamonds.test_a_suspended_member_holds_its_group_with_the_reason(shop, clock, parallelism)
    Watch(shop).look()
