"""What the processes of these tests do with stream tables, and what the tables must hold afterwards."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import anabranch as ab
from anabranch.refresh import fixpoint, run_fixpoint
from tests.recursion.graphs import MUTUAL
from tests.streams.shop import BY_REGION, COLUMNS, DIAMOND

Row = tuple[Any, ...]
Contents = dict[str, Counter[Row]]

CHAIN = {
    "a": "SELECT id, region, amount FROM sales WHERE id > 1",
    "b": "SELECT region, SUM(amount) AS total FROM a GROUP BY region",
    "c": "SELECT region FROM b WHERE total > 10",
}
SHAPES: Mapping[str, Mapping[str, str]] = {
    "single": {"by_region": BY_REGION},
    "chain": CHAIN,
    "diamond": DIAMOND,
}
BIG_REGIONS = f"{BY_REGION} HAVING SUM(amount) > 10"
FIRST = [(1, "north", 1, 1, 10), (2, "south", 1, 2, 20), (3, "south", 2, 1, 5)]
FIRST_EDGES = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]


# -- scripts --------------------------------------------------------------------------------------


def prepare_streams(lake: ab.Lake, shape: str | None) -> None:
    """The first sales, and what is made from them."""
    lake.create_table("sales", COLUMNS)
    lake.insert("sales", FIRST)
    if shape is not None:
        create_shape(lake, shape)


def create_shape(lake: ab.Lake, shape: str | None) -> None:
    """All stream tables of a shape in one commit."""
    assert shape is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        lake.create_stream_tables(
            [{"name": name, "query": query, "schedule": "1m"} for name, query in SHAPES[shape].items()]
        )


def tick_once(lake: ab.Lake, _attempt: str | None) -> list[str]:
    """One pass of the scheduler; what it refreshed."""
    return list(lake.tick().refreshed)


def alter_query(lake: ab.Lake, _attempt: str | None) -> None:
    """Another query for a branch of the diamond."""
    lake.alter_stream_table("by_region", query=BIG_REGIONS)


def drop_branch(lake: ab.Lake, _attempt: str | None) -> None:
    """A branch of the diamond goes, and with it what reads it."""
    lake.drop_stream_table("by_region", cascade=True)


def sell_one(lake: ab.Lake, _attempt: str | None) -> int | None:
    """One more sale."""
    return lake.insert("sales", [(4, "north", 1, 1, 1)]).lsn


def skip_changes(lake: ab.Lake, _attempt: str | None) -> None:
    """What the fuse of a branch stopped is passed over."""
    lake.reset_fuse("by_region", "skip_changes")


def load_and_ungate(lake: ab.Lake, _attempt: str | None) -> int | None:
    """The last batch, and with it the word that the source is ready and how far it is."""
    with lake.transaction() as tx:
        tx.insert("sales", [(4, "north", 1, 1, 1)])
        tx.ungate_source("sales")
        tx.advance_watermark("sales", "2030-01-01")
    return tx.lsn


def ungate(lake: ab.Lake, _attempt: str | None) -> None:
    """The source is ready, and nothing else happens."""
    lake.ungate_source("sales")


def gate(lake: ab.Lake, _attempt: str | None) -> None:
    """The source is not ready."""
    lake.gate_source("sales")


def prepare_cycle(lake: ab.Lake, *, create: bool = True) -> None:
    """A few edges, and two tables that follow them by turns."""
    lake.create_table("edges", "a BIGINT, b BIGINT")
    lake.insert("edges", FIRST_EDGES)
    if create:
        create_cycle(lake, None)


def create_cycle(lake: ab.Lake, _attempt: str | None) -> None:
    """Both tables of the cycle in one commit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        lake.create_stream_tables(
            [{"name": name, "query": query, "schedule": "1m"} for name, query in MUTUAL.queries.items()]
        )


def tick_through_files(lake: ab.Lake, attempt: str | None) -> list[str]:
    """One pass in which no batch of rows is taken for small: all go through files, and none stays here."""
    fixpoint.FEW_ROWS = -1
    run_fixpoint._read_locally = lambda *_: None
    return tick_once(lake, attempt)


STREAM_SCRIPTS: dict[str, Callable[[ab.Lake, str | None], Any]] = {
    script.__name__: script
    for script in (
        create_shape,
        tick_once,
        alter_query,
        drop_branch,
        sell_one,
        skip_changes,
        load_and_ungate,
        ungate,
        gate,
        create_cycle,
        tick_through_files,
    )
}


# -- what they mean -------------------------------------------------------------------------------


def meaning(shape: str | None, sales: Iterable[Row]) -> Contents:
    """What the stream tables of a shape hold over some sales, worked out without any of our code.

    Beside the shapes there is what alterations leave of the diamond: `altered` and `remnant`.
    """
    sales = list(sales)
    if shape is None:
        return {}
    if shape == "chain":
        a = [(id, region, Decimal(amount)) for id, region, _, _, amount in sales if id > 1]
        totals = _sums((region, amount) for _, region, amount in a)
        return {
            "a": Counter(a),
            "b": Counter(totals.items()),
            "c": Counter((region,) for region, total in totals.items() if total > 10),
        }
    revenue = _sums((sale[1], sale[4]) for sale in sales)
    counts = Counter(sale[1] for sale in sales)
    by_region = {
        (region, total, counts[region])
        for region, total in revenue.items()
        if total > 10 or shape != "altered"
    }
    if shape == "single":
        return {"by_region": Counter(by_region)}
    products = _sums((sale[2], sale[4]) for sale in sales)
    prices = _sums((sale[2], Decimal(sale[4]) / sale[3]) for sale in sales)
    by_product = Counter((product, products[product], prices[product]) for product in products)
    if shape == "remnant":
        return {"by_product": by_product}
    both = (sum(row[1] for row in by_region), sum(products.values()))
    return {
        "by_region": Counter(by_region),
        "by_product": by_product,
        "summary": Counter([both]),
    }


def _sums(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Decimal]:
    sums: dict[Any, Decimal] = defaultdict(Decimal)
    for key, value in pairs:
        sums[key] += Decimal(value)
    return dict(sums)
