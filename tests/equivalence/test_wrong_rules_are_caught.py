"""A suite that can't fail proves nothing: each deliberately wrong rule must be noticed by it."""

from __future__ import annotations

import importlib

import pytest

from anabranch.algebra.evaluate import NegativeWeight
from tests.equivalence.check import check_seed
from tests.equivalence.mutants import MUTANTS, Mutant
from tests.killing_seeds import RULES, stored_first

QUERIES = 2_000
"""No more than the suite itself draws in `make proof`."""


def noticing_seed(mutant: Mutant) -> int | None:
    """A seed by which the suite notices; a mutant that can't even be called is an error, and not noticed."""
    with pytest.MonkeyPatch.context() as patch:
        replace_rule(mutant, patch)
        for seed in stored_first(RULES, mutant.name, QUERIES):
            try:
                _, mismatch = check_seed(seed, rounds=4)
            except (NegativeWeight, ArithmeticError, ValueError):
                # A plan that can't be built or that means nothing: the suite would have failed too.
                return seed
            if mismatch is not None:
                return seed
    return None


def replace_rule(mutant: Mutant, patch: pytest.MonkeyPatch) -> None:
    module, _, path = mutant.target.partition(":")
    owner, _, name = path.rpartition(".")
    place = importlib.import_module(module)
    patch.setattr(getattr(place, owner) if owner else place, name, mutant.wrong)


def test_there_are_at_least_eighty_wrong_rules() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 80


def test_a_rule_that_takes_other_arguments_is_an_error_and_not_noticed() -> None:
    unfit = Mutant("takes nothing", "anabranch.delta:change_of_scan", lambda: None)
    with pytest.raises(TypeError, match="positional argument"):
        noticing_seed(unfit)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_suite_notices(mutant: Mutant) -> None:
    assert noticing_seed(mutant) is not None
