"""Rules of recursion that are deliberately wrong: each is caught by random programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from anabranch.algebra.evaluate import NegativeWeight
from anabranch.algebra.plan import At, Distinct, Join, UnionAll, empty
from anabranch.algebra.scalar import equal
from anabranch.delta import recurse
from anabranch.errors import NoFixpoint
from anabranch.refresh import fixpoint
from tests.recursion.test_on_the_reference import live

SEEDS = 400

Patch = Callable[[pytest.MonkeyPatch], None]


def never_deletes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fixpoint.Fixpoint, "_delete", lambda self, parts: None)


def deletes_only_what_is_near(patch: pytest.MonkeyPatch) -> None:
    has_news = fixpoint.Fixpoint._has_news

    def deaf(self: Any, member: Any, *, gone: bool = False) -> bool:
        return not gone and has_news(self, member)

    patch.setattr(fixpoint.Fixpoint, "_has_news", deaf)


def derives_nothing_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fixpoint, "derived_again", lambda loop, rows: empty(loop.plan.names))


def forgets_what_is_stored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fixpoint, "missing_among", lambda loop, rows: rows)


def takes_all_for_sets(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recurse.Loop, "is_set", True)


def counts_new_pairs_twice(patch: pytest.MonkeyPatch) -> None:
    """Γ with both sides of a join as they are now."""
    gained = fixpoint.gained

    def wrong(loop: Any, seeds: Any) -> Any:
        return recurse.until(gained(loop, seeds))

    patch.setattr(fixpoint, "gained", wrong)


def hears_of_one_side_only(patch: pytest.MonkeyPatch) -> None:
    touched = recurse.touched

    def wrong(plan: Any, seeds: Any, at: At) -> Any:
        found = touched(plan, seeds, at)
        return found.parts[0] if isinstance(found, UnionAll) else found

    patch.setattr(recurse, "touched", wrong)
    patch.setattr(fixpoint, "touched", wrong)


def lets_what_came_take_nothing_away(patch: pytest.MonkeyPatch) -> None:
    """The side of a left join that may be NULL only ever loses rows by losing some."""
    look = fixpoint.Fixpoint._look_outside

    def wrong(self: Any, parts: Any, changed: Any) -> None:
        look(self, parts, changed)
        for name in [name for name in self._outside if name.startswith("moved")]:
            lost = name.replace("moved", "lost")
            if lost in self._outside:
                self._outside[name] = self._outside[lost]
            else:
                del self._outside[name]

    patch.setattr(fixpoint.Fixpoint, "_look_outside", wrong)


def stops_after_one_pass(patch: pytest.MonkeyPatch) -> None:
    has_news = fixpoint.Fixpoint._has_news

    def tired(self: Any, member: Any, *, gone: bool = False) -> bool:
        return has_news(self, member, gone=gone) and (gone or self.iterations < 1)

    patch.setattr(fixpoint.Fixpoint, "_has_news", tired)


def keeps_copies_of_what_is_gone(patch: pytest.MonkeyPatch) -> None:
    """What is over-deleted stays to be derived from."""
    patch.setattr(fixpoint.Fixpoint, "_remainder", lambda self, member: self._old[member.loop.table])


def ignores_what_was_gained(patch: pytest.MonkeyPatch) -> None:
    """A stored row that gains a derivation keeps its number."""
    patch.setattr(fixpoint.Fixpoint, "_held", lambda self, member, found: replace(found, count=0))


def compares_nulls_as_unequal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recurse, "same", equal)


def looks_at_semi_joins_from_the_left(patch: pytest.MonkeyPatch) -> None:
    """Γ of a semi join forgets rows that find their first partner."""
    gained = fixpoint.gained

    def wrong(loop: Any, seeds: Any) -> Any:
        def forget(part: Any) -> Any:
            return empty(part.names) if isinstance(part, Join) and part.kind == "anti" else part

        return recurse.drop_empty(recurse.rebuild(gained(loop, seeds), forget))

    patch.setattr(fixpoint, "gained", wrong)


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


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_a_wrong_rule_is_caught(wrong: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong(monkeypatch)
    for seed in range(SEEDS):
        try:
            live(seed)
        except (AssertionError, NoFixpoint):
            return
        except fixpoint.MemberFailed as failed:
            # Rows that can't be, met on the way; anything else would be a rule that doesn't even run.
            if not isinstance(failed.error, AssertionError | NegativeWeight):
                raise
            return
    pytest.fail(f"{wrong.__name__} went unnoticed in {SEEDS} programs")


def test_distinct_is_what_makes_a_set() -> None:
    scan = recurse.Scan("t", (("x", "a"),))
    assert recurse.Loop("r", Distinct(scan), ("a",)).is_set
    assert not recurse.Loop("r", scan, ("a",)).is_set
