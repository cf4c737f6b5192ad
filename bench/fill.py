"""The first fill of a stream table against Spark writing the same query to bare Parquet files."""

from __future__ import annotations

import itertools
from pathlib import Path

import anabranch as ab
from bench.harness import Report, Row, Size, compare, ratio_report
from tests.tpch.data import generate, load

QUERIES = {
    "fill, lines grouped": (
        "SELECT l_returnflag, l_linestatus, COUNT(*) AS n, SUM(l_extendedprice) AS total "
        "FROM lineitem GROUP BY l_returnflag, l_linestatus"
    ),
    "fill, lines joined with orders": (
        "SELECT l_orderkey, l_linenumber, l_extendedprice, o_orderdate, o_custkey "
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey"
    ),
}


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    generate(folder / "data", size.scale)
    with ab.connect(folder / "lake") as lake:
        load(lake, folder / "data")
        rows = [_measure_fill(lake, folder, name, size) for name in QUERIES]
    return ratio_report("fill", rows, size)


def _measure_fill(lake: ab.Lake, folder: Path, name: str, size: Size) -> Row:
    """Both read the same files; ours also commits."""
    query = QUERIES[name]
    frame = lake.sql(query)
    numbers = itertools.count()
    lake.create_stream_table("filled", query)

    def ours() -> None:
        lake.refresh_stream_table("filled", full=True)

    def theirs() -> None:
        frame.write.option("compression", "zstd").parquet(f"{folder}/bare/{len(name)}-{next(numbers)}")

    row = compare(
        name,
        "bare df.write.parquet",
        ours=ours,
        theirs=theirs,
        aim=1.3,
        rounds=size.measured_rounds(5),
        warmup=1,
    )
    lake.drop_stream_table("filled")
    return row
