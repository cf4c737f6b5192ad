"""How many values a column can have at most, by the bounds that Iceberg keeps of every data file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anabranch.iceberg.parquet_files import FileRef, Layout
from anabranch.schema import Atomic, Schema

COUNTABLE = frozenset(map(Atomic, ("tinyint", "smallint", "int", "bigint", "date")))
"""Types whose bounds are whole numbers: between two of them there are so many values."""
MOST_FILES = 500
"""Bounds of more files take longer to read than they help."""


def count_possible_values(files: Iterable[FileRef], schema: Schema, layout: Layout) -> Mapping[str, int]:
    """For columns of whole numbers and dates, the number of values from the lowest to the highest."""
    known = list(files)
    if not known or len(known) > MOST_FILES:
        return {}
    found: dict[str, int] = {}
    for column in schema:
        field = layout.field_ids.get(column.name)
        if field is None or column.type not in COUNTABLE:
            continue
        lows = [_read_bound(file.entry.lower_bounds, field) for file in known]
        highs = [_read_bound(file.entry.upper_bounds, field) for file in known]
        low = [value for value in lows if value is not None]
        high = [value for value in highs if value is not None]
        if len(low) == len(high) == len(known):
            found[column.name] = max(1, max(high) - min(low) + 1)
    return found


def _read_bound(bounds: Mapping[int, bytes] | None, field: int) -> int | None:
    """A bound of whole numbers, as Iceberg writes them."""
    value = None if bounds is None else bounds.get(field)
    return None if value is None else int.from_bytes(value, "little", signed=True)
