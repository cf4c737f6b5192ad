"""What the verbs mean, in plain Python: a table is a bag of rows (k, j, v) of small numbers and NULLs.

Each step of a history changes the model and says how to do the same to a lake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from anabranch.errors import AmbiguousRows

Row = tuple[int | None, int | None, int | None]
Bag = Counter[Row]
COLUMNS = ("k", "j", "v")
DDL = "k INT, j INT, v INT"
ARROW = pa.schema([(name, pa.int32()) for name in COLUMNS])

# SQL and the same in Python; where SQL says NULL, the row doesn't count.
CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "k = 1": lambda row: row[0] == 1,
    "v IS NULL": lambda row: row[2] is None,
    "k IN (1, 2)": lambda row: row[0] in (1, 2),
    "v > 2 OR v IS NULL": lambda row: row[2] is None or row[2] > 2,
    "k = j": lambda row: row[0] is not None and row[0] == row[1],
    "k <> 2": lambda row: row[0] is not None and row[0] != 2,
    "FALSE": lambda row: False,
}


def _plus_one(value: int | None) -> int | None:
    return None if value is None else value + 1


ASSIGNMENTS: dict[tuple[tuple[str, str], ...], Callable[[Row], Row]] = {
    (("v", "v + 1"),): lambda row: (row[0], row[1], _plus_one(row[2])),
    (("k", "k"),): lambda row: row,
    (("v", "NULL"),): lambda row: (row[0], row[1], None),
    (("v", "CASE WHEN v > 2 THEN 0 ELSE v END"),): lambda row: (
        row[0],
        row[1],
        0 if row[2] is not None and row[2] > 2 else row[2],
    ),
    (("k", "j"), ("j", "k")): lambda row: (row[1], row[0], row[2]),
    (("k", "1"), ("j", "1"), ("v", "1")): lambda row: (1, 1, 1),
}


@dataclass(frozen=True)
class Insert:
    """Rows are added."""

    table: str
    rows: tuple[Row, ...]
    form: Literal["tuples", "dicts", "arrow"] = "tuples"

    def apply(self, tables: Mapping[str, Bag]) -> None:
        tables[self.table].update(self.rows)

    def run(self, lake: Any) -> None:
        dicts = [dict(zip(COLUMNS, row, strict=True)) for row in self.rows]
        forms = {
            "tuples": lambda: list(self.rows),
            "dicts": lambda: [{k: v for k, v in row.items() if v is not None} for row in dicts],
            "arrow": lambda: pa.Table.from_pylist(dicts, schema=ARROW),
        }
        lake.insert(self.table, forms[self.form]())


@dataclass(frozen=True)
class Update:
    """Rows for which the condition holds get new values."""

    table: str
    assignments: tuple[tuple[str, str], ...]
    where: str | None

    def apply(self, tables: Mapping[str, Bag]) -> None:
        bag, change = tables[self.table], ASSIGNMENTS[self.assignments]
        for row, count in _chosen(bag, self.where):
            bag[row] -= count
            bag[change(row)] += count

    def run(self, lake: Any) -> None:
        lake.update(self.table, dict(self.assignments), self.where)


@dataclass(frozen=True)
class Delete:
    """Rows for which the condition holds go."""

    table: str
    where: str | None

    def apply(self, tables: Mapping[str, Bag]) -> None:
        for row, count in _chosen(tables[self.table], self.where):
            tables[self.table][row] -= count

    def run(self, lake: Any) -> None:
        lake.delete(self.table, self.where)


@dataclass(frozen=True)
class Truncate:
    """All rows go."""

    table: str

    def apply(self, tables: Mapping[str, Bag]) -> None:
        tables[self.table].clear()

    def run(self, lake: Any) -> None:
        lake.truncate(self.table)


@dataclass(frozen=True)
class Merge:
    """Incoming rows, some marked as gone, meet the table's on the keys."""

    table: str
    rows: tuple[tuple[Row, bool | None], ...]
    columns: tuple[str, ...]
    on: tuple[str, ...]
    deletes: bool = False

    def apply(self, tables: Mapping[str, Bag]) -> None:
        """Several incoming rows that claim one row, or one new key, are refused."""
        bag = tables[self.table]
        claimed: Counter[Row] = Counter()
        added: list[Row] = []
        result: Bag = Counter()
        for incoming, gone in self.rows:
            key = _key(incoming, self.on)
            matches = [row for row in +bag if key is not None and _key(row, self.on) == key]
            claimed.update(matches)
            if self.deletes and gone:
                continue
            for row in matches:
                result[self._over(row, incoming)] += bag[row]
            if not matches:
                added.append(self._over((None, None, None), incoming))
        keys = [key for row in added if (key := _key(row, self.on)) is not None]
        if max(claimed.values(), default=0) > 1 or len(set(keys)) < len(keys):
            raise AmbiguousRows("several incoming rows claim the same row")
        for row in claimed:
            del bag[row]
        bag.update(result)
        bag.update(added)

    def _over(self, row: Row, incoming: Row) -> Row:
        pairs = zip(COLUMNS, row, incoming, strict=True)
        k, j, v = (new if name in self.columns else old for name, old, new in pairs)
        return (k, j, v)

    def run(self, lake: Any) -> None:
        rows = [
            {name: value for name, value in zip(COLUMNS, row, strict=True) if name in self.columns}
            | ({"gone": gone} if self.deletes else {})
            for row, gone in self.rows
        ]
        lake.merge(self.table, rows, on=list(self.on), delete_when="gone" if self.deletes else None)


Verb = Insert | Update | Delete | Truncate | Merge


@dataclass(frozen=True)
class Together:
    """Several verbs in one transaction, which is then committed or not."""

    verbs: tuple[Verb, ...]
    rolled_back: bool = False


@dataclass(frozen=True)
class Compact:
    """Small files are merged; no row changes."""

    table: str


@dataclass(frozen=True)
class Maintain:
    """Old versions go, except those from some commits ago on, which a snapshot holds."""

    held: int


Step = Verb | Together | Compact | Maintain


def bag_of(table: pa.Table) -> Bag:
    """The rows of an Arrow table."""
    return Counter(zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True))


def added(bag: Mapping[Row, int], change: Mapping[Row, int]) -> dict[Row, int]:
    """bag + change, without what nets to nothing."""
    together = {row: bag.get(row, 0) + change.get(row, 0) for row in {*bag, *change}}
    return {row: weight for row, weight in together.items() if weight}


def _chosen(bag: Bag, where: str | None) -> Iterable[tuple[Row, int]]:
    holds = CONDITIONS[where] if where is not None else lambda row: True
    return [(row, count) for row, count in bag.items() if count and holds(row)]


def _key(row: Row, on: tuple[str, ...]) -> tuple[int, ...] | None:
    key = tuple(value for name, value in zip(COLUMNS, row, strict=True) if name in on and value is not None)
    return key if len(key) == len(on) else None
