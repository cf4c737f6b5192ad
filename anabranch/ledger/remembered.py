"""What rows of the ledger say, worked out once per row.

Few of many rows change between two looks: the others are known by what they hold. A plain tuple is the key
rather than the row itself, which SQLAlchemy compares in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
MAX_REMEMBERED = 20_000


class Remembered(Generic[T]):
    """A function of a row, and what it gave for those seen lately."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self._known: dict[tuple[Any, ...], T] = {}

    def __call__(self, row: Any) -> T:
        """What a row says."""
        key = tuple(row)
        found = self._known.get(key)
        if found is None:
            found = self._read(row)
            if len(self._known) >= MAX_REMEMBERED:
                # Rare, and soon made good: what is looked at often is read again once.
                self._known.clear()
            self._known[key] = found
        return found
