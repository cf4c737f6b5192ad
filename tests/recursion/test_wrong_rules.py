"""Rules of recursion that are deliberately wrong: each is caught by random programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from anabranch.algebra.evaluate import NegativeWeight
from anabranch.algebra.plan import Distinct, IntervalEnd, Join, UnionAll, empty
from anabranch.algebra.scalar import equal
from anabranch.delta import recursion
from anabranch.errors import NoFixpoint
from anabranch.refresh import fixpoint
from tests.killing_seeds import RECURSION, stored_first
from tests.recursion.test_on_the_reference import live

SEEDS = 400

Patch = Callable[[pytest.MonkeyPatch], None]


def never_deletes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fixpoint.Fixpoint, "_over_delete", lambda self, parts: None)


def deletes_only_what_is_near(patch: pytest.MonkeyPatch) -> None:
    has_news = fixpoint.Fixpoint._has_unread_batches

    def deaf(self: Any, member: Any, *, gone: bool = False) -> bool:
        return not gone and has_news(self, member)

    patch.setattr(fixpoint.Fixpoint, "_has_unread_batches", deaf)


def derives_nothing_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fixpoint, "rederive_rows", lambda loop, rows: empty(loop.plan.names))


def forgets_what_is_stored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fixpoint, "rows_not_in_table", lambda loop, rows: rows)


def takes_all_for_sets(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recursion.RecursiveTable, "is_set", True)


def counts_new_pairs_twice(patch: pytest.MonkeyPatch) -> None:
    """Γ with both sides of a join as they are now."""
    gained = fixpoint.semi_naive_gain

    def wrong(loop: Any, seeds: Any) -> Any:
        return recursion.at_until(gained(loop, seeds))

    patch.setattr(fixpoint, "semi_naive_gain", wrong)


def hears_of_one_side_only(patch: pytest.MonkeyPatch) -> None:
    touched = recursion.rows_derived_from

    def wrong(plan: Any, seeds: Any, at: IntervalEnd) -> Any:
        found = touched(plan, seeds, at)
        return found.parts[0] if isinstance(found, UnionAll) else found

    patch.setattr(recursion, "rows_derived_from", wrong)
    patch.setattr(fixpoint, "rows_derived_from", wrong)


def lets_what_came_take_nothing_away(patch: pytest.MonkeyPatch) -> None:
    """The side of a left join that may be NULL only ever loses rows by losing some."""
    look = fixpoint.Fixpoint._compute_outer_changes

    def wrong(self: Any, parts: Any, changed: Any) -> None:
        look(self, parts, changed)
        for name in [name for name in self._outside if name.startswith("moved")]:
            lost = name.replace("moved", "lost")
            if lost in self._outside:
                self._outside[name] = self._outside[lost]
            else:
                del self._outside[name]

    patch.setattr(fixpoint.Fixpoint, "_compute_outer_changes", wrong)


def stops_after_one_pass(patch: pytest.MonkeyPatch) -> None:
    has_news = fixpoint.Fixpoint._has_unread_batches

    def tired(self: Any, member: Any, *, gone: bool = False) -> bool:
        return has_news(self, member, gone=gone) and (gone or self.iterations < 1)

    patch.setattr(fixpoint.Fixpoint, "_has_unread_batches", tired)


def keeps_copies_of_what_is_gone(patch: pytest.MonkeyPatch) -> None:
    """What is over-deleted stays to be derived from."""
    patch.setattr(fixpoint.Fixpoint, "_surviving_rows", lambda self, member: self._old[member.loop.table])


def ignores_what_was_gained(patch: pytest.MonkeyPatch) -> None:
    """A stored row that gains a derivation keeps its number."""
    patch.setattr(fixpoint.Fixpoint, "_filter_to_stored", lambda self, member, found: replace(found, count=0))


def compares_nulls_as_unequal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recursion, "null_safe_equal", equal)


def looks_at_semi_joins_from_the_left(patch: pytest.MonkeyPatch) -> None:
    """Γ of a semi join forgets rows that find their first partner."""
    gained = fixpoint.semi_naive_gain

    def wrong(loop: Any, seeds: Any) -> Any:
        def forget(part: Any) -> Any:
            return empty(part.names) if isinstance(part, Join) and part.kind == "anti" else part

        return recursion.drop_empty(recursion.transform_up(gained(loop, seeds), forget))

    patch.setattr(fixpoint, "semi_naive_gain", wrong)


WRONG: list[Patch] = [
    never_deletes,
    deletes_only_what_is_near,
    derives_nothing_again,
    forgets_what_is_stored,
    takes_all_for_sets,
    counts_new_pairs_twice,
    hears_of_one_side_only,
    lets_what_came_take_nothing_away,
    stops_after_one_pass,
    keeps_copies_of_what_is_gone,
    ignores_what_was_gained,
    compares_nulls_as_unequal,
    looks_at_semi_joins_from_the_left,
]


def noticing_program(wrong: Patch) -> int | None:
    """The seed of a program by which a wrong rule is noticed."""
    with pytest.MonkeyPatch.context() as patch:
        wrong(patch)
        for seed in stored_first(RECURSION, wrong.__name__, SEEDS):
            try:
                live(seed)
            except (AssertionError, NoFixpoint):
                return seed
            except fixpoint.MemberFailed as failed:
                # Rows that can't be, met on the way; anything else would be a rule that doesn't even run.
                if not isinstance(failed.error, AssertionError | NegativeWeight):
                    raise
                return seed
    return None


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_a_wrong_rule_is_caught(wrong: Patch) -> None:
    assert noticing_program(wrong) is not None


def test_distinct_is_what_makes_a_set() -> None:
    scan = recursion.Scan("t", (("x", "a"),))
    assert recursion.RecursiveTable("r", Distinct(scan), ("a",)).is_set
    assert not recursion.RecursiveTable("r", scan, ("a",)).is_set
