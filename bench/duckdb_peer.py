"""The peer: DuckDB computes a query from nothing, over files with the rows of the lake's tables right now.

It reads what is marked in files as a join, without knowing how many rows that leaves, and then plans some
queries badly enough to fill a disk. So it is given files without marks, written before it is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import sqlglot

import anabranch as ab
from anabranch.iceberg.parquet_files import FileRef
from anabranch.iceberg.position_deletes import DeletedPositions
from anabranch.names import TableName
from anabranch.read.scan_tables import list_live_files
from bench.harness import measure_seconds


def open_connection(
    lake: ab.Lake, tables: Iterable[str], folder: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection that reads the lake's newest rows under the names of their tables.

    `folder`: where tables with marks are written to without them.
    """
    connection = duckdb.connect()
    lake_version = lake._context.catalog.lake_version()
    for table in tables:
        files = list_live_files(lake._context, lake_version.version(TableName.parse(table)))
        _create_view(connection, table, files, DeletedPositions(lake._context.warehouse))
        if folder is not None and any(file.marked for file in files):
            path = str(folder / f"{table}.parquet")
            connection.table(table).write_parquet(path, compression="zstd")
            connection.execute(f"DROP VIEW {table}")
            connection.read_parquet(path).create_view(table)
    return connection


def _create_view(
    connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[FileRef], deleted: DeletedPositions
) -> None:
    """Name the rows of files, but those that are marked as gone."""
    paths = [_local_path(file) for file in files]
    if not any(file.marked for file in files):
        connection.read_parquet(paths).create_view(table)
        return
    positions = {_local_path(file): deleted.read_positions(file) for file in files}
    marks = {
        "marked_in": [path for path, found in positions.items() for _ in found],
        "marked_at": np.concatenate(list(positions.values())),
    }
    connection.register(f"{table}_marks", pa.table(marks))
    connection.read_parquet(paths, filename=True, file_row_number=True).create_view(f"{table}_files")
    connection.execute(
        f"CREATE VIEW {table} AS SELECT * EXCLUDE (filename, file_row_number) FROM {table}_files "
        f"ANTI JOIN {table}_marks ON filename = marked_in AND file_row_number = marked_at"
    )


def _local_path(file: FileRef) -> str:
    return file.path.removeprefix("file://")


def to_duckdb_sql(text: str) -> str:
    """A query of Spark's in DuckDB's words."""
    (statement,) = sqlglot.transpile(text, read="spark", write="duckdb")
    return statement


def measure_query(connection: duckdb.DuckDBPyConnection, text: str, file: Path) -> tuple[float, int]:
    """Compute a query of Spark's and store its rows, as ours does; the seconds, and how many rows."""
    statement = to_duckdb_sql(text)
    seconds = measure_seconds(lambda: connection.sql(statement).write_parquet(str(file), compression="zstd"))
    return seconds, int(connection.read_parquet(str(file)).count("*").fetchall()[0][0])
