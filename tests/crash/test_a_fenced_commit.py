"""Under a lease: who lost it can't publish any more, however long it slept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import anabranch as ab
from anabranch.commit.group_commit import Committed, Fenced, GroupCommit, Outcome
from anabranch.ledger import leases, ledger
from anabranch.ledger.records import Fence
from tests.crash import scripts
from tests.crash.conftest import Spot
from tests.crash.model import check_history

LIFE = timedelta(seconds=30)


def take(lake: ab.Lake, holder: str) -> Fence | None:
    now = lake._context.clock.now()
    with lake._context.catalog.database.begin_write() as connection:
        return leases.take_lease(connection, lease="tick", holder=holder, now=now, until=now + LIFE)


def release(lake: ab.Lake, fence: Fence) -> None:
    with lake._context.catalog.database.begin_write() as connection:
        leases.release_lease(connection, fence)


def staged(lake: ab.Lake, fence: Fence | None) -> GroupCommit:
    """Five tables, staged and ready to be published under a lease."""
    transaction = lake.transaction()
    scripts.five_tables(transaction)
    with lake._context.catalog.database.begin_read() as connection:
        return replace(transaction.commit_within(connection), fence=fence)


def publish(lake: ab.Lake, commit: GroupCommit) -> Outcome:
    return lake._context.catalog.commit_group(commit)


def test_a_commit_under_a_lease_that_was_taken_over_leaves_nothing(
    spot: Spot, opened: Callable[..., ab.Lake]
):
    sleeper, successor = opened(spot), opened(spot)
    model = scripts.prepare(sleeper)
    mine = take(sleeper, "a")
    assert mine == Fence("tick", 1)
    commit = staged(sleeper, mine)
    spot.clock.advance(31)
    theirs = take(successor, "b")
    assert theirs == Fence("tick", 2)

    assert publish(sleeper, commit) == Fenced(mine)
    check_history(sleeper, model.history)
    assert sleeper.committed(commit.attempt) is None
    with sleeper._context.catalog.database.begin_read() as connection:
        assert len(ledger.read_recent_commits(connection, 100)) == sleeper.lsn

    outcome = publish(successor, staged(successor, theirs))
    assert isinstance(outcome, Committed)
    scripts.five_tables(model)
    model.committed(outcome.lsn)
    check_history(successor, model.history)


def test_a_commit_under_a_lease_that_only_ran_out_still_counts(spot: Spot):
    """Clocks decide when, never what: the term is what counts, and nobody took the next one."""
    with spot.open() as lake:
        scripts.prepare(lake)
        mine = take(lake, "a")
        commit = staged(lake, mine)
        spot.clock.advance(3600)
        assert publish(lake, commit) == Committed(lake.lsn)
        assert lake.committed(commit.attempt) == lake.lsn


def test_a_commit_that_got_through_is_found_even_after_the_lease_was_lost(spot: Spot):
    """Its answer was lost, then the lease: it still happened."""
    with spot.open() as lake:
        scripts.prepare(lake)
        commit = staged(lake, take(lake, "a"))
        outcome = publish(lake, commit)
        spot.clock.advance(31)
        take(lake, "b")
        assert publish(lake, commit) == outcome


def test_a_commit_under_a_lease_that_never_was_leaves_nothing(spot: Spot):
    with spot.open() as lake:
        model = scripts.prepare(lake)
        fence = Fence("nobody", 1)
        assert publish(lake, staged(lake, fence)) == Fenced(fence)
        check_history(lake, model.history)


def test_a_lease_has_one_holder_at_a_time(spot: Spot, opened: Callable[..., ab.Lake]):
    one, two = opened(spot), opened(spot)
    assert take(one, "a") == Fence("tick", 1)
    assert take(two, "b") is None
    spot.clock.advance(29.999999)
    assert take(two, "b") is None
    spot.clock.advance(0.000001)
    assert take(two, "b") == Fence("tick", 2)
    assert take(one, "a") is None


def test_renewing_a_lease_keeps_its_term_and_makes_it_last(spot: Spot, opened: Callable[..., ab.Lake]):
    one, two = opened(spot), opened(spot)
    for _ in range(5):
        assert take(one, "a") == Fence("tick", 1)
        spot.clock.advance(20)
        assert take(two, "b") is None


def test_a_lease_that_ran_out_and_nobody_took_can_be_renewed(spot: Spot):
    with spot.open() as lake:
        assert take(lake, "a") == Fence("tick", 1)
        spot.clock.advance(3600)
        assert take(lake, "a") == Fence("tick", 1)


def test_a_released_lease_can_be_taken_at_once_in_the_next_term(spot: Spot):
    with spot.open() as lake:
        mine = take(lake, "a")
        assert mine is not None
        release(lake, mine)
        assert take(lake, "b") == Fence("tick", 2)


def test_releasing_a_lease_that_passed_on_does_not_take_it_from_its_holder(spot: Spot):
    with spot.open() as lake:
        mine = take(lake, "a")
        assert mine is not None
        spot.clock.advance(31)
        theirs = take(lake, "b")
        release(lake, mine)
        assert take(lake, "c") is None
        assert take(lake, "b") == theirs


def test_a_holder_that_released_and_takes_again_is_in_a_new_term(spot: Spot):
    """What it prepared before is fenced off, as if another had come between."""
    with spot.open() as lake:
        scripts.prepare(lake)
        mine = take(lake, "a")
        assert mine is not None
        commit = staged(lake, mine)
        release(lake, mine)
        assert take(lake, "a") == Fence("tick", 2)
        assert publish(lake, commit) == Fenced(mine)


def test_leases_of_different_names_do_not_touch(spot: Spot):
    with spot.open() as lake:
        now = spot.clock.now()
        with lake._context.catalog.database.begin_write() as connection:
            for lease, holder in (("x", "a"), ("y", "b")):
                taken = leases.take_lease(connection, lease=lease, holder=holder, now=now, until=now + LIFE)
                assert taken == Fence(lease, 1)
            assert leases.is_fence_valid(connection, Fence("x", 1))
            assert not leases.is_fence_valid(connection, Fence("x", 2))
            assert not leases.is_fence_valid(connection, Fence("z", 1))
