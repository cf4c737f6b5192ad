"""Position delete files: which rows of which data files are deleted.

Iceberg's form: rows of file path and position, sorted. A version of a table that we write has one at
most: a write that deletes more rows writes one with all of them, and the older one is no longer listed.
So readers open one small file more, however often rows were deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, StringType

from anabranch.bounded_cache import Cache
from anabranch.iceberg.parquet_files import FileRef, read_file, write_parquet
from anabranch.iceberg.warehouse import Warehouse

if TYPE_CHECKING:
    from anabranch.engine.base import FileWithDeletes

# Iceberg reserves these names and ids.
_PATH, _PATH_ID = "file_path", 2147483546
_PLACE, _PLACE_ID = "pos", 2147483545
_SCHEMA = pa.schema(
    [
        pa.field(_PATH, pa.string(), nullable=False, metadata={"PARQUET:field_id": str(_PATH_ID)}),
        pa.field(_PLACE, pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(_PLACE_ID)}),
    ]
)
_NONE = np.empty(0, dtype=np.int64)
KEPT = 4_000_000
"""How many position deletes are cached."""

Marks = Mapping[str, np.ndarray]
"""The deleted positions per data file, ascending, each once."""


@dataclass(frozen=True)
class DeleteFile:
    """A position delete file that was written, and how Iceberg enters it."""

    path: str
    entry: DataFile = field(repr=False, compare=False)


def write_delete_file(warehouse: Warehouse, marks: Marks, path: str) -> DeleteFile:
    """Write position deletes, at least one, as a delete file."""
    files = sorted(marks)
    numbers = np.repeat(np.arange(len(files), dtype=np.int32), [len(marks[file]) for file in files])
    places = np.concatenate([np.sort(marks[file]) for file in files])
    named = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(files, pa.string()))
    rows = pa.table([named.cast(pa.string()), pa.array(places, pa.int64())], schema=_SCHEMA)
    size, _ = write_parquet(warehouse, rows, path)
    bounds = [
        {
            _PATH_ID: to_bytes(StringType(), files[end]),
            _PLACE_ID: to_bytes(LongType(), int(outermost(places))),
        }
        for end, outermost in ((0, np.min), (-1, np.max))
    ]
    entry = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=size,
        # Paths are never truncated: where both bounds are the same, all deletes are in that one file.
        lower_bounds=bounds[0],
        upper_bounds=bounds[1],
        sort_order_id=None,
        spec_id=0,
        equality_ids=None,
        key_metadata=None,
    )
    return DeleteFile(path, entry)


def read_delete_file(warehouse: Warehouse, path: str) -> Marks:
    """The position deletes of a delete file; data files among them may no longer exist."""
    rows = read_file(warehouse, path, [_PATH, _PLACE]).combine_chunks()
    if not rows.num_rows:
        return {}
    named = rows[_PATH].combine_chunks().cast(pa.string()).dictionary_encode()
    numbers = named.indices.to_numpy()
    places = rows[_PLACE].to_numpy()
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers))[:-1]
    parts = np.split(places[order], ends)
    return {file: np.unique(part) for file, part in zip(named.dictionary.to_pylist(), parts, strict=True)}


def delete_file_cache() -> Cache[Marks]:
    """A cache for the contents of delete files, which never change."""
    return Cache(KEPT, weigh=lambda marks: sum(map(len, marks.values())))


class DeletedPositions:
    """Reads the position deletes of data files. A delete file is read once for all that share a cache."""

    def __init__(self, warehouse: Warehouse, kept: Cache[Marks] | None = None) -> None:
        self._warehouse = warehouse
        self._kept = delete_file_cache() if kept is None else kept

    def read_positions(self, file: FileWithDeletes) -> np.ndarray:
        """The deleted positions of a file, ascending, each once."""
        found = [self._read_delete_file(path).get(file.path, _NONE) for path in file.deletes]
        return found[0] if len(found) == 1 else union_positions(found)

    def _read_delete_file(self, path: str) -> Marks:
        return self._kept.get(path, lambda: read_delete_file(self._warehouse, path))


def union_positions(positions: list[np.ndarray]) -> np.ndarray:
    """Positions of several lists, ascending, each once."""
    return np.unique(np.concatenate([_NONE, *positions]))


def read_merged_positions(
    warehouse: Warehouse, files: Mapping[str, FileRef], more: Mapping[str, Sequence[int]]
) -> Marks:
    """The position deletes of some files, together with `more`."""
    deleted = DeletedPositions(warehouse)
    marked = sorted(path for path, file in files.items() if file.deletes or path in more)
    return {
        path: union_positions(
            [deleted.read_positions(files[path]), np.asarray(more.get(path, _NONE), dtype=np.int64)]
        )
        for path in marked
    }


def file_with_deletes(file: FileRef, marks: np.ndarray, deletes: str) -> FileRef:
    """A file with these position deletes, all in one delete file."""
    rows = file.rows + file.marked - len(marks)
    return replace(file, rows=rows, deletes=(deletes,), marked=len(marks))
