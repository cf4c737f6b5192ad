"""Keeping the 22 queries of TPC-H while a thousandth of every table changes at once.

A round updates, deletes and inserts in all eight tables, among them rows that each of the queries asks for.
"""

from __future__ import annotations

from pathlib import Path

import anabranch as ab
from bench.harness import Report, Size
from bench.mode_summaries import mode_report
from bench.refresh_modes import RoundPlan, measure_modes
from bench.tpch_changes import change_every_table

SHARE = 0.001
ROUNDS = 5


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic, and the profile of all refreshes."""

    def change(lake: ab.Lake, number: int) -> int:
        return change_every_table(lake, number, SHARE)

    course = RoundPlan(size.measured_rounds(ROUNDS))
    turns = measure_modes(folder, size, change, course)
    return mode_report("every", turns, size, course, changed="0.1 % of every table")
