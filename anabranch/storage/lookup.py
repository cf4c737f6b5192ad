"""Looking rows up in files by the values of some columns, without an engine.

Only the columns of the keys are read of everything; the others where a row was found, by row groups. What
footers say about a row group's lowest and highest value spares reading it at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anabranch.errors import Damaged
from anabranch.here.kinds import Elsewhere
from anabranch.schema import Schema
from anabranch.storage.deletes import Deleted
from anabranch.storage.files import FileRef
from anabranch.storage.scan import declared_rows
from anabranch.storage.types import to_arrow
from anabranch.storage.warehouse import Warehouse

Keys = Mapping[str, pa.Array]
"""The values that are looked up, by column; a row needs one of each column's."""
FILES = 1_000
"""Files that are looked into at most."""


def look_up(
    warehouse: Warehouse,
    files: Sequence[FileRef],
    schema: Schema,
    keys: Keys,
    *,
    deleted: Deleted,
    rows: int,
    size: int,
) -> pa.Table | None:
    """The live rows whose columns have values among the keys, in declared types.

    None if more than `size` bytes of Parquet would have to be read for it, or more than `rows` were found.
    """
    if len(files) > FILES:
        return None
    declared = to_arrow(schema)
    found: list[pa.Table] = []
    count = 0
    for file in files:
        try:
            with warehouse.open(file.path) as stream:
                opened = _File(pq.ParquetFile(stream), declared, keys)
                size -= opened.size
                if size < 0:
                    return None
                parts = opened.matches(deleted.positions(file))
        except (OSError, pa.ArrowException) as error:
            why = str(error).splitlines()[0][:300]
            raise Damaged(f"the file {file.path} can't be read", detail=why) from error
        count += sum(part.num_rows for part in parts)
        if count > rows:
            return None
        found += [declared_rows(part, declared) for part in parts]
    return pa.concat_tables(found) if found else declared.empty_table()


class _File:
    """One file, open."""

    def __init__(self, file: pq.ParquetFile, declared: pa.Schema, keys: Keys) -> None:
        self._file, self._keys = file, keys
        names = {name.lower(): name for name in file.schema_arrow.names}
        self._columns = [names[name.lower()] for name in declared.names if name.lower() in names]
        self._named = {names[name.lower()]: name for name in keys if name.lower() in names}
        # A column that an older file lacks is NULL in all of it.
        self._never = any(
            name.lower() not in names and not values.null_count for name, values in keys.items()
        )
        meta = file.metadata
        self._numbers = {meta.schema.column(i).path: i for i in range(meta.num_columns)}

    @property
    def size(self) -> int:
        """Bytes of the columns that are read."""
        meta = self._file.metadata
        wanted = [self._numbers[name] for name in self._columns if name in self._numbers]
        return sum(
            meta.row_group(group).column(number).total_compressed_size
            for group in range(meta.num_row_groups)
            for number in wanted
        )

    def matches(self, marked: np.ndarray) -> list[pa.Table]:
        """The rows that are looked up, but those that are marked as gone."""
        found: list[pa.Table] = []
        start = 0
        for group in range(self._file.metadata.num_row_groups):
            rows = self._file.metadata.row_group(group).num_rows
            part = self._group(group, marked[(marked >= start) & (marked < start + rows)] - start)
            start += rows
            if part is not None:
                found.append(part)
        return found

    def _group(self, group: int, marked: np.ndarray) -> pa.Table | None:
        if self._never or not all(self._may_have(group, *pair) for pair in self._named.items()):
            return None
        keyed = self._file.read_row_group(group, columns=list(self._named))
        stays = np.ones(keyed.num_rows, dtype=bool)
        stays[marked] = False
        for own, name in self._named.items():
            column, values = keyed.column(own), self._keys[name]
            mask = pc.is_in(column, value_set=_stored_as(values, column.type))
            stays &= mask.to_numpy()
        if not stays.any():
            return None
        others = [name for name in self._columns if name not in self._named]
        chosen = pa.array(np.flatnonzero(stays))
        kept = keyed.take(chosen)
        if others:
            more = self._file.read_row_group(group, columns=others).take(chosen)
            for name in others:
                kept = kept.append_column(name, more.column(name))
        return kept

    def _may_have(self, group: int, own: str, name: str) -> bool:
        """Whether a row group may have one of the values, as far as its statistics say."""
        statistics = self._file.metadata.row_group(group).column(self._numbers[own]).statistics
        values = self._keys[name]
        if statistics is None or not statistics.has_min_max or values.null_count:
            return True
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_date(kind)):
            return True
        inside = pc.and_(
            pc.greater_equal(values, pa.scalar(statistics.min, kind)),
            pc.less_equal(values, pa.scalar(statistics.max, kind)),
        )
        return bool(pc.any(inside).as_py())


def _stored_as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values in the type that a file has, which may be an older one of its column."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid as error:
        raise Elsewhere("values that a file can't have") from error
