"""Keeping the 22 queries of TPC-H while a thousandth of the orders comes with their lines, and as many go."""

from __future__ import annotations

from pathlib import Path

import anabranch as ab
from bench.harness import Report, Size
from bench.kept import kept_report
from bench.rounds import change_orders, share_of_orders
from bench.turns import take_turns

SHARE = 0.001
ROUNDS = 1
"""More would not fit into the twenty minutes that all short topics have."""


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic, and the profile of all refreshes."""

    def change(lake: ab.Lake, number: int) -> int:
        return change_orders(lake, number, share_of_orders(lake, SHARE))

    rounds = size.times(ROUNDS)
    turns = take_turns(folder, size, change, rounds)
    return kept_report("maintenance", turns, size, rounds, changed="0.1 % of orders and their lines")
