"""A result of six million rows of which a thousand change here and there: differential against full."""

from __future__ import annotations

import itertools
from pathlib import Path

import anabranch as ab
from bench.harness import Report, Size, compare, report
from tests.tpch.data import generate, load

QUERY = (
    "SELECT l_orderkey, l_linenumber, l_quantity, l_extendedprice, o_orderdate, o_custkey, o_orderpriority "
    "FROM lineitem JOIN orders ON l_orderkey = o_orderkey"
)
UPDATED = 1_000
ROUNDS = 5


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    generate(folder / "data", size.scale)
    with ab.connect(folder / "lake") as lake:
        load(lake, folder / "data")
        orders = lake.tables()[[info.name for info in lake.tables()].index("orders")].rows
        lake.create_stream_table("wide", QUERY, refresh_mode="differential", schedule=None)
        lake.create_stream_table("again", QUERY, refresh_mode="full", schedule=None)
        numbers = itertools.count()

        def change() -> None:
            step, start = orders // UPDATED, next(numbers)
            lake.update(
                "orders", {"o_custkey": "o_custkey + 1"}, where=f"(o_orderkey + {start}) % {step * 4} = 0"
            )

        def refresh(name: str) -> None:
            lake.refresh_stream_table(name)

        row = compare(
            "6-million-row join, 1,000 orders changed",
            "full refresh",
            ours=lambda: refresh("wide"),
            theirs=lambda: refresh("again"),
            aim=0.1,
            rounds=size.times(ROUNDS),
            warmup=1,
            before=change,
        )
        assert lake.verify("wide").ok
    return report("wide", [row], size)
