"""The table that UPDATE, DELETE and MERGE change: its columns by name, and its hidden ones."""

from __future__ import annotations

from anabranch.errors import UnknownColumn, UnsupportedStatement
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.sql.parse import format_snippet

TARGET = "{target}"
SOURCE = "{source}"
ACTION, NEW, PICK = "__action", "__new_", "__pick_"
INSERT, DELETE, UPDATE = 1, 2, 3


def column_index(name: str, schema: Schema, table: TableName) -> int:
    """Which column of the table a name stands for."""
    column = schema.find(name) if isinstance(name, str) else None
    if column is not None:
        return schema.columns.index(column)
    if isinstance(name, str) and schema.find(name.partition(".")[0]) is not None:
        raise UnsupportedStatement(
            f"{format_snippet(name)} is a field inside a column",
            hint=f"assign the whole column: {name.partition('.')[0]} = named_struct(…).",
        )
    raise UnknownColumn(
        f'"{table}" has no column {format_snippet(str(name))}',
        hint="its columns are " + ", ".join(schema.names[:20]) + ".",
    )
