"""Changes that the benchmarks make to TPC-H's tables."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

import anabranch as ab
from bench import duckdb_peer
from tests.tpch.rounds import KEYS, Round, apply_round, contents_of, every_table, refresh_functions

ORDERS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
MOST_ORDERS = 2_000_000
"""Orders and their lines are drawn from so many at most."""


def change_orders(lake: ab.Lake, number: int, count: int) -> int:
    """TPC-H's refresh functions: some orders come with their lines, as many go; how many rows that is.

    Only the orders that take part are read, so that it works at any scale.
    """
    return _apply_changes(lake, _draw_orders(lake, number, count))


def change_share_of_orders(lake: ab.Lake, number: int, share: float) -> int:
    """The same for a share of the orders."""
    return change_orders(lake, number, count_share_of_orders(lake, share))


def count_share_of_orders(lake: ab.Lake, share: float) -> int:
    """How many orders that share is."""
    with duckdb_peer.open_connection(lake, ["orders"]) as connection:
        (count,) = connection.sql("SELECT count(*) FROM orders").fetchall()[0]
    return max(1, round(count * share))


def change_every_table(lake: ab.Lake, number: int, share: float, most_orders: int = MOST_ORDERS) -> int:
    """A share of each of the eight tables changes at once; how many rows that is.

    It is drawn from rows in memory: of more than so many orders from a part of them, another one each time.
    """
    with duckdb_peer.open_connection(lake, ORDERS) as connection:
        (orders,) = connection.sql("SELECT count(*) FROM orders").fetchall()[0]
        parts = math.ceil(orders / most_orders)
        contents = dict(contents_of(lake, {table: key for table, key in KEYS.items() if table not in ORDERS}))
        for table, key in ORDERS.items():
            # The last one is there to be counted on from: new orders get the keys above it.
            contents[table] = connection.sql(
                f"FROM {table} WHERE hash({key}) % {parts} = {number % parts} "
                f"OR {key} = (SELECT max(o_orderkey) FROM orders)"
            ).to_arrow_table()
    return _apply_changes(lake, every_table(contents, number, share, sampled=dict.fromkeys(ORDERS, parts)))


def _apply_changes(lake: ab.Lake, drawn: Round) -> int:
    apply_round(lake, drawn)
    return drawn.rows


def _draw_orders(lake: ab.Lake, number: int, count: int) -> Round:
    with duckdb_peer.open_connection(lake, ORDERS) as connection:
        known = np.unique(connection.sql("SELECT o_orderkey FROM orders").fetchnumpy()["o_orderkey"])
        chance = np.random.default_rng([number])
        # The last one is there to be counted on from: new orders get the keys above it.
        most = min(2 * count, len(known) - 1)
        drawn = np.union1d(chance.choice(known[:-1], most, replace=False), known[-1:])
        connection.register("drawn", pa.table({"key": drawn}))
        contents = {
            table: connection.sql(f"SELECT * FROM {table} SEMI JOIN drawn ON {key} = key").to_arrow_table()
            for table, key in ORDERS.items()
        }
    return refresh_functions(contents, number, 0.5)
