"""Rows in memory, each with a weight of its own or counting one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, repeat

from anabranch.engine.local import kinds
from anabranch.engine.local.kinds import Elsewhere, Kind
from anabranch.engine.local.scalars import Columns, Constants, Row

Weighed = Iterable[tuple[Row, int]]


@dataclass(frozen=True)
class Held:
    """A relation. Without weights every row counts one, and may stand several times."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    rows: list[Row]
    weights: list[int] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def weighed(self) -> Iterator[tuple[Row, int]]:
        """Every row with its weight; equal ones may come several times."""
        return zip(self.rows, repeat(1) if self.weights is None else self.weights, strict=False)

    @cached_property
    def net(self) -> dict[Row, int]:
        """The weights of equal rows added up, zeros left out."""
        total: dict[Row, int] = {}
        for row, weight in self.weighed():
            total[row] = total.get(row, 0) + weight
        return {row: weight for row, weight in total.items() if weight}

    def counted(self) -> dict[Row, int]:
        """The same, of a relation that takes nothing away."""
        self.check_counts()
        return self.net

    def check_counts(self) -> None:
        """Refuse rows that are taken away from nothing."""
        if self.weights is not None and any(weight < 0 for weight in self.net.values()):
            raise Elsewhere("rows that are taken away from nothing")

    def columns(self, constants: Constants) -> Columns:
        """What scalars over its rows can read."""
        return Columns({name: place for place, name in enumerate(self.names)}, self.kinds, constants)

    def chosen(self, choice: Sequence[bool]) -> Held:
        """Those of its rows that are chosen, with their weights."""
        weights = None if self.weights is None else list(compress(self.weights, choice))
        return Held(self.names, self.kinds, list(compress(self.rows, choice)), weights)

    def replaced(self, weighed: Weighed) -> Held:
        """Other rows of the same columns."""
        return relation(self.names, self.kinds, weighed)


def relation(names: tuple[str, ...], kinds: tuple[Kind, ...], weighed: Weighed) -> Held:
    """A relation of weighted rows."""
    rows: list[Row] = []
    weights: list[int] = []
    for row, weight in weighed:
        rows.append(row)
        weights.append(weight)
    return Held(names, kinds, rows, weights)


def united(names: tuple[str, ...], parts: list[Held]) -> Held:
    """All rows of all parts, by position, in types that hold them."""
    found = tuple(kinds.common(column) for column in zip(*(part.kinds for part in parts), strict=True))
    rows: list[Row] = []
    weights: list[int] = []
    for part in parts:
        rows += part.rows if part.kinds == found else in_kinds(part, found).rows
        weights += repeat(1, len(part)) if part.weights is None else part.weights
    weighted = any(part.weights is not None for part in parts)
    return Held(names, found, rows, weights if weighted else None)


def in_kinds(held: Held, wanted: tuple[Kind, ...]) -> Held:
    """The same rows in other types that hold them."""
    changes = [kinds.conversion(*pair) for pair in zip(held.kinds, wanted, strict=True)]
    if not any(changes):
        return Held(held.names, wanted, held.rows, held.weights)
    rows = [tuple(map(_applied, changes, row)) for row in held.rows]
    return Held(held.names, wanted, rows, held.weights)


def _applied(change: Callable[[object], object] | None, value: object) -> object:
    return value if change is None or value is None else change(value)
