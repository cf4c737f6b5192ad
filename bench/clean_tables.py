"""The rows of the lake's tables right now, in files without position deletes.

DuckDB reads position deletes as a join and plans it badly; plain Spark can't read them at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import anabranch as ab
from anabranch.iceberg.parquet_files import FileRef
from anabranch.iceberg.position_deletes import DeletedPositions
from anabranch.names import TableName
from anabranch.read.scan_tables import list_live_files

ROW_GROUP_ROWS = 1_000_000


def write_clean_tables(lake: ab.Lake, tables: Iterable[str], folder: Path) -> Mapping[str, list[str]]:
    """The paths of each table's files; tables with several files, or deleted rows, are written as one."""
    found: dict[str, list[str]] = {}
    with duckdb.connect() as connection:
        for table in tables:
            files = live_files(lake, table)
            if len(files) == 1 and not files[0].marked:
                found[table] = [local_path(files[0])]
                continue
            create_view(connection, table, files, DeletedPositions(lake._context.warehouse))
            path = str(folder / f"{table}.parquet")
            connection.table(table).write_parquet(path, compression="zstd", row_group_size=ROW_GROUP_ROWS)
            found[table] = [path]
    return found


def live_files(lake: ab.Lake, table: str) -> Sequence[FileRef]:
    """The files of a table's newest version."""
    version = lake._context.catalog.lake_version().version(TableName.parse(table))
    return list_live_files(lake._context, version)


def create_view(
    connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[FileRef], deleted: DeletedPositions
) -> None:
    """Name the rows of files, but those that are deleted by position."""
    paths = [local_path(file) for file in files]
    if not any(file.marked for file in files):
        connection.read_parquet(paths).create_view(table)
        return
    positions = {local_path(file): deleted.read_positions(file) for file in files}
    rows = {
        "deleted_in": [path for path, found in positions.items() for _ in found],
        "deleted_at": np.concatenate(list(positions.values())),
    }
    connection.register(f"{table}_deletes", pa.table(rows))
    connection.read_parquet(paths, filename=True, file_row_number=True).create_view(f"{table}_files")
    connection.execute(
        f"CREATE VIEW {table} AS SELECT * EXCLUDE (filename, file_row_number) FROM {table}_files "
        f"ANTI JOIN {table}_deletes ON filename = deleted_in AND file_row_number = deleted_at"
    )


def local_path(file: FileRef) -> str:
    """The path of a file on this machine."""
    return file.path.removeprefix("file://")
