"""A suite that can't fail proves nothing: each deliberately wrong rule must be noticed by it."""

from __future__ import annotations

import importlib

import pytest

from tests.equivalence.check import check_seed
from tests.equivalence.mutants import MUTANTS, Mutant

QUERIES = 2_000
"""No more than the suite itself draws."""


def notices(mutant: Mutant) -> bool:
    for seed in range(QUERIES):
        try:
            _, mismatch = check_seed(seed, rounds=4)
        except Exception:  # noqa: BLE001  (a wrong rule may break anything; breaking is being noticed)
            return True
        if mismatch is not None:
            return True
    return False


def test_there_are_at_least_forty_wrong_rules() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_suite_notices(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _, name = mutant.target.partition(":")
    monkeypatch.setattr(importlib.import_module(module), name, mutant.wrong)
    assert notices(mutant)
