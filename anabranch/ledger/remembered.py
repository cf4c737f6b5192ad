"""What rows of the ledger say, worked out once per row.

Few of many rows change between two looks: the others are known by what they hold. A plain tuple is compared
rather than the row itself, which SQLAlchemy compares in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
MAX_REMEMBERED = 20_000


class Remembered(Generic[T]):
    """A function of a row, and what it gave for those seen last: one per table, whose id each begins with.

    A table's row changes with its every version. What an older one said is of no use any more.
    """

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self._known: dict[Any, tuple[tuple[Any, ...], T]] = {}

    def __call__(self, row: Any) -> T:
        """What a row says."""
        seen = tuple(row)
        known = self._known.get(seen[0])
        if known is not None and known[0] == seen:
            return known[1]
        found = self._read(row)
        if len(self._known) >= MAX_REMEMBERED:
            # Rare, and soon made good: what is looked at often is read again once.
            self._known.clear()
        self._known[seen[0]] = seen, found
        return found

    def __len__(self) -> int:
        return len(self._known)
