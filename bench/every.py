"""Keeping the 22 queries of TPC-H while a thousandth of every table changes at once.

A round updates, deletes and inserts in all eight tables, among them rows that each of the queries asks for.
"""

from __future__ import annotations

from pathlib import Path

import anabranch as ab
from bench.harness import Report, Size
from bench.mode_summaries import mode_report
from bench.refresh_modes import MODES, RoundPlan, measure_modes
from bench.tpch_changes import change_every_table

SHARE = 0.001
ROUNDS = 5
LARGE_ROUNDS = 3
"""At larger scales, where all of a round take half an hour."""


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic, and the profile of all refreshes."""

    def change(lake: ab.Lake, number: int) -> int:
        return change_every_table(lake, number, SHARE)

    course = RoundPlan(size.measured_rounds(ROUNDS), with_plain=True)
    if size.scale > 1:
        # What `auto` chooses is measured where it is close.
        course = RoundPlan(size.measured_rounds(LARGE_ROUNDS), modes=MODES[:2], with_plain=True)
    turns = measure_modes(folder, size, change, course)
    return mode_report("every", turns, size, course, changed="0.1 % of every table")
