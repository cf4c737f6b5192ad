"""Rows as bags, read past the lake: Parquet files with plain Arrow, weights added up by hand."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import anabranch as ab
from anabranch.errors import UnknownTable
from anabranch.iceberg.change_files import ChangeFile
from anabranch.iceberg.parquet_files import FileRef
from anabranch.names import TableName
from anabranch.read.scan_tables import list_change_files, list_live_files
from anabranch.streams.versions import TableVersion

Bag = Counter[tuple[Any, ...]]


def bag(*rows: tuple[Any, ...]) -> Bag:
    return Counter(rows)


def bag_of(table: pa.Table) -> Bag:
    """An Arrow table's rows."""
    columns = [column.to_pylist() for column in table.columns]
    return Counter(zip(*columns, strict=True))


def read(lake: ab.Lake, name: str, as_of: int | None = None) -> Bag:
    """What the lake says a table holds."""
    return bag_of(lake.arrow(name, as_of=as_of))


def version_at(lake: ab.Lake, name: str, lsn: int) -> TableVersion:
    return lake._context.catalog.lake_version(lsn).version(TableName.parse(name))


def contents(lake: ab.Lake, version: TableVersion, columns: tuple[str, ...]) -> Bag:
    """A version's rows, from its files, in the given columns."""
    found: Bag = Counter()
    for file in list_live_files(lake._context, version):
        found.update(_live(file, columns))
    return found


def changes(lake: ab.Lake, before: TableVersion | None, after: TableVersion) -> Bag:
    """What leads from one version to another, from the pieces of the change, consolidated."""
    found: Bag = Counter()
    for piece in list_change_files(lake._context, before, after):
        rows = _live(piece, after.schema.names)
        match piece.sign:
            case "+":
                found.update(rows)
            case "-":
                found.subtract(rows)
            case _:
                for row, (weight,) in zip(rows, _rows(piece.path, ("__weight",)), strict=True):
                    found[row] += weight
    return _consolidated(found)


def check_history(lake: ab.Lake, name: str, *, neighbours: bool = False) -> list[int]:
    """contents(a) + changes(a, b) = contents(b) for all a < b; the lsns of the table's versions.

    With `neighbours`, for histories too long for all pairs: only from each version to the next.
    """
    versions: list[TableVersion] = []
    newest = lake._context.catalog.lake_version()
    for lsn in range(newest.floor_lsn, newest.lsn + 1):
        try:
            version = version_at(lake, name, lsn)
        except UnknownTable:
            continue
        if not versions or (versions[-1].table_id, versions[-1].lsn) != (version.table_id, version.lsn):
            versions.append(version)
    for after in versions:
        held = contents(lake, after, after.schema.names)
        assert held == read(lake, name, max(after.lsn, newest.floor_lsn)), f"{name} at {after.lsn}"
        assert held.total() == after.rows, f"{name} at {after.lsn} counts {after.rows} rows"
        if after is versions[-1] or not neighbours:
            assert changes(lake, None, after) == held, f"{name} from nothing to {after.lsn}"
    pairs = itertools.pairwise(versions) if neighbours else itertools.combinations(versions, 2)
    for before, after in pairs:
        if before.table_id == after.table_id:
            base = contents(lake, before, after.schema.names)
            base.update(changes(lake, before, after))
            wanted = contents(lake, after, after.schema.names)
            assert _consolidated(base) == wanted, f"{name} from {before.lsn} to {after.lsn}"
    return [version.lsn for version in versions]


def _consolidated(weighted: Bag) -> Bag:
    return Counter({row: weight for row, weight in weighted.items() if weight})


def _live(file: FileRef | ChangeFile, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """A file's rows but those that delete files mark as gone."""
    marked = {
        place for path in file.deletes for named, place in _delete_file_rows(path) if named == file.path
    }
    return [row for place, row in enumerate(_rows(file.path, columns)) if place not in marked]


@lru_cache(maxsize=500)
def _delete_file_rows(path: str) -> list[tuple[Any, ...]]:
    return _rows(path, ("file_path", "pos"))


@lru_cache(maxsize=5000)
def _rows(path: str, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """A file's rows; a column that it lacks is NULL, one that isn't asked for is left out."""
    table = pq.read_table(path.removeprefix("file://"))
    values = [
        table[name].to_pylist() if name in table.column_names else [None] * table.num_rows for name in columns
    ]
    return list(zip(*values, strict=True))
