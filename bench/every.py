"""Keeping the 22 queries of TPC-H while a thousandth of every table changes at once.

A round updates, deletes and inserts in all eight tables, among them rows that each of the queries asks for.
It is drawn from all rows in memory, which at scale factor 10 would take some thirty gigabytes.
"""

from __future__ import annotations

from pathlib import Path

import anabranch as ab
from bench.harness import Report, Size
from bench.kept import kept_report
from bench.rounds import change_every_table
from bench.turns import Course, take_turns

SHARE = 0.001
ROUNDS = 5


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic, and the profile of all refreshes."""

    def change(lake: ab.Lake, number: int) -> int:
        return change_every_table(lake, number, SHARE)

    course = Course(size.times(ROUNDS))
    turns = take_turns(folder, size, change, course)
    return kept_report("every", turns, size, course, changed="0.1 % of every table")
