"""Rows that an upsert deleted came back where it had looked them up in files and the engine rewrote those.

Both name the file of a row, and Spark spells the path of a local file otherwise (`file:/…`, `file:///…`).
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import anabranch as ab

ROWS = 30_000
"""More than are read instead of looked up."""


def test_deleted_rows_stay_deleted(place: Path, spark: SparkSession) -> None:
    with ab.connect(place, spark=spark, driver_rewrite_bytes=0) as lake:
        lake.create_table("t", "id BIGINT, v BIGINT")
        lake.insert("t", pa.table({"id": pa.array(range(ROWS)), "v": pa.array(range(ROWS))}))
        gone = pa.table({"id": pa.array([5, 7]), "v": pa.array([0, 0]), "gone": pa.array([True, True])})
        lake.merge("t", gone, on=["id"], delete_when="gone")
        lake.merge("t", pa.table({"id": pa.array([6]), "v": pa.array([-6])}), on=["id"])
        rows = lake.arrow("t")
        assert rows.num_rows == ROWS - 2
        assert sorted(rows["id"].to_pylist())[:8] == [0, 1, 2, 3, 4, 6, 8, 9]
