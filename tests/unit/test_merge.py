"""Finding, without a key, the stored rows that a change takes away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from anabranch.engine.local.columns import Columns
from anabranch.engine.local.locate_rows import LOOSE_ROWS, ChangeSize, change_size, find_rows, look_for_rows
from anabranch.errors import Damaged
from anabranch.iceberg.change_files import ChangeFile, SignedFiles
from anabranch.iceberg.parquet_files import FileRef, Layout, Removal, added_rows, write_rows
from anabranch.iceberg.small_changes import read_small_change
from anabranch.iceberg.warehouse import Warehouse
from anabranch.names import WEIGHT
from anabranch.schema import Schema
from anabranch.sql.ddl import parse_schema

FIELDS = IcebergSchema(
    NestedField(1, "k", LongType()), NestedField(2, "s", StringType()), NestedField(3, "x", DoubleType())
)
NAN = float("nan")
Rows = list[tuple[Any, ...]]


class Place:
    """A folder with data files and change files."""

    def __init__(self, folder: Path) -> None:
        self.warehouse = Warehouse(folder.as_uri())
        self.layout = Layout.from_schema(FIELDS)
        self._folder = folder.as_uri()
        self._number = 0
        self.columns = Columns(lambda: 1 << 30)

    def file(self, rows: Rows) -> Any:
        self._number += 1
        (found,) = write_rows(
            self.warehouse, self._arrow(rows), self.layout, self._folder, f"f{self._number}"
        )
        return found

    def change(self, rows: Rows) -> list[str]:
        self._number += 1
        table = self._arrow([row[:-1] for row in rows]).append_column(
            WEIGHT, pa.array([row[-1] for row in rows], pa.int64())
        )
        path = f"{self._folder}/change{self._number}.parquet"
        pq.write_table(table, path.removeprefix("file://"))
        return [path]

    def _arrow(self, rows: Rows) -> pa.Table:
        columns = [pa.array(list(column)) for column in zip(*rows, strict=True)] if rows else [[], [], []]
        return pa.table(columns, names=["k", "s", "x"]).cast(self.layout.arrow)

    def found(self, files: list[Any], change: Rows) -> list[list[int]]:
        paths = self.change(change)
        size = change_size(self.warehouse, paths)
        removal = find_rows(self.warehouse, files, paths, self.layout, size, "t")
        for _ in range(3):  # from files, from what is kept of them, by an order
            looked = self._looked_up(files, paths, size)
            assert looked is not None
            assert looked == removal
        return [
            removal.positions[file.path].to_pylist() if file.path in removal.positions else []
            for file in files
        ]

    def looked_up(self, files: list[Any], change: Rows, *, most: int = 1 << 30) -> Removal | None:
        paths = self.change(change)
        return self._looked_up(files, paths, change_size(self.warehouse, paths), most=most)

    def _looked_up(
        self, files: list[Any], paths: list[str], size: ChangeSize, *, most: int = 1 << 30
    ) -> Removal | None:
        return look_for_rows(self.warehouse, self.columns, files, paths, self.layout, size, "t", most=most)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_row_is_found_by_all_its_columns(place: Place) -> None:
    file = place.file([(1, "a", 1.0), (1, "b", 1.0), (2, "a", 1.0), (1, "a", 2.0)])
    assert place.found([file], [(1, "a", 2.0, -1)]) == [[3]]


def test_of_equal_rows_as_many_as_the_weight_says(place: Place) -> None:
    files = [place.file([(1, "a", 1.0), (1, "a", 1.0)]), place.file([(2, "b", 1.0), (1, "a", 1.0)])]
    assert sum(map(len, place.found(files, [(1, "a", 1.0, -2)]))) == 2
    assert place.found(files, [(1, "a", 1.0, -3)]) == [[0, 1], [1]]


def test_null_is_null_nan_is_nan_and_minus_zero_is_zero(place: Place) -> None:
    file = place.file([(None, None, None), (1, None, NAN), (1, "", -0.0), (1, "", None)])
    assert place.found([file], [(None, None, None, -1)]) == [[0]]
    assert place.found([file], [(1, None, NAN, -1)]) == [[1]]
    assert place.found([file], [(1, "", 0.0, -1)]) == [[2]]


def test_rows_that_come_are_not_looked_for(place: Place) -> None:
    file = place.file([(1, "a", 1.0), (2, "b", 2.0)])
    assert place.found([file], [(1, "a", 1.0, -1), (2, "b", 2.0, 1), (3, "c", 3.0, 2)]) == [[0]]


@pytest.mark.parametrize("change", [[(9, "a", 1.0, -1)], [(1, "a", 1.0, -2)]])
def test_a_row_that_is_not_stored_stops_everything(place: Place, change: Rows) -> None:
    file = place.file([(1, "a", 1.0), (2, "b", 2.0)])
    with pytest.raises(Damaged, match="not the ones that its change takes away"):
        place.found([file], change)


def test_a_row_that_is_not_stored_is_missed_by_a_look_up_too(place: Place) -> None:
    file = place.file([(1, "a", 1.0), (2, "b", 2.0)])
    with pytest.raises(Damaged):
        place.looked_up([file], [(1, "b", 1.0, -1)])


def test_where_one_value_has_many_rows_none_is_looked_up(place: Place) -> None:
    file = place.file([(7, "a", float(number)) for number in range(LOOSE_ROWS + 100)])
    assert place.looked_up([file], [(7, "a", 3.0, -1)]) is None


def test_no_more_is_read_than_is_allowed(place: Place) -> None:
    file = place.file([(number, "a", 1.0) for number in range(100)])
    assert place.looked_up([file], [(7, "a", 1.0, -1)], most=10) is None


def test_a_change_is_measured_by_its_weights(place: Place) -> None:
    size = change_size(place.warehouse, place.change([(1, "a", 1.0, -2), (2, "b", 1.0, 3), (3, "c", 1.0, 1)]))
    assert (size.rows, size.inserted, size.deleted) == (3, 4, 2)
    assert change_size(place.warehouse, []).rows == 0


def test_rows_are_added_as_often_as_their_weight_says() -> None:
    change = pa.table({"k": [1, 2, 3], WEIGHT: pa.array([2, -1, 1], pa.int64())})
    assert added_rows(change)["k"].to_pylist() == [1, 1, 3]


def signed(
    plus: Sequence[FileRef] = (), minus: Sequence[FileRef] = (), weighted: Sequence[str] = ()
) -> SignedFiles:
    files = [ChangeFile("+", file.path) for file in plus] + [ChangeFile("-", file.path) for file in minus]
    return SignedFiles.from_change_files([*files, *(ChangeFile("~", path) for path in weighted)])


def test_a_small_change_is_added_up_here(place: Place) -> None:
    schema = parse_schema("k BIGINT, s STRING, x DOUBLE")
    plus, minus = place.file([(1, "a", 1.0), (2, None, NAN)]), place.file([(1, "a", 1.0), (3, "c", 0.0)])
    weighted = place.change([(2, None, NAN, 1), (3, "c", -0.0, 1)])
    found = read_small_change(place.warehouse, signed([plus], [minus], weighted), schema)
    assert found is not None
    assert found.select(["k", WEIGHT]).to_pylist() == [{"k": 2, WEIGHT: 2}]


def test_a_file_that_came_and_went_leaves_nothing(place: Place) -> None:
    file, other = place.file([(1, "a", 1.0)]), place.file([(2, "b", 1.0)])
    schema = parse_schema("k BIGINT, s STRING, x DOUBLE")
    found = read_small_change(place.warehouse, signed([file, other], [file]), schema)
    assert found is not None
    assert found.select(["k", WEIGHT]).to_pylist() == [{"k": 2, WEIGHT: 1}]


def test_only_the_columns_that_are_read_are_compared(place: Place) -> None:
    schema = Schema(parse_schema("k BIGINT, s STRING").columns[:1])
    change = place.change([(1, "a", 1.0, -1), (1, "b", 1.0, 1), (2, "c", 1.0, 1)])
    found = read_small_change(place.warehouse, signed(weighted=change), schema)
    assert found is not None
    assert found.to_pylist() == [{"k": 2, WEIGHT: 1}]


def test_rows_with_lists_are_left_to_the_engine(place: Place) -> None:
    schema = parse_schema("k ARRAY<INT>")
    assert read_small_change(place.warehouse, signed([place.file([(1, "a", 1.0)])]), schema) is None
