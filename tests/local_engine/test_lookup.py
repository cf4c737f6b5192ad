"""Rows are found in files by values of some columns, and no more is read than that takes."""

from __future__ import annotations

from datetime import date
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anabranch.engine.local.columns import Columns
from anabranch.engine.local.kinds import BIGINT, INT, STRING, Elsewhere
from anabranch.engine.local.lookup import Limits, look_up
from anabranch.engine.local.values import arrow_rows, held_rows, key_values
from anabranch.errors import Damaged
from anabranch.iceberg.parquet_files import FileRef
from anabranch.iceberg.position_deletes import DeletedPositions
from anabranch.iceberg.warehouse import Warehouse
from anabranch.schema import Atomic, Column, Decimal, Schema

SCHEMA = Schema(
    (
        Column("id", Atomic("bigint")),
        Column("kind", Atomic("string")),
        Column("price", Decimal(12, 2)),
        Column("day", Atomic("date")),
    )
)


class Files:
    """Data files in a warehouse of their own."""

    def __init__(self, folder: Path) -> None:
        self.warehouse = Warehouse(folder.as_uri())
        self._folder = folder
        self.columns = Columns(lambda: 1 << 30)
        self.files: list[FileRef] = []

    def add(self, table: pa.Table, *, group: int = 1_000, gone: list[int] | None = None) -> FileRef:
        path = self._folder / f"data{len(self.files)}.parquet"
        pq.write_table(table, path, row_group_size=group)
        deletes: tuple[str, ...] = ()
        if gone:
            marks = self._folder / f"deletes{len(self.files)}.parquet"
            pq.write_table(pa.table({"file_path": [path.as_uri()] * len(gone), "pos": gone}), marks)
            deletes = (marks.as_uri(),)
        count = table.num_rows - len(gone or [])
        entry: Any = None
        self.files.append(FileRef(path.as_uri(), count, path.stat().st_size, entry, deletes, len(gone or [])))
        return self.files[-1]

    def find(self, *, rows: int = 1_000, size: int = 1 << 30, schema: Schema = SCHEMA, **keys: Any) -> Any:
        values = {name: key_values(schema, name, keyed) for name, keyed in keys.items()}
        limits = Limits(rows=rows, size=size)
        # Read from files, then from what is kept of them, then searched in an order.
        answers = [self._found(schema, values, limits) for _ in range(3)]
        assert answers[1:] == answers[:-1] or size < 1 << 20
        return answers[0]

    def _found(self, schema: Schema, values: Any, limits: Limits) -> Any:
        deleted = DeletedPositions(self.warehouse)
        found = look_up(
            self.warehouse, self.columns, self.files, schema, values, deleted=deleted, limits=limits
        )
        return None if found is None else sorted(found.column("id").to_pylist())


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def numbered(start: int, count: int) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "kind": [None if number % 5 == 0 else f"k{number % 3}" for number in ids],
            "price": pa.array([Exact(number) for number in ids], pa.decimal128(12, 2)),
            "day": pa.array([number % 7 for number in ids], pa.int32()).cast(pa.date32()),
        }
    )


def test_rows_are_found_in_all_files_and_row_groups(files: Files) -> None:
    files.add(numbered(0, 100), group=10)
    files.add(numbered(100, 50), group=7)
    assert files.find(id=(BIGINT, [3, 99, 100, 149, 150, -1])) == [3, 99, 100, 149]
    assert files.find(id=(INT, [3])) == [3]
    assert files.find(id=(BIGINT, [])) == []


def test_a_row_needs_a_value_of_each_column(files: Files) -> None:
    files.add(numbered(0, 100), group=10)
    assert files.find(id=(BIGINT, [1, 2, 4]), kind=(STRING, ["k1"])) == [1, 4]


def test_null_is_found_where_it_is_looked_up(files: Files) -> None:
    files.add(numbered(0, 12))
    assert files.find(kind=(STRING, [None])) == [0, 5, 10]
    assert files.find(kind=(STRING, [None, "k2"])) == [0, 2, 5, 8, 10, 11]


def test_decimals_and_dates_are_found_by_value(files: Files) -> None:
    files.add(numbered(0, 20))
    assert files.find(price=(Decimal(12, 2), [300])) == [3]
    assert files.find(day=(Atomic("date"), [(date(1970, 1, 7) - date(1970, 1, 1)).days])) == [6, 13]


def test_marked_rows_are_not_found(files: Files) -> None:
    files.add(numbered(0, 30), group=10, gone=[0, 9, 10, 29])
    assert files.find(id=(BIGINT, [0, 1, 9, 10, 11, 29])) == [1, 11]


def test_a_column_that_an_older_file_lacks_is_null_in_it(files: Files) -> None:
    files.add(numbered(0, 5).drop_columns(["kind", "day"]))
    files.add(numbered(5, 5))
    assert files.find(kind=(STRING, ["k2"])) == [8]
    assert files.find(kind=(STRING, [None]), id=(BIGINT, [1, 5, 6])) == [1, 5]
    assert files.find(id=(BIGINT, [2, 7])) == [2, 7]


def test_a_file_with_an_older_type_is_looked_into_by_it(files: Files) -> None:
    narrow = numbered(0, 5)
    files.add(narrow.set_column(0, "id", narrow.column("id").cast(pa.int32())))
    assert files.find(id=(BIGINT, [2, 4])) == [2, 4]
    with pytest.raises(Elsewhere):
        files.find(id=(BIGINT, [2, 2**40]))


def test_too_much_to_read_or_to_find_is_left_alone(files: Files) -> None:
    files.add(numbered(0, 100))
    assert files.find(id=(BIGINT, list(range(100))), rows=99) is None
    assert files.find(id=(BIGINT, [1]), size=10) is None


def test_values_of_another_type_are_not_looked_up(files: Files) -> None:
    files.add(numbered(0, 5))
    with pytest.raises(Elsewhere):
        files.find(id=(STRING, ["1"]))
    with pytest.raises(Elsewhere):
        files.find(price=(Decimal(12, 1), [10]))
    narrow = Schema((Column("id", Atomic("int")),))
    assert files.find(id=(BIGINT, [2, 2**40]), schema=narrow) == [2]


def test_a_broken_file_is_damage(files: Files) -> None:
    ref = files.add(numbered(0, 5))
    Path(ref.path.removeprefix("file://")).write_bytes(b"no longer Parquet")
    with pytest.raises(Damaged):
        files.find(id=(BIGINT, [1]))


def test_bytes_that_are_no_text_are_not_for_here() -> None:
    broken = pa.array([b"\xff\xfe"]).view(pa.string())
    with pytest.raises(Elsewhere):
        held_rows(pa.table({"text": broken}), ("text",))


def test_rows_come_back_as_they_went() -> None:
    values = {
        "n": pa.array([1, None, -(2**63)], pa.int64()),
        "d": pa.array([10**37, None, -(10**37)], pa.decimal128(38, 0)).cast(pa.decimal128(38, 0)),
        "s": pa.array([-5, None, 7], pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(30, 10)),
        "t": pa.array([0, None, -1], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        "l": pa.array([0, None, -1], pa.int64()).cast(pa.timestamp("us")),
        "b": pa.array([b"", None, b"\x00\xff"]),
        "v": pa.nulls(3),
    }
    table = pa.table(values)
    held = held_rows(table, tuple(values))
    assert held.rows[2][:3] == (-(2**63), -(10**37), 7 * 10**10)
    assert arrow_rows(held, list(values)).equals(table)
    assert held_rows(table.slice(2, 1), tuple(values)).rows == held.rows[2:]
