"""Parquet files of a table: written with Arrow, or taken over from Spark by their footers.

Readers don't see a file before an Iceberg snapshot lists it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.typedef import Record

from anabranch.errors import Damaged, InvalidValue
from anabranch.iceberg.type_mapping import stored_arrow_schema
from anabranch.iceberg.warehouse import Warehouse
from anabranch.names import FILE, POSITION, WEIGHT
from anabranch.paths import normalise_path

if TYPE_CHECKING:
    from anabranch.engine.base import FileWithDeletes

COMPRESSION = "zstd"
ROWS_PER_FILE = 5_000_000


@dataclass(frozen=True)
class FileRef:
    """A live data file: its path, the number of its live rows, its size."""

    path: str
    rows: int
    size: int
    entry: DataFile = field(repr=False, compare=False)
    deletes: tuple[str, ...] = ()
    """Its position delete files."""
    marked: int = 0
    """How many rows they delete: the file has those beside `rows`."""


@dataclass(frozen=True)
class Layout:
    """How a table's files are written: Arrow schema, field ids, and which statistics are kept."""

    arrow: pa.Schema
    field_ids: Mapping[str, int]
    _statistics: Mapping[int, Any] = field(repr=False)
    _paths: Mapping[str, int] = field(repr=False)

    @classmethod
    def from_schema(cls, schema: IcebergSchema) -> Layout:
        """The layout of a table with this Iceberg schema."""
        return cls(
            arrow=stored_arrow_schema(schema),
            field_ids={column.name: column.field_id for column in schema.fields},
            _statistics=compute_statistics_plan(schema, {}),
            _paths=parquet_path_to_id_mapping(schema),
        )

    def file_ref(self, path: str, size: int, footer: pq.FileMetaData) -> FileRef:
        """A file as Iceberg enters it: row count, sizes and bounds from the Parquet footer."""
        try:
            statistics = data_file_statistics_from_parquet_metadata(
                parquet_metadata=footer,
                stats_columns=dict(self._statistics),
                parquet_column_mapping=dict(self._paths),
            )
        except UnicodeDecodeError as error:
            raise InvalidValue(
                "a text is not valid UTF-8", detail="bytes were cast to STRING.", hint="store them as BINARY."
            ) from error
        except OverflowError as error:
            # The bounds of a column are worked out in Python, whose time ends with the year 9999.
            raise InvalidValue("a date or a time lies before the year 1 or after the year 9999") from error
        entry = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(),
            file_size_in_bytes=size,
            sort_order_id=None,
            spec_id=0,
            equality_ids=None,
            key_metadata=None,
            **statistics.to_serialized_dict(),
        )
        return FileRef(path, footer.num_rows, size, entry)


def write_rows(warehouse: Warehouse, rows: pa.Table, layout: Layout, folder: str, name: str) -> list[FileRef]:
    """Write rows (in declared types) as data files below `folder`; no rows, no file."""
    stored = rows.cast(layout.arrow) if rows.num_rows else rows
    found = []
    for number, start in enumerate(range(0, rows.num_rows, ROWS_PER_FILE)):
        path = f"{folder}/{name}-{number}.parquet"
        found.append(_write_data_file(warehouse, stored.slice(start, ROWS_PER_FILE), layout, path))
    return found


def write_change_file(warehouse: Warehouse, rows: pa.Table, folder: str) -> list[str]:
    """Write weighted rows as a change file below `folder`; no rows, no file."""
    path = f"{folder}/rows.parquet"
    if rows.num_rows:
        write_parquet(warehouse, rows, path)
    return [path] if rows.num_rows else []


def _write_data_file(warehouse: Warehouse, rows: pa.Table, layout: Layout, path: str) -> FileRef:
    size, footer = write_parquet(warehouse, rows, path)
    return layout.file_ref(path, size, footer)


def write_parquet(warehouse: Warehouse, rows: pa.Table, path: str) -> tuple[int, pq.FileMetaData]:
    """Write a Parquet file; its size and footer."""
    with warehouse.filesystem().open_output_stream(_create_parent_folder(warehouse, path)) as stream:
        # Spark looks up NULLs inside lists and maps in the dictionary, which is empty if all are NULL.
        flat = [field.name for field in rows.schema if not pa.types.is_nested(field.type)]
        writer = pq.ParquetWriter(
            stream,
            rows.schema,
            compression=COMPRESSION,
            store_decimal_as_integer=True,
            use_dictionary=flat or False,
        )
        writer.write_table(rows)
        writer.close()
        size = stream.tell()
    return size, writer.writer.metadata


def _create_parent_folder(warehouse: Warehouse, path: str) -> str:
    inner = warehouse.inner_path(path)
    if warehouse.uri.startswith("file:"):
        warehouse.filesystem().create_dir(inner.rpartition("/")[0], recursive=True)
    return inner


def list_written_files(warehouse: Warehouse, folder: str, layout: Layout) -> list[FileRef]:
    """The data files that Spark wrote into `folder`; files without rows don't count."""
    found = []
    for path, size in _list_parquet_files(warehouse, folder):
        with warehouse.open(path) as stream:
            footer = pq.read_metadata(stream)
        if footer.num_rows:
            found.append(layout.file_ref(path, size, footer))
    return found


def list_written_changes(warehouse: Warehouse, folder: str) -> list[str]:
    """The change files that Spark wrote into `folder`; files without rows don't count."""
    found = []
    for path, _ in _list_parquet_files(warehouse, folder):
        with warehouse.open(path) as stream:
            if pq.read_metadata(stream).num_rows:
                found.append(path)
    return found


def _list_parquet_files(warehouse: Warehouse, folder: str) -> list[tuple[str, int]]:
    found = ((file.path, file.size) for file in warehouse.list_files(folder))
    return sorted(
        (path, size)
        for path, size in found
        if path.endswith(".parquet") and not path.rpartition("/")[2].startswith((".", "_"))
    )


def read_file(warehouse: Warehouse, path: str, columns: list[str] | None = None) -> pa.Table:
    """A Parquet file's rows; a missing or broken file is `Damaged`."""
    try:
        with warehouse.open(path) as stream:
            return pq.ParquetFile(stream).read(columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise Damaged(f"the file {path} can't be read", detail=str(error).splitlines()[0][:300]) from error


def read_row_count(warehouse: Warehouse, path: str) -> int:
    """How many rows a Parquet file has; its footer knows."""
    return int(read_footer(warehouse, path).num_rows)


def read_footer(warehouse: Warehouse, path: str) -> pq.FileMetaData:
    """A Parquet file's footer; a missing or broken file is `Damaged`."""
    try:
        with warehouse.open(path) as stream:
            return pq.read_metadata(stream)
    except (OSError, pa.ArrowException) as error:
        raise Damaged(f"the file {path} can't be read", detail=str(error).splitlines()[0][:300]) from error


def count_column_bytes(footer: pq.FileMetaData, columns: Collection[str]) -> int:
    """How many bytes some columns take in a Parquet file, whatever the case of their names."""
    wanted = {name.lower() for name in columns}
    chunks = (
        footer.row_group(group).column(number)
        for group in range(footer.num_row_groups)
        for number in range(footer.num_columns)
    )
    return sum(
        chunk.total_compressed_size
        for chunk in chunks
        if chunk.path_in_schema.partition(".")[0].lower() in wanted
    )


def check_files(warehouse: Warehouse, files: Iterable[FileWithDeletes]) -> None:
    """Check that files exist and have the size they were written with, where that is known.

    Call this before Spark reads them, which reads an empty file as one without rows. On an object
    store each check is a request, and files there don't get truncated: it is left out.
    """
    if not warehouse.uri.startswith("file:"):
        return
    sizes: dict[str, int | None] = {}
    for file in files:
        sizes[file.path] = file.size if isinstance(file, FileRef) else None
        sizes.update(dict.fromkeys(file.deletes))
    for (path, expected), found in zip(sizes.items(), warehouse.read_sizes(list(sizes)), strict=True):
        if not found or found != (expected or found):
            why = f"it has {found or 0} bytes instead of {expected or 'some'}."
            raise Damaged(f"the file {path} is not the one that was written", detail=why)


@dataclass(frozen=True)
class Removal:
    """The rows that change files delete, by data file."""

    positions: Mapping[str, pa.Array]
    rows: int = 0
    """How many weighted rows the change has in all."""
    removed: int = 0
    size: int = 0
    """Bytes of the change files."""
    duplicated: bool = False
    """Whether one row is named twice: several incoming rows claimed it."""


def read_removed_positions(warehouse: Warehouse, changes: Sequence[str]) -> Removal:
    """The positions that change files delete, per data file."""
    if not changes:
        return Removal({})
    together = pa.concat_tables(read_file(warehouse, path, [WEIGHT, FILE, POSITION]) for path in changes)
    gone = together.filter(pc.less(together[WEIGHT], 0)).select([FILE, POSITION]).combine_chunks()
    distinct = gone.group_by([FILE, POSITION]).aggregate([])
    return Removal(
        positions_by_file(gone),
        rows=together.num_rows,
        removed=gone.num_rows,
        size=sum(warehouse.read_size(path) for path in changes),
        duplicated=distinct.num_rows != gone.num_rows,
    )


def positions_by_file(rows: pa.Table) -> dict[str, pa.Array]:
    """From rows of file and position to the positions in each file."""
    return {
        normalise_path(path): rows.filter(pc.equal(rows[FILE], path))[POSITION].combine_chunks()
        for path in pc.unique(rows[FILE]).to_pylist()
    }


def has_duplicate_keys(warehouse: Warehouse, changes: Sequence[str], keys: Sequence[str]) -> bool:
    """Whether two rows that change files add agree in all keys, though no row that was there does.

    NULL agrees with nothing. Rows that were there may agree: one incoming row then changes them all.
    """
    if not changes:
        return False
    names = [*keys, WEIGHT]
    together = pa.concat_tables(read_file(warehouse, path, names) for path in changes)
    for place, kind in enumerate(together.schema.types):
        if pa.types.is_floating(kind):
            # 0.0 and -0.0 are equal, and their bytes are not.
            same = pc.add(together.column(place), pa.scalar(0.0, kind))
            together = together.set_column(place, together.column_names[place], same)
    groups = together.drop_null().group_by(list(keys)).aggregate([(WEIGHT, "min"), (WEIGHT, "count")])
    new = pc.greater(groups[f"{WEIGHT}_min"], 0)
    return bool(pc.any(pc.and_(new, pc.greater(groups[f"{WEIGHT}_count"], 1))).as_py())


def added_rows(change: pa.Table) -> pa.Table:
    """The rows that a change adds, each as often as its weight says."""
    come = change.filter(pc.greater(change[WEIGHT], 0))
    if pc.max(come[WEIGHT]).as_py() in (None, 1):
        return come
    return come.take(pa.array(np.repeat(np.arange(come.num_rows), come[WEIGHT].to_numpy())))


def count_added_rows(warehouse: Warehouse, change: str) -> int:
    """How many rows a change file adds, each as often as its weight says."""
    weights = read_file(warehouse, change, [WEIGHT])[WEIGHT].to_numpy()
    return int(weights[weights > 0].sum())


def to_stored_columns(rows: pa.Table, stored: pa.Schema) -> pa.Table:
    """Rows in the table's stored columns; a column that an older file lacks is NULL."""
    columns = [
        rows.column(field.name) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in stored
    ]
    return pa.table(columns, names=stored.names).cast(stored)
