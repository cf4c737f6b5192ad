"""What a commit costs: against bare pyiceberg, a bare Parquet write, and commits one by one."""

from __future__ import annotations

import itertools
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import anabranch as ab
from bench.harness import Report, Row, Size, compare, ratio_report

SCHEMA = "id BIGINT, region STRING, amount DECIMAL(12,2)"
FIVE = ("one", "two", "three", "four", "five")
BULK_ROWS = 2_000_000


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    with ab.connect(folder / "lake") as lake:
        rows = [
            measure_small_insert(lake, folder, size),
            measure_five_tables(lake, size),
            measure_bulk_insert(lake, folder, size),
        ]
    return ratio_report("commits", rows, size)


def measure_small_insert(lake: ab.Lake, folder: Path, size: Size) -> Row:
    """Ten rows, one commit; the peer appends the same Arrow data with pyiceberg alone."""
    data = pa.table(
        {"id": list(range(10)), "region": ["north"] * 10, "amount": [Decimal("9.99")] * 10},
        schema=pa.schema([("id", pa.int64()), ("region", pa.string()), ("amount", pa.decimal128(12, 2))]),
    )
    (folder / "bare").mkdir()
    catalog = SqlCatalog("bare", uri=f"sqlite:///{folder}/bare.db", warehouse=f"file://{folder}/bare")
    catalog.create_namespace("main")
    bare = catalog.create_table("main.orders", schema=data.schema)
    lake.create_table("orders", SCHEMA)
    return compare(
        "small insert, 10 rows",
        "bare pyiceberg append",
        ours=lambda: lake.insert("orders", data),
        theirs=lambda: bare.append(data),
        aim=1.5,
        rounds=size.measured_rounds(40),
        warmup=10,
    )


def measure_five_tables(lake: ab.Lake, size: Size) -> Row:
    """One transaction over five tables; the peer is five commits of one table each."""
    data = [{"id": 1, "region": "north", "amount": 1}]
    for name in FIVE:
        lake.create_table(name, SCHEMA)

    def insert_in_one_commit() -> None:
        with lake.transaction() as transaction:
            for name in FIVE:
                transaction.insert(name, data)

    def insert_in_five_commits() -> None:
        for name in FIVE:
            lake.insert(name, data)

    return compare(
        "transaction over five tables",
        "five single commits",
        ours=insert_in_one_commit,
        theirs=insert_in_five_commits,
        aim=1.0,
        rounds=size.measured_rounds(30),
        warmup=5,
    )


def measure_bulk_insert(lake: ab.Lake, folder: Path, size: Size) -> Row:
    """Two million rows from a Spark DataFrame; the peer is `df.write.parquet` of the same frame."""
    lake.create_table("bulk", SCHEMA)
    frame = lake.sql(
        f"SELECT id, concat('region-', id % 100) AS region, CAST(id % 10000 AS DECIMAL(12,2)) AS amount "
        f"FROM range({size.scale_count(BULK_ROWS)})"
    )
    numbers = itertools.count()
    return compare(
        f"bulk insert, {size.scale_count(BULK_ROWS):,} rows",
        "bare df.write.parquet",
        ours=lambda: lake.insert("bulk", frame),
        theirs=lambda: frame.write.option("compression", "zstd").parquet(
            f"file://{folder}/plain-{next(numbers)}"
        ),
        aim=1.3,
        rounds=size.measured_rounds(7),
        warmup=3,
    )
