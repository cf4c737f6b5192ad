"""A lake's tables as bags of rows, and what must hold between the two at every lsn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow.parquet as pq

import anabranch as ab
from anabranch.read.scan_tables import list_change_files, read_arrow
from anabranch.streams.versions import TableVersion

Row = tuple[Any, ...]
Bag = Counter[Row]
State = dict[str, Bag]
SIGNS = {"+": 1, "-": -1}


class Model:
    """What the tables should hold. It has a transaction's verbs, so one script runs on both."""

    def __init__(self) -> None:
        self._tables: State = {}
        self.history: dict[int, State] = {0: {}}

    def create_table(self, name: str, _schema: object) -> None:
        assert name not in self._tables
        self._tables[name] = Counter()

    def drop_table(self, name: str) -> None:
        del self._tables[name]

    def insert(self, name: str, rows: Iterable[Row]) -> None:
        self._tables[name].update(rows)

    def truncate(self, name: str) -> None:
        self._tables[name].clear()

    def replace(self, name: str, rows: Iterable[Row]) -> None:
        self._tables[name] = Counter(rows)

    @property
    def state(self) -> State:
        return {name: Counter(rows) for name, rows in self._tables.items()}

    def committed(self, lsn: int | None) -> None:
        """What was done up to here is what the lake must show at `lsn`."""
        assert lsn is not None
        assert lsn not in self.history
        self.history[lsn] = self.state

    def together(self, lake: ab.Lake, script: Callable[[Any], object]) -> int:
        """Run a script here and, in a transaction, on the lake; the lsn."""
        with lake.transaction() as tx:
            script(tx)
        script(self)
        self.committed(tx.lsn)
        assert tx.lsn is not None
        return tx.lsn


def state_of(lake: ab.Lake, as_of: int | None = None) -> State:
    """Every table's rows at one moment."""
    versions = lake._context.catalog.lake_version(as_of).versions
    state = {str(name): bag(read_arrow(lake._context, version)) for name, version in versions.items()}
    assert {str(name): version.rows for name, version in versions.items()} == {
        name: rows.total() for name, rows in state.items()
    }
    return state


def check_history(lake: ab.Lake, history: dict[int, State], floor: int = 0) -> None:
    """Every lsn from `floor` on shows what it should, and contents(a) + changes(a, b) = contents(b)."""
    lsns = sorted(lsn for lsn in history if lsn >= floor)
    assert lake.lsn == lsns[-1]
    contents: dict[TableVersion, Bag] = {}
    for lsn in lsns:
        versions = lake._context.catalog.lake_version(lsn).versions
        assert {str(name) for name in versions} == set(history[lsn])
        for name, version in versions.items():
            if version not in contents:
                contents[version] = bag(read_arrow(lake._context, version))
            assert contents[version] == history[lsn][str(name)], (lsn, str(name))
            assert version.rows == contents[version].total()
    change = Changes(lake)
    for after, rows in contents.items():
        assert change.between(None, after) == rows
        for before, earlier in contents.items():
            if before.table_id == after.table_id and before.lsn < after.lsn:
                expected = change.between(before, after)
                expected.update(earlier)
                assert _nonzero(expected) == rows, (before.lsn, after.lsn, str(after.name))


class Changes:
    """What changed between two versions of a table, read with pyarrow alone, each file once."""

    def __init__(self, lake: ab.Lake) -> None:
        self._lake = lake
        self._files: dict[str, list[dict[str, Any]]] = {}

    def between(self, before: TableVersion | None, after: TableVersion) -> Bag:
        change: Bag = Counter()
        for piece in list_change_files(self._lake._context, before, after):
            for line in self._lines(piece.path):
                weight = SIGNS[piece.sign] if piece.sign in SIGNS else line["__weight"]
                change[tuple(line[name] for name in after.schema.names)] += weight
        return _nonzero(change)

    def _lines(self, path: str) -> list[dict[str, Any]]:
        if path not in self._files:
            self._files[path] = pq.read_table(path.removeprefix("file://")).to_pylist()
        return self._files[path]


def bag(table: Any) -> Bag:
    """An Arrow table as a bag of tuples."""
    return Counter(tuple(row.values()) for row in table.to_pylist())


def _nonzero(rows: Bag) -> Bag:
    return Counter({row: count for row, count in rows.items() if count})
