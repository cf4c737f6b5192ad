"""Keeping the 22 queries of TPC-H while a thousandth of the orders comes with their lines, and as many go."""

from __future__ import annotations

from pathlib import Path

import anabranch as ab
from bench.harness import Report, Size
from bench.mode_summaries import mode_report
from bench.refresh_modes import MODES, RoundPlan, measure_modes
from bench.tpch_changes import change_orders, count_share_of_orders

SHARE = 0.001
ROUNDS = 5
LARGE_WARM_UP = 2
"""At larger scales the second look into a column, which gives it an order, takes seconds."""
LARGE_FULL_ROUNDS = 1
"""And computing all queries from nothing takes ten minutes."""


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic, and the profile of all refreshes."""

    def change(lake: ab.Lake, number: int) -> int:
        return change_orders(lake, number, count_share_of_orders(lake, SHARE))

    rounds = size.measured_rounds(ROUNDS)
    if size.scale > 1:
        # What `auto` chooses is measured where it is close.
        course = RoundPlan(rounds, LARGE_WARM_UP, MODES[:2], full_rounds=LARGE_FULL_ROUNDS)
    else:
        course = RoundPlan(rounds)
    turns = measure_modes(folder, size, change, course)
    return mode_report("maintenance", turns, size, course, changed="0.1 % of orders and their lines")
