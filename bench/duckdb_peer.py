"""The peer: DuckDB computes a query from nothing, over files with the rows of the lake's tables right now.

It reads position deletes as a join, without knowing how many rows that leaves, and then plans some queries
badly enough to fill a disk. So it is given files without them, written before it is measured.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import duckdb
import sqlglot

import anabranch as ab
from anabranch.iceberg.position_deletes import DeletedPositions
from bench.clean_tables import create_view, live_files, write_clean_tables
from bench.harness import measure_seconds


def open_connection(
    lake: ab.Lake, tables: Collection[str], folder: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection that reads the lake's newest rows under the names of their tables.

    `folder`: where tables with position deletes are written to without them.
    """
    connection = duckdb.connect()
    clean = {} if folder is None else write_clean_tables(lake, tables, folder)
    for table in tables:
        if table in clean:
            connection.read_parquet(clean[table]).create_view(table)
        else:
            create_view(connection, table, live_files(lake, table), DeletedPositions(lake._context.warehouse))
    return connection


def to_duckdb_sql(text: str) -> str:
    """A query of Spark's in DuckDB's words."""
    (statement,) = sqlglot.transpile(text, read="spark", write="duckdb")
    return statement


def measure_query(connection: duckdb.DuckDBPyConnection, text: str, file: Path) -> tuple[float, int]:
    """Compute a query of Spark's and store its rows, as ours does; the seconds, and how many rows."""
    statement = to_duckdb_sql(text)
    seconds = measure_seconds(lambda: connection.sql(statement).write_parquet(str(file), compression="zstd"))
    return seconds, int(connection.read_parquet(str(file)).count("*").fetchall()[0][0])
