"""The peer: DuckDB computes a query from nothing, over the files that are the lake's tables right now."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb
import sqlglot

import anabranch as ab
from anabranch.names import TableName
from anabranch.read.view import live_files
from bench.harness import timed


def opened(lake: ab.Lake, tables: Iterable[str]) -> duckdb.DuckDBPyConnection:
    """A connection that reads the lake's newest files under the names of their tables."""
    connection = duckdb.connect()
    moment = lake._parts.catalog.moment()
    for table in tables:
        paths = [file.path for file in live_files(lake._parts, moment.version(TableName.parse(table)))]
        connection.read_parquet([path.removeprefix("file://") for path in paths]).create_view(table)
    return connection


def translated(text: str) -> str:
    """A query of Spark's in DuckDB's words."""
    (statement,) = sqlglot.transpile(text, read="spark", write="duckdb")
    return statement


def computed(connection: duckdb.DuckDBPyConnection, text: str, file: Path) -> tuple[float, int]:
    """Compute a query of Spark's and store its rows, as ours does; the seconds, and how many rows."""
    statement = translated(text)
    seconds = timed(lambda: connection.sql(statement).write_parquet(str(file), compression="zstd"))
    return seconds, int(connection.read_parquet(str(file)).count("*").fetchall()[0][0])
