"""Keeping the 22 queries of TPC-H while a thousandth of the orders comes with their lines, and as many go."""

from __future__ import annotations

from pathlib import Path

import anabranch as ab
from bench.harness import Report, Size
from bench.kept import kept_report
from bench.rounds import change_orders, share_of_orders
from bench.turns import MODES, take_turns

SHARE = 0.001
ROUNDS, LARGE_ROUNDS = 5, 1
"""At larger scales a round takes a quarter of an hour, nearly all of it full refreshes."""


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic, and the profile of all refreshes."""

    def change(lake: ab.Lake, number: int) -> int:
        return change_orders(lake, number, share_of_orders(lake, SHARE))

    large = size.scale > 1
    rounds = size.times(LARGE_ROUNDS if large else ROUNDS)
    # What `auto` chooses is measured where it is close.
    turns = take_turns(folder, size, change, rounds, MODES[:2] if large else MODES)
    return kept_report("maintenance", turns, size, rounds, changed="0.1 % of orders and their lines")
