"""The first fill of a stream table against Spark writing the same query to bare Parquet files."""

from __future__ import annotations

import itertools
from pathlib import Path

import anabranch as ab
from bench.harness import Row, compare
from tests.tpch.data import generate, load

QUERIES = {
    "fill, grouped": (
        "SELECT l_returnflag, l_linestatus, COUNT(*) AS n, SUM(l_extendedprice) AS total "
        "FROM lineitem GROUP BY l_returnflag, l_linestatus"
    ),
    "fill, joined, 6 million rows": (
        "SELECT l_orderkey, l_linenumber, l_extendedprice, o_orderdate, o_custkey "
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey"
    ),
}


def measure(folder: Path) -> list[Row]:
    """The rows of this topic."""
    generate(folder / "data", 1.0)
    with ab.connect(folder / "lake") as lake:
        load(lake, folder / "data")
        return [_fill(lake, folder, name, query) for name, query in QUERIES.items()]


def _fill(lake: ab.Lake, folder: Path, name: str, query: str) -> Row:
    """Both read the same files; ours also commits."""
    frame = lake.sql(query)
    numbers = itertools.count()
    lake.create_stream_table("filled", query)

    def ours() -> None:
        lake.refresh_stream_table("filled", full=True)

    def theirs() -> None:
        frame.write.option("compression", "zstd").parquet(f"{folder}/bare-{len(name)}-{next(numbers)}")

    row = compare(name, "bare df.write.parquet", ours=ours, theirs=theirs, aim=1.3, rounds=5, warmup=1)
    lake.drop_stream_table("filled")
    return row
