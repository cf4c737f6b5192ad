"""Rows in memory that are found by the values of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.engine.local.held import Held
from anabranch.engine.local.interpret import Keyed
from anabranch.engine.local.kinds import Elsewhere, is_float, is_whole
from anabranch.engine.local.scalars import Row


class IndexedRows:
    """Rows with an index of each column that they were looked up by."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self._indexes: dict[int, dict[Any, list[Row]]] = {}

    def find(self, keys: Mapping[int, Keyed]) -> Held:
        """The rows that have one of some values in each of some columns, which are given by place.

        >>> from anabranch.engine.local.kinds import INT
        >>> rows = IndexedRows(Held(("a", "b"), (INT, INT), [(1, 2), (1, 3), (2, 3)]))
        >>> rows.find({0: (INT, [1]), 1: (INT, [3, 4])}).rows
        [(1, 3)]
        """
        if self.held.weights is not None:
            raise Elsewhere("weighted rows are looked up")
        wanted = {place: self._values(place, keyed) for place, keyed in keys.items()}
        counts = {place: self._count(place, values) for place, values in wanted.items()}
        first = min(counts, key=lambda place: counts[place])
        index = self._index(first)
        rows = [row for value in wanted.pop(first) for row in index.get(value, ())]
        for place, values in wanted.items():
            rows = [row for row in rows if row[place] in values]
        return Held(self.held.names, self.held.kinds, rows)

    def _values(self, place: int, keyed: Keyed) -> dict[Any, None]:
        kind, values = keyed
        own = self.held.kinds[place]
        if is_float(kind) or (kind != own and not (is_whole(kind) and is_whole(own))):
            raise Elsewhere(f"{kind} is looked up among {own}")
        return dict.fromkeys(values)

    def _count(self, place: int, values: Mapping[Any, None]) -> int:
        index = self._index(place)
        return sum(len(index.get(value, ())) for value in values)

    def _index(self, place: int) -> dict[Any, list[Row]]:
        found = self._indexes.get(place)
        if found is None:
            found = self._indexes[place] = {}
            for row in self.held.rows:
                found.setdefault(row[place], []).append(row)
        return found
