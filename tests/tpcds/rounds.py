"""Rounds of changes to TPC-DS's tables, as values, drawn in DuckDB from what the tables hold.

Of each channel some orders go with all lines and returns; as many come, copies of others under new numbers
and on other days; as many are corrected. The stock changes alike, row by row. So of the rows of every fact
table that change, about a third is deleted, a third is inserted, and a third is updated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.tpch.rounds import Change, Keys, Round

FACTS: Keys = {
    "store_sales": ("ss_ticket_number", "ss_item_sk"),
    "store_returns": ("sr_ticket_number", "sr_item_sk"),
    "catalog_sales": ("cs_order_number", "cs_item_sk"),
    "catalog_returns": ("cr_order_number", "cr_item_sk"),
    "web_sales": ("ws_order_number", "ws_item_sk"),
    "web_returns": ("wr_order_number", "wr_item_sk"),
    "inventory": ("inv_date_sk", "inv_item_sk", "inv_warehouse_sk"),
}
"""What tells the rows of the fact tables apart; of sales and returns the number of the order comes first."""
CHANNELS = (
    ("store_sales", "store_returns"),
    ("catalog_sales", "catalog_returns"),
    ("web_sales", "web_returns"),
)
DIMENSIONS: Keys = {
    "customer": ("c_customer_sk",),
    "customer_address": ("ca_address_sk",),
    "customer_demographics": ("cd_demo_sk",),
    "household_demographics": ("hd_demo_sk",),
    "item": ("i_item_sk",),
    "promotion": ("p_promo_sk",),
    "store": ("s_store_sk",),
}
"""The dimensions that change in tests."""
DENOMINATOR = 1_000_000


def change_facts(connection: duckdb.DuckDBPyConnection, number: int, share: float) -> Round:
    """About a share of the rows of every fact table changes."""
    chance = np.random.default_rng([number])
    changes: dict[str, Change] = {}
    for sales, returns in CHANNELS:
        changes |= _change_channel(connection, chance, sales, returns, share)
    changes["inventory"] = _change_stock(connection, chance, number, share)
    return Round(changes)


def change_dimensions(connection: duckdb.DuckDBPyConnection, number: int, share: float) -> Round:
    """Of the dimensions a share, two rows at least, take each other's values; of large ones a row goes."""
    chance = np.random.default_rng([number, 1])
    changes = {}
    for table, key in DIMENSIONS.items():
        known = connection.sql(f"SELECT * FROM {table} ORDER BY {key[0]}").to_arrow_table()
        count = min(known.num_rows, max(2, round(known.num_rows * share)))
        drawn = known.take(pa.array(np.sort(chance.choice(known.num_rows, count, replace=False))))
        kept = drawn.slice(1) if count > 2 else drawn
        changes[table] = Change(key, drawn, _take_over(kept, key), known.schema.empty_table())
    return Round(changes)


def _change_channel(
    connection: duckdb.DuckDBPyConnection, chance: np.random.Generator, sales: str, returns: str, share: float
) -> Mapping[str, Change]:
    order = FACTS[sales][0]
    known = connection.sql(f"SELECT DISTINCT {order} AS n FROM {sales} ORDER BY n").fetchnumpy()["n"]
    count = max(1, round(len(known) * share / 3))
    going, copied, corrected = np.split(chance.choice(known, 3 * count, replace=False), 3)
    days = int(chance.integers(-60, 61))
    found = {}
    for table in (sales, returns):
        key = FACTS[table]
        gone, models, old = (
            _rows_with(connection, table, key, key[:1], pa.table({"k0": drawn}))
            for drawn in (going, copied, corrected)
        )
        new = _copy_orders(models, key[0], np.sort(copied), int(known[-1]) + 1, days)
        found[table] = Change(key, pa.concat_tables([gone, old]), _take_over(old, key), new)
    return found


def _change_stock(
    connection: duckdb.DuckDBPyConnection, chance: np.random.Generator, number: int, share: float
) -> Change:
    """Of rows drawn by their hash a third goes, a third comes again some days later, a third changes."""
    table, key = "inventory", FACTS["inventory"]
    columns = ", ".join(key)
    drawn = connection.sql(
        f"SELECT DISTINCT {columns} FROM {table} WHERE hash({columns}, ?) % ? < ? ORDER BY {columns}",
        params=[number, DENOMINATOR, round(share * DENOMINATOR)],
    ).to_arrow_table()
    parts = chance.integers(0, 3, drawn.num_rows)
    picked = [drawn.filter(pa.array(parts == part)).rename_columns(_places(key)) for part in range(3)]
    gone, models, old = (_rows_with(connection, table, key, key, keys) for keys in picked)
    # Stock is taken weekly: on the days between there is none, but what an earlier round brought.
    later = _replace(models, key[0], pc.add(models[key[0]], 1 + number % 6))
    there = _rows_with(connection, table, key, key, later.select(key).rename_columns(_places(key)))
    new = later.join(there.select(key), keys=list(key), join_type="left anti").select(later.column_names)
    new = new.sort_by([(column, "ascending") for column in key])
    return Change(key, pa.concat_tables([gone, old]), _take_over(old, key), new)


def _rows_with(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    key: Sequence[str],
    columns: Sequence[str],
    keys: pa.Table,
) -> pa.Table:
    """The rows of a table that have one of some keys, in the order of their own."""
    connection.register("drawn", keys)
    on = " AND ".join(f"{column} = {place}" for column, place in zip(columns, _places(columns), strict=True))
    found = connection.sql(f"SELECT * FROM {table} SEMI JOIN drawn ON {on} ORDER BY {', '.join(key)}")
    return found.to_arrow_table()


def _places(columns: Sequence[str]) -> list[str]:
    return [f"k{place}" for place, _ in enumerate(columns)]


def _copy_orders(rows: pa.Table, order: str, copied: np.ndarray, first: int, days: int) -> pa.Table:
    """The rows of some orders under numbers from `first` on, all their dates moved by some days."""
    numbers = np.searchsorted(copied, rows[order].to_numpy()) + first
    rows = _replace(rows, order, pa.array(numbers, pa.int64()))
    for column in rows.column_names:
        if column.endswith("_date_sk"):
            rows = _replace(rows, column, pc.add(rows[column], days))
    return rows


def _take_over(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """Each row with all values of the next one, but its own key."""
    places = pa.array(np.roll(np.arange(rows.num_rows), -1))
    others = rows.take(places)
    for column in key:
        others = _replace(others, column, rows[column])
    return others


def _replace(rows: pa.Table, name: str, values: Any) -> pa.Table:
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), values)
