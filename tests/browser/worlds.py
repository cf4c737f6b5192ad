"""Lakes worth looking at, and words for what a page shows of them."""

from __future__ import annotations

import threading

from playwright.sync_api import Locator, Page, expect

import anabranch as ab
from tests.browser.serving import TOKEN

HOSTILE = '<img src=x onerror="window.ran = 1">'


def varied(lake: ab.Lake) -> ab.Lake:
    """Twelve stream tables: a diamond, a cycle, a gated branch, a failing and a suspended one.

    The lake has to allow cycles.
    """
    lake.create_table("orders", "id BIGINT, region STRING, product BIGINT, pieces BIGINT, amount BIGINT")
    lake.create_table("products", "id BIGINT, name STRING")
    lake.create_table("crm.customers", "id BIGINT, email STRING, region STRING")
    lake.create_table("hr.reports_to", "person STRING, boss STRING")
    lake.insert("orders", [(i, "north" if i % 2 else "south", i % 7, 1, i * 3) for i in range(40)])
    lake.insert("products", [(i, f"product {i}") for i in range(7)])
    lake.insert("crm.customers", [(i, f"c{i}@example.org", "north") for i in range(20)])
    lake.insert("hr.reports_to", [("ann", "bob"), ("bob", "cid"), ("dan", "ann")])

    def make(name: str, query: str, **options: object) -> dict[str, object]:
        return {"name": name, "query": query, "schedule": "1s", **options}

    lake.create_stream_tables(
        [
            make("sales.by_region", "SELECT region, SUM(amount) AS revenue FROM orders GROUP BY region"),
            make(
                "sales.by_product",
                "SELECT p.name, SUM(o.amount) AS revenue FROM orders AS o JOIN products AS p "
                "ON o.product = p.id GROUP BY p.name",
            ),
            make(
                "sales.summary",
                "SELECT r.total AS regional, p.total AS by_product "
                "FROM (SELECT SUM(revenue) AS total FROM sales.by_region) AS r "
                "CROSS JOIN (SELECT SUM(revenue) AS total FROM sales.by_product) AS p",
            ),
            make(
                "sales.top",
                "SELECT region, revenue FROM sales.by_region ORDER BY revenue DESC, region LIMIT 3",
            ),
            make("crm.by_region", "SELECT region, COUNT(*) AS n FROM crm.customers GROUP BY region"),
            make("crm.contacts", "SELECT id, email FROM crm.customers WHERE email LIKE '%@%'"),
            make("crm.contact_count", "SELECT COUNT(*) AS n FROM crm.contacts"),
            make(
                "hr.above",
                "SELECT person, boss FROM hr.reports_to UNION SELECT person, boss FROM hr.chains",
            ),
            make(
                "hr.chains",
                "SELECT a.person, r.boss FROM hr.above AS a JOIN hr.reports_to AS r ON a.boss = r.person",
            ),
            make("ops.unit_price", "SELECT id, amount / pieces AS price FROM orders"),
            make("ops.paused", "SELECT COUNT(*) AS n FROM products"),
            make("ops.names", "SELECT name FROM products", refresh_mode="full"),
        ]
    )
    lake.suspend_stream_table("ops.paused")
    lake.gate_source("crm.customers")
    lake.insert("orders", [(2000, "east", 1, 0, 5)])
    return lake


def tick_until_one_failed(lake: ab.Lake) -> None:
    """Schedules go by the machine's clock: the first tick may come before anything is due."""
    for _ in range(100):
        lake.tick()
        if any(entry.status == "FAILED" for entry in lake.refresh_history()):
            return
        threading.Event().wait(0.1)
    raise AssertionError("nothing failed")


def node(page: Page, name: str) -> Locator:
    """A table in the graph."""
    return page.locator(f'.node[data-id="{name}"]')


def state(page: Page, name: str, wanted: str) -> None:
    """Wait until a table is shown in a state."""
    expect(node(page, name)).to_have_attribute("data-state", wanted)


def enter_token(page: Page, token: str = TOKEN) -> None:
    """Answer the dialog that asks for the token."""
    page.get_by_label("Token of this service").fill(token)
    page.get_by_role("button", name="Use token").click()


def scale(page: Page) -> str | None:
    """Where the view stands, and how large things are."""
    return page.locator(".canvas > g").get_attribute("transform")
