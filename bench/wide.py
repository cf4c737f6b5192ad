"""A result of six million rows of which a thousand change here and there: differential against full."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

import anabranch as ab
from bench import duckdb_peer
from bench.harness import Report, Size, compare, ratio_report
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
        lake.create_stream_table("wide", QUERY, refresh_mode="differential", schedule=None)
        lake.create_stream_table("again", QUERY, refresh_mode="full", schedule=None)
        numbers = itertools.count()

        def change() -> None:
            listed = ", ".join(map(str, _read_order_keys(lake, next(numbers))))
            lake.update("orders", {"o_custkey": "o_custkey + 1"}, where=f"o_orderkey IN ({listed})")

        def refresh(name: str) -> None:
            record = lake.refresh_stream_table(name)
            assert record.rows_inserted >= UPDATED, record

        row = compare(
            "lines joined with orders, 1,000 orders changed",
            "full refresh",
            ours=lambda: refresh("wide"),
            theirs=lambda: refresh("again"),
            aim=0.1,
            rounds=size.measured_rounds(ROUNDS),
            warmup=1,
            before=change,
        )
        assert lake.verify("wide").ok
    return ratio_report("wide", [row], size)


def _read_order_keys(lake: ab.Lake, first: int) -> list[int]:
    """A thousand keys of orders, far from each other; others in every round."""
    with duckdb_peer.open_connection(lake, ["orders"]) as connection:
        known = np.unique(connection.sql("SELECT o_orderkey FROM orders").fetchnumpy()["o_orderkey"])
    return [int(key) for key in known[first :: len(known) // UPDATED][:UPDATED]]
