"""A shop on the cluster: its sources, stream tables of every kind over them, and rounds of changes.

Every query means the same to Spark and DuckDB, so that versions can be checked past the package.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal

import anabranch as ab

CUSTOMERS, ORDERS, PRODUCTS, NODES = 300, 8_000, 40, 300
REGIONS = ("north", "south", "east", "west")

SOURCES = {
    "customers": "id BIGINT NOT NULL, region STRING, segment BIGINT",
    "orders": "id BIGINT NOT NULL, customer BIGINT, product BIGINT, amount DECIMAL(12,2)",
    "edges": "a BIGINT, b BIGINT",
}
QUERIES = {
    "spending": """
        SELECT c.region, o.product, SUM(o.amount) AS total, COUNT(*) AS n
        FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.region, o.product""",
    "every_customer": """
        SELECT c.id, c.segment, COUNT(o.id) AS n, SUM(o.amount) AS total
        FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id, c.segment""",
    "ranked": """
        SELECT id, customer, amount,
            ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS place
        FROM orders""",
    "pairs": "SELECT DISTINCT customer, product FROM orders",
    "without_orders": """
        SELECT c.id, c.region FROM customers c
        WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.amount > 20)""",
    "reach": """
        WITH RECURSIVE r AS (SELECT a, b FROM edges
        UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a) SELECT a, b FROM r""",
}
DIAMOND = {
    "by_region": """
        SELECT c.region, SUM(o.amount) AS revenue, COUNT(*) AS n
        FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.region""",
    "by_product": "SELECT product, SUM(amount) AS revenue, COUNT(*) AS n FROM orders GROUP BY product",
    "summary": """
        SELECT r.total AS regional_total, p.total AS product_total, r.n AS regional_n, p.n AS product_n
        FROM (SELECT SUM(revenue) AS total, SUM(n) AS n FROM by_region) AS r
        CROSS JOIN (SELECT SUM(revenue) AS total, SUM(n) AS n FROM by_product) AS p""",
}


EVERY_KIND = QUERIES | DIAMOND
A_FEW = {name: EVERY_KIND[name] for name in ("spending", "reach", *DIAMOND)}
"""Those with the most statements one after the other, for refreshes that are disturbed again and again."""


def create_shop(lake: ab.Lake, queries: Mapping[str, str]) -> None:
    """The sources with their first rows, and stream tables over them, filled."""
    chance = random.Random(0)
    for name, columns in SOURCES.items():
        lake.create_table(name, columns)
    with lake.transaction() as tx:
        tx.insert("customers", [(i, chance.choice(REGIONS), i % 5) for i in range(CUSTOMERS)])
        tx.insert("orders", [_draw_order(chance, i) for i in range(ORDERS)])
        tx.insert("edges", [(i // 6, i) for i in range(1, NODES)])
    options = {"schedule": "1m", "refresh_mode": "differential"}
    lake.create_stream_tables([{"name": name, "query": text, **options} for name, text in queries.items()])


def change_shop(lake: ab.Lake, number: int) -> None:
    """One commit that adds, changes and removes rows of all sources, a tenth of the orders among them."""
    chance = random.Random(1 + number)
    new = range(ORDERS + 500 * number, ORDERS + 500 * (number + 1))
    with lake.transaction() as tx:
        tx.insert("orders", [_draw_order(chance, i) for i in new])
        tx.update("orders", {"amount": "amount + 1"}, where=f"id % 37 = {number}")
        tx.delete("orders", where=f"id % 29 = {number} OR customer = {number}")
        tx.update("customers", {"region": f"'{REGIONS[number % 4]}'"}, where=f"id % 13 = {number}")
        tx.delete("edges", where=f"b = {20 + number}")
        tx.insert("edges", [(NODES - 1 - number, NODES + number), (0, 20 + number)])


def _draw_order(chance: random.Random, number: int) -> tuple[int, int, int, Decimal]:
    """An order; every eighth customer buys nothing."""
    customer = chance.randrange(CUSTOMERS // 8) * 8 + chance.randint(1, 7)
    return number, customer, chance.randrange(PRODUCTS), Decimal(chance.randint(100, 9999)) / 100
