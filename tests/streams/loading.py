"""Two sources that are loaded by different people, what is made from each, and a report over both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import anabranch as ab

ORDERS = [(1, "north", 10), (2, "south", 20), (3, "south", 5)]
LINES = [(1, 2), (1, 1), (2, 4), (3, 1)]
SUMMARY = "SELECT region, SUM(amount) AS revenue FROM orders GROUP BY region"
LINE_SUMMARY = "SELECT order_id, SUM(pieces) AS pieces FROM order_lines GROUP BY order_id"
REPORT = """
    SELECT o.revenue, l.pieces
    FROM (SELECT SUM(revenue) AS revenue FROM order_summary) AS o
    CROSS JOIN (SELECT SUM(pieces) AS pieces FROM line_summary) AS l
"""
DASHBOARD = "SELECT region FROM order_summary WHERE revenue > 7"
PIPELINE = {"order_summary": SUMMARY, "line_summary": LINE_SUMMARY, "order_report": REPORT}


def empty(lake: ab.Lake) -> None:
    """The sources, before anything is loaded."""
    lake.create_table("orders", "id BIGINT, region STRING, amount BIGINT")
    lake.create_table("order_lines", "order_id BIGINT, pieces BIGINT")


def define(lake: ab.Lake, **options: Any) -> None:
    """What is made from them."""
    for name, query in PIPELINE.items():
        lake.create_stream_table(name, query, schedule="1m", **options)


def load(lake: ab.Lake) -> None:
    """Both sources, whole."""
    lake.insert("orders", ORDERS)
    lake.insert("order_lines", LINES)


def notices(act: Callable[[], object]) -> list[str]:
    """What a user is told while something is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(each.message) for each in caught if issubclass(each.category, ab.Notice)]


def skips(lake: ab.Lake, name: str) -> list[str]:
    """Why a stream table was skipped, oldest first."""
    entries = reversed(lake.refresh_history(name, limit=1000))
    return [entry.reason or "" for entry in entries if (entry.action, entry.status) == ("SKIP", "SKIPPED")]


def refreshes(lake: ab.Lake, name: str) -> int:
    """How often a stream table was refreshed."""
    done = ("REINITIALIZE", "FULL", "DIFFERENTIAL")
    return sum(entry.action in done for entry in lake.refresh_history(name, limit=1000))
