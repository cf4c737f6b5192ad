"""The sales of seed stories: one source, two branches, one summary; and how to look at them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anabranch as ab

BY_REGION = "SELECT region, SUM(amount) AS revenue, COUNT(*) AS n FROM sales GROUP BY region"
BY_PRODUCT = (
    "SELECT product, SUM(amount) AS revenue, SUM(amount / pieces) AS prices FROM sales GROUP BY product"
)
SUMMARY = """
    SELECT r.total AS regional_total, p.total AS product_total
    FROM (SELECT SUM(revenue) AS total FROM by_region) AS r
    CROSS JOIN (SELECT SUM(revenue) AS total FROM by_product) AS p
"""
DIAMOND = {"by_region": BY_REGION, "by_product": BY_PRODUCT, "summary": SUMMARY}
COLUMNS = "id BIGINT, region STRING, product BIGINT, pieces BIGINT, amount DECIMAL(12,2)"


def stock(lake: ab.Lake) -> None:
    """The first sales."""
    lake.create_table("sales", COLUMNS)
    lake.insert("sales", [(1, "north", 1, 1, 10), (2, "south", 1, 2, 20), (3, "south", 2, 1, 5)])


def sell(
    lake: ab.Lake, id: int, *, region: str = "north", product: int = 1, pieces: int = 1, amount: int = 1
) -> None:
    """One more sale."""
    lake.insert("sales", [(id, region, product, pieces, amount)])


def diamond(lake: ab.Lake, **options: Any) -> None:
    """The diamond, all of it with the same options."""
    lake.create_stream_tables(
        [{"name": name, "query": query, "schedule": "1m", **options} for name, query in DIAMOND.items()]
    )


def rows(lake: ab.Lake, name: str, as_of: int | None = None) -> Counter[tuple[Any, ...]]:
    """What a table holds, as a bag."""
    columns = lake.arrow(name, as_of=as_of).to_pydict()
    return Counter(zip(*columns.values(), strict=True))


def totals(lake: ab.Lake) -> tuple[Any, ...]:
    """The one row of the summary."""
    (row,) = rows(lake, "summary")
    return row


def all_right(lake: ab.Lake) -> bool:
    """Whether every stream table holds what its query gives."""
    return all(lake.verify(each.name).ok for each in lake.status() if each.last_refresh_at is not None)


def actions(lake: ab.Lake, name: str | None = None) -> list[tuple[str, str, str]]:
    """The history, oldest first: who, what, how it went."""
    entries = reversed(lake.refresh_history(name, limit=1000))
    return [(entry.stream_table, entry.action, entry.status) for entry in entries]


def one(lake: ab.Lake, name: str) -> Any:
    """The status of one stream table."""
    (found,) = [each for each in lake.status() if each.name == name]
    return found
