"""How many values a column can have at most, by the lowest and highest ones in the footers of its files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping

import pyarrow.parquet as pq

from anabranch.schema import Atomic, Schema

COUNTABLE = frozenset(map(Atomic, ("tinyint", "smallint", "int", "bigint", "date")))
"""Between two values of these types there are so many."""
MOST_FILES = 50
"""Footers of more files take longer to read than they help."""
MOST_ROW_GROUPS = 500


def count_possible_values(footers: Iterable[pq.FileMetaData], schema: Schema) -> Mapping[str, int]:
    """For columns of whole numbers and dates, the number of values from the lowest to the highest."""
    known = list(footers)
    if not known or sum(footer.num_row_groups for footer in known) > MOST_ROW_GROUPS:
        return {}
    wanted = {column.name.lower(): column.name for column in schema if column.type in COUNTABLE}
    bounds: dict[str, list[int]] = {name: [] for name in wanted.values()}
    for footer in known:
        places = {footer.schema.column(place).path.lower(): place for place in range(footer.num_columns)}
        for key, name in list(wanted.items()):
            found = _read_bounds(footer, places[key]) if key in places else None
            if found is None:
                del wanted[key], bounds[name]
            else:
                bounds[name] += found
    return {name: max(found) - min(found) + 1 for name, found in bounds.items() if found}


def _read_bounds(footer: pq.FileMetaData, place: int) -> list[int] | None:
    """The lowest and highest values of a column in each row group; None if one of them doesn't say."""
    found: list[int] = []
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(place).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        found += [_as_number(statistics.min), _as_number(statistics.max)]
    return found


def _as_number(value: int | dt.date) -> int:
    return value.toordinal() if isinstance(value, dt.date) else int(value)
