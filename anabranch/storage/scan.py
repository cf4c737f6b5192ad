"""A version's rows as one Arrow table, for results that fit into memory. Spark is not needed."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from anabranch.schema import Schema
from anabranch.storage.files import FileRef, read_data
from anabranch.storage.types import to_arrow
from anabranch.storage.warehouse import Warehouse


def read_rows(warehouse: Warehouse, files: Sequence[FileRef], schema: Schema) -> pa.Table:
    """The rows of data files, in declared types; a column that an older file lacks is NULL."""
    declared = to_arrow(schema)
    parts = [declared_rows(read_data(warehouse, file), declared) for file in files]
    return pa.concat_tables(parts) if parts else declared.empty_table()


def declared_rows(rows: pa.Table, declared: pa.Schema) -> pa.Table:
    """Stored rows in declared columns and types; a column that they lack is NULL."""
    present = {name.lower(): index for index, name in enumerate(rows.column_names)}
    columns = [
        rows.column(present[field.name.lower()])
        if field.name.lower() in present
        else pa.nulls(rows.num_rows, field.type)
        for field in declared
    ]
    return pa.table(columns, names=declared.names).cast(declared)
