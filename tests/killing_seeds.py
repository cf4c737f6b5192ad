"""The seeds by which deliberately wrong rules were noticed last, so that a suite tries those first.

A seed that no longer tells costs a search and nothing else; `python -m tests.killing_seeds` finds all anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")
RULES, RECURSION = "rules", "recursion"


def stored_first(suite: str, name: str, limit: int) -> Iterator[int]:
    """All seeds below a limit, beginning with the one that told last."""
    known = _stored().get(suite, {}).get(name)
    if known is not None:
        yield known
    yield from (seed for seed in range(limit) if seed != known)


@cache
def _stored() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def main() -> None:
    """Search for every wrong rule, and store what was found."""
    from tests.equivalence.mutants import MUTANTS
    from tests.equivalence.test_wrong_rules_are_caught import noticing_seed
    from tests.recursion.test_wrong_rules import WRONG, noticing_program

    searches: dict[str, dict[str, Callable[[], int | None]]] = {
        RULES: {mutant.name: lambda mutant=mutant: noticing_seed(mutant) for mutant in MUTANTS},
        RECURSION: {wrong.__name__: lambda wrong=wrong: noticing_program(wrong) for wrong in WRONG},
    }
    found = {
        suite: {name: seed for name, search in each.items() if (seed := search()) is not None}
        for suite, each in searches.items()
    }
    FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
