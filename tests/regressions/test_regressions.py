"""Every counter-example that was ever found, shrunk: a module each, with a query and its tables' history.

A module says in its docstring what went wrong, and defines COLUMNS, QUERY and HISTORY. All the laws of the
random queries are held against it.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.equivalence.check import check_history

CASES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("test_"))


@pytest.mark.parametrize("name", CASES)
def test_it_stays_fixed(name: str) -> None:
    case = importlib.import_module(f"tests.regressions.{name}")
    columns = {table: tuple(names.split()) for table, names in case.COLUMNS.items()}
    mismatch = check_history(0, case.QUERY, columns, case.HISTORY)
    assert mismatch is None, mismatch


def test_every_counter_example_says_what_went_wrong() -> None:
    assert CASES
    assert all(importlib.import_module(f"tests.regressions.{name}").__doc__ for name in CASES)
