"""Plays a history on a lake and on the model at once, and holds the two against each other."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import anabranch as ab
from anabranch.errors import AmbiguousRows, VersionExpired
from anabranch.iceberg.change_files import ChangeFile
from anabranch.names import WEIGHT, TableName
from anabranch.read.scan_tables import list_change_files
from tests.laws.model import COLUMNS, DDL, Bag, Compact, Maintain, Row, Step, Together, Verb, added, bag_of

TABLES = ("t", "u")


class Player:
    """A lake with two tables, and what both must contain at every lsn."""

    def __init__(self, lake: ab.Lake) -> None:
        self.lake = lake
        for table in TABLES:
            lake.create_table(table, DDL)
        self.now: dict[str, Bag] = {table: Counter() for table in TABLES}
        self.at: dict[int, dict[str, Bag]] = {}
        self.floor = lake.lsn
        self._remember()

    def play(self, steps: list[Step]) -> None:
        """All steps, one after the other."""
        for step in steps:
            match step:
                case Together(verbs, rolled_back):
                    self._together(verbs, rolled_back)
                case Compact(table):
                    self.lake.compact(table)
                case Maintain(held):
                    self._maintain(held)
                case verb:
                    self._alone(verb)
            self._remember()

    def _alone(self, verb: Verb) -> None:
        before = copy.deepcopy(self.now)
        try:
            verb.apply(self.now)
        except AmbiguousRows:
            self.now = before
            lsn = self.lake.lsn
            with pytest.raises(AmbiguousRows):
                verb.run(self.lake)
            assert self.lake.lsn == lsn
        else:
            verb.run(self.lake)

    def _together(self, verbs: tuple[Verb, ...], rolled_back: bool) -> None:
        before, lsn = copy.deepcopy(self.now), self.lake.lsn
        transaction = self.lake.transaction()
        for verb in verbs:
            try:
                verb.apply(self.now)
            except AmbiguousRows:
                with pytest.raises(AmbiguousRows):
                    verb.run(transaction)
                rolled_back = True
                break
            verb.run(transaction)
        assert self.lake.lsn == lsn, "a transaction shows before it is committed"
        if rolled_back:
            transaction.rollback()
            self.now = before
            assert self.lake.lsn == lsn
        else:
            transaction.commit()
            assert self.lake.lsn - lsn <= 1, "one transaction, one lsn"

    def _maintain(self, held: int) -> None:
        lsn = max(self.floor, self.lake.lsn - held)
        with self.lake.snapshot(as_of=lsn):
            upkeep = self.lake.maintain()
        assert upkeep.floor_lsn == lsn, "what a snapshot holds is the floor"
        self.floor = lsn

    def _remember(self) -> None:
        lsn = self.lake.lsn
        known = self.at.setdefault(lsn, {table: +bag for table, bag in self.now.items()})
        assert known == {table: +bag for table, bag in self.now.items()}, "rows changed without an lsn"

    # -- the laws -----------------------------------------------------------------------------

    @property
    def lsns(self) -> list[int]:
        """Every lsn that must be readable, oldest first."""
        return [lsn for lsn in sorted(self.at) if lsn >= self.floor]

    def check_contents(self) -> None:
        """The contents at every lsn equal the model; what is below the floor says so."""
        for lsn in self.lsns:
            for table in TABLES:
                assert bag_of(self.lake.arrow(table, as_of=lsn)) == self.at[lsn][table], f"{table} at {lsn}"
        with self.lake.snapshot() as snapshot:
            assert {table: bag_of(snapshot.arrow(table)) for table in TABLES} == self.at[snapshot.lsn]
        for lsn in sorted(self.at):
            if lsn < self.floor:
                with pytest.raises(VersionExpired):
                    self.lake.arrow("t", as_of=lsn)
        rows = {info.name: info.rows for info in self.lake.tables()}
        assert rows == {table: self.at[self.lsns[-1]][table].total() for table in TABLES}

    def check_changes(self) -> None:
        """contents(a) + changes(a, b) = contents(b), for all a < b, from the files themselves."""
        context = self.lake._context
        weighted = lru_cache(maxsize=None)(self._weighted)
        moments = {lsn: context.catalog.lake_version(lsn) for lsn in self.lsns}
        for a, b in itertools.combinations(self.lsns, 2):
            for table in TABLES:
                name = TableName.parse(table)
                pieces = list_change_files(context, moments[a].version(name), moments[b].version(name))
                change: Counter[Row] = Counter()
                for piece in pieces:
                    for row, weight in weighted(piece).items():
                        change[row] += weight
                assert added(self.at[a][table], change) == self.at[b][table], f"{table} from {a} to {b}"

    def _weighted(self, piece: ChangeFile) -> Counter[Row]:
        rows, sign = self._rows(piece.path), piece.sign
        for marks in map(self._rows, piece.deletes):
            gone = marks.filter(pc.equal(marks["file_path"], piece.path))["pos"].to_pylist()
            assert len(piece.deletes) == 1, "there is one delete file at most"
            rows = rows.filter(pa.array([place not in gone for place in range(rows.num_rows)], pa.bool_()))
        fixed = [1 if sign == "+" else -1] * rows.num_rows
        weights = rows.column(WEIGHT).to_pylist() if sign == "~" else fixed
        change: Counter[Row] = Counter()
        columns = [rows.column(name).to_pylist() for name in COLUMNS]
        for *row, weight in zip(*columns, weights, strict=True):
            change[tuple(row)] += weight
        return change

    def _rows(self, path: str) -> pa.Table:
        with self.lake._context.warehouse.open(path) as stream:
            return pq.read_table(stream)

    def check_frames(self, table: str, a: int, b: int) -> None:
        """What people read through Spark says the same: net weights, spelled rows, contents."""
        net = [tuple(row) for row in self.lake.changes(table, a, b).collect()]
        change = {row[:-1]: row[-1] for row in net}
        assert len(change) == len(net), "a row stands twice in a net change"
        assert 0 not in change.values()
        assert added(self.at[a][table], change) == self.at[b][table]
        spelled = Counter(tuple(row) for row in self.lake.changes(table, a, b, change_type=True).collect())
        counted: Counter[Row] = Counter()
        for row, count in spelled.items():
            counted[row[:-1]] += count if row[-1] == "insert" else -count
        assert dict(counted) == change
        read = Counter(tuple(row) for row in self.lake.table(table, as_of=b).collect())
        assert read == self.at[b][table]
