"""The stored rows that incoming rows may match, looked up by their keys."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engine.local.columns import Columns
from anabranch.engine.local.kinds import Elsewhere
from anabranch.engine.local.lookup import Finder, Found, Limits, TooMuch
from anabranch.iceberg.parquet_files import FileRef
from anabranch.iceberg.position_deletes import DeletedPositions
from anabranch.iceberg.read_rows import to_declared_columns
from anabranch.iceberg.type_mapping import to_arrow
from anabranch.iceberg.warehouse import Warehouse
from anabranch.names import FILE, POSITION
from anabranch.schema import Schema

_EXACT = (
    pa.types.is_signed_integer,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_binary,
)
"""Types in which values are equal where their bytes are: 0.0 and -0.0 are equal, and have others."""


def look_for_matches(
    warehouse: Warehouse,
    columns: Columns,
    files: Sequence[FileRef],
    schema: Schema,
    incoming: pa.Table,
    keys: Sequence[str],
    limits: Limits,
) -> pa.Table | None:
    """Every stored row that agrees in all keys with an incoming one, and maybe others, each with its file and
    position; None if that is too much. A NULL agrees with nothing."""
    values = {key: pc.unique(incoming[key]).drop_null() for key in keys if is_exact(incoming[key].type)}
    if not values:
        return None
    declared = to_arrow(schema)
    finder = Finder(warehouse, columns, declared.names, values, DeletedPositions(warehouse, columns.marks))
    try:
        found = [_placed(part, declared) for part in finder.found(files, limits)]
    except (TooMuch, Elsewhere):
        return None
    nothing = declared.append(pa.field(FILE, pa.string())).append(pa.field(POSITION, pa.int64()))
    return pa.concat_tables([nothing.empty_table(), *found])


def sent_bytes(incoming: pa.Table, keys: Sequence[str]) -> int:
    """How many bytes the keys of incoming rows take."""
    return int(incoming.select(list(keys)).nbytes)


def is_exact(kind: pa.DataType) -> bool:
    """Whether values of a type are equal where their bytes are."""
    return any(holds(kind) for holds in _EXACT)


def _placed(part: Found, declared: pa.Schema) -> pa.Table:
    count = len(part.positions)
    rows = to_declared_columns(part.rows, declared)
    rows = rows.append_column(FILE, pa.repeat(pa.scalar(part.file.path, pa.string()), count))
    return rows.append_column(POSITION, pa.array(part.positions, pa.int64()))
