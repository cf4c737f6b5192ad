"""A cache of values parsed from rows of the ledger.

Few of many rows change between two reads; those with the same columns aren't parsed again. A plain tuple is
compared rather than the row itself, which SQLAlchemy compares in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
MAX_REMEMBERED = 20_000


class RowCache(Generic[T]):
    """A function of a row, with its newest result per table; a row begins with its table's id.

    A table's row changes with its every version. Results of older ones are of no use any more.
    """

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self._known: dict[Any, tuple[tuple[Any, ...], T]] = {}

    def __call__(self, row: Any) -> T:
        """The value parsed from a row."""
        seen = tuple(row)
        known = self._known.get(seen[0])
        if known is not None and known[0] == seen:
            return known[1]
        found = self._read(row)
        if len(self._known) >= MAX_REMEMBERED:
            # Rare, and cheap: rows that are read often are parsed again once.
            self._known.clear()
        self._known[seen[0]] = seen, found
        return found

    def __len__(self) -> int:
        return len(self._known)
