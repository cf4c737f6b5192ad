"""Looking rows up in files by the values of some columns, without an engine.

What footers say about a row group's lowest and highest value spares reading it at all. Of the others, the
columns of the keys are read, and the rest where a row was found; what was read is kept for the next time
(`columns.py`), and from the second time on rows are searched, not sought in a pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anabranch.algebra.scalar import Scalar
from anabranch.engine.local.columns import Columns, Order, Part
from anabranch.engine.local.kinds import Elsewhere
from anabranch.engine.local.packed import Packed, as_numbers, has_numbers
from anabranch.engine.local.row_filter import columns_of, rows_that_pass
from anabranch.errors import Damaged
from anabranch.iceberg.parquet_files import FileRef
from anabranch.iceberg.position_deletes import DeletedPositions
from anabranch.iceberg.read_rows import to_declared_columns
from anabranch.iceberg.type_mapping import to_arrow
from anabranch.iceberg.warehouse import Warehouse
from anabranch.schema import Schema

Keys = Mapping[str, pa.Array]
"""The values that are looked up, by column; a row needs one of each column's."""
FILES = 1_000
"""Files that are looked into at most."""


class TooMuch(Exception):
    """More to read, or found, than is looked up here."""


class Found(NamedTuple):
    """Rows of a file, in the columns and types that it has, and their positions in it."""

    file: FileRef
    positions: np.ndarray
    rows: pa.Table


@dataclass(frozen=True)
class Limits:
    """How much a look-up may take."""

    rows: int
    """Rows that are found."""
    size: int
    """Bytes of Parquet that are read."""


def look_up(
    warehouse: Warehouse,
    columns: Columns,
    files: Sequence[FileRef],
    schema: Schema,
    keys: Keys,
    *,
    deleted: DeletedPositions,
    limits: Limits,
    conditions: Collection[Scalar] = (),
) -> pa.Table | None:
    """The live rows whose columns have values among the keys, in declared types; None if that is too much.

    Rows that fail some of the conditions may be left out.
    """
    declared = to_arrow(schema)
    finder = Finder(warehouse, columns, declared.names, keys, deleted, conditions)
    try:
        found = [to_declared_columns(part.rows, declared) for part in finder.found(files, limits)]
    except TooMuch:
        return None
    return pa.concat_tables(found) if found else declared.empty_table()


class Finder:
    """Looks for the same keys in several files."""

    def __init__(
        self,
        warehouse: Warehouse,
        columns: Columns,
        names: Iterable[str],
        keys: Keys,
        deleted: DeletedPositions,
        conditions: Collection[Scalar] = (),
    ) -> None:
        self._warehouse, self._columns, self._deleted = warehouse, columns, deleted
        self._conditions = tuple(conditions)
        self._names, self._keys = list(names), {name: _Wanted(values) for name, values in keys.items()}

    def found(self, files: Sequence[FileRef], limits: Limits) -> Iterator[Found]:
        """The rows that are found, file by file; `TooMuch` as soon as that is clear."""
        if len(files) > FILES:
            raise TooMuch
        opened = [self._open(file) for file in files]
        if sum(file.size for file in opened) > limits.size:
            raise TooMuch
        left = limits.rows
        for file in opened:
            try:
                part = file.found(self._deleted.read_positions(file.file), left, self._conditions)
            except (OSError, pa.ArrowException) as error:
                raise _damaged(file.file, error) from error
            if part is not None:
                left -= part.rows.num_rows
                yield part

    def _open(self, file: FileRef) -> _File:
        try:
            footer = self._columns.footer(file.path, lambda: self._footer(file.path))
        except (OSError, pa.ArrowException) as error:
            raise _damaged(file, error) from error
        return _File(self._warehouse, self._columns, file, footer, self._names, self._keys)

    def _footer(self, path: str) -> pq.FileMetaData:
        with self._warehouse.open(path) as stream:
            return pq.read_metadata(stream)


class _Wanted:
    """The values that are looked up in one column."""

    def __init__(self, values: pa.Array) -> None:
        self.values = values
        self._stored: dict[pa.DataType, tuple[pa.Array, np.ndarray | None]] = {}

    def stored_as(self, kind: pa.DataType) -> tuple[pa.Array, np.ndarray | None]:
        """Them in the type that a file has, which may be an older one; and as ascending numbers, if they
        are such and none is NULL."""
        if kind not in self._stored:
            try:
                values = self.values.cast(kind)
            except pa.ArrowInvalid as error:
                raise Elsewhere("values that a file can't have") from error
            searched = has_numbers(kind) and not values.null_count
            self._stored[kind] = values, np.unique(as_numbers(values)) if searched else None
        return self._stored[kind]


class _File:
    """One file. It is opened when something of it has to be read that isn't kept."""

    def __init__(
        self,
        warehouse: Warehouse,
        columns: Columns,
        file: FileRef,
        footer: pq.FileMetaData,
        wanted: Sequence[str],
        keys: Mapping[str, _Wanted],
    ) -> None:
        self.file = file
        self._warehouse, self._columns, self._footer = warehouse, columns, footer
        self._numbers = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
        names = {name.lower(): name for name in footer.schema.to_arrow_schema().names}
        self._own = [names[name.lower()] for name in wanted if name.lower() in names]
        self._keys = {names[name.lower()]: found for name, found in keys.items() if name.lower() in names}
        # A column that an older file lacks is NULL in all of it.
        never = any(name.lower() not in names and not found.values.null_count for name, found in keys.items())
        self._groups = [] if never else [g for g in range(footer.num_row_groups) if self._may_have(g)]

    @property
    def size(self) -> int:
        """Bytes of the columns that are read, those of them that aren't kept."""
        return sum(
            self._footer.row_group(group).column(self._numbers[name]).total_compressed_size
            for group in self._groups
            for name in self._own
            if name in self._numbers and not self._columns.has(Part(self.file.path, group, name))
        )

    def _may_have(self, group: int) -> bool:
        """Whether a row group may have one of each column's values, as far as its statistics say."""
        return all(self._spans(group, own, wanted.values) for own, wanted in self._keys.items())

    def _spans(self, group: int, own: str, values: pa.Array) -> bool:
        if own not in self._numbers or values.null_count:
            return True
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_date(kind)):
            return True
        statistics = self._footer.row_group(group).column(self._numbers[own]).statistics
        if statistics is None or not statistics.has_min_max:
            return True
        inside = pc.and_(
            pc.greater_equal(values, pa.scalar(statistics.min, kind)),
            pc.less_equal(values, pa.scalar(statistics.max, kind)),
        )
        return bool(pc.any(inside).as_py())

    def found(self, marked: np.ndarray, most: int, conditions: Collection[Scalar] = ()) -> Found | None:
        """The rows that are looked up, but those that are marked as gone, or fail some of the conditions."""
        starts = np.cumsum(
            [0, *(self._footer.row_group(g).num_rows for g in range(self._footer.num_row_groups))]
        )
        places: list[np.ndarray] = []
        tables: list[pa.Table] = []
        with _Reader(self._warehouse, self.file.path, self._footer) as reader:
            for group in self._groups:
                start, end = starts[group], starts[group + 1]
                gone = marked[np.searchsorted(marked, start) : np.searchsorted(marked, end)] - start
                part = _Group(reader, self._columns, self.file.path, group)
                inside = self._choose_places(part, self._places(part, end - start, gone), conditions)
                most -= len(inside)
                if most < 0:
                    raise TooMuch
                if len(inside):
                    places.append(inside + start)
                    taken = [part.column(name).take(inside) for name in self._own]
                    tables.append(pa.table(taken, names=self._own))
        if not places:
            return None
        return Found(self.file, np.concatenate(places), pa.concat_tables(tables))

    def _choose_places(self, group: _Group, places: np.ndarray, conditions: Collection[Scalar]) -> np.ndarray:
        """The places whose rows meet the conditions, as far as that can be told without an engine."""
        if not conditions or not len(places):
            return places
        own = {name.lower(): name for name in self._own}
        values = {
            name: group.column(own[name.lower()]).take(places)
            for name in columns_of(conditions)
            if name.lower() in own
        }
        passed = rows_that_pass(conditions, values)
        return places if passed is None else places[passed]

    def _places(self, group: _Group, rows: int, gone: np.ndarray) -> np.ndarray:
        """Where in a row group the looked up rows are."""
        first = ""
        searches = {own: group.search(own, wanted) for own, wanted in self._keys.items()}
        sure = {own: search for own, search in searches.items() if search is not None}
        if sure:
            first = min(sure, key=lambda own: sure[own].count)
            places = sure[first].places()
        else:
            places = np.arange(rows)
        if len(gone):
            places = places[~_among(places, gone)]
        for own, wanted in self._keys.items():
            if own != first and len(places):
                places = places[group.has(own, wanted, places if len(places) < rows else None)]
        return places


@dataclass(frozen=True)
class _Search:
    """Values that were found in an order."""

    order: Order
    starts: np.ndarray
    counts: np.ndarray

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    def places(self) -> np.ndarray:
        return self.order.find(self.starts, self.counts)


class _Reader:
    """A file that is opened when it is needed."""

    def __init__(self, warehouse: Warehouse, path: str, footer: pq.FileMetaData) -> None:
        self._warehouse, self._path, self._footer = warehouse, path, footer
        self._stream: pa.NativeFile | None = None
        self._file: pq.ParquetFile | None = None

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()

    def column(self, group: int, name: str) -> pa.ChunkedArray:
        """A column of a row group, decoded."""
        if self._file is None:
            self._stream = self._warehouse.open(self._path)
            self._file = pq.ParquetFile(self._stream, metadata=self._footer)
        return self._file.read_row_group(group, columns=[name]).column(0)


class _Group:
    """One row group of a file: its columns, as they are kept or can be read."""

    def __init__(self, reader: _Reader, columns: Columns, path: str, group: int) -> None:
        self._reader, self._columns, self._path, self._group = reader, columns, path, group

    def column(self, name: str) -> Packed:
        """A column."""
        part = Part(self._path, self._group, name)
        return self._columns.column(part, lambda: self._reader.column(self._group, name))

    def search(self, name: str, wanted: _Wanted) -> _Search | None:
        """Where values stand in a column's order, if it was looked into before."""
        part = Part(self._path, self._group, name)
        if not self._columns.has(part):
            return None
        _, numbers = wanted.stored_as(self.column(name).kind)
        if numbers is None or (order := self._columns.order(part)) is None:
            return None
        return _Search(order, *order.runs(numbers))

    def has(self, name: str, wanted: _Wanted, places: np.ndarray | None = None) -> np.ndarray:
        """Whether a column has one of the values, in all rows or at some."""
        column = self.column(name)
        values, _ = wanted.stored_as(column.kind)
        return column.has(values, places)


def _among(places: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Which places are among some, ascending and at least one."""
    at = np.minimum(np.searchsorted(some, places), len(some) - 1)
    found: np.ndarray = some[at] == places
    return found


def _damaged(file: FileRef, error: Exception) -> Damaged:
    return Damaged(f"the file {file.path} can't be read", detail=str(error).splitlines()[0][:300])


LOOKED_UP_ROWS, FEW = 20_000, 20
"""From so many stored rows on they are looked up, if at most one of so many goes."""
