"""A query's result at either end of the interval: the same plan over tables at that end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from anabranch.algebra.plan import IntervalEnd, Plan, Scan
from anabranch.algebra.transform import transform_up

Change = Callable[[Plan], Plan]
"""`differentiate`, given to the rules so that each subplan is differentiated once."""


def at_since(plan: Plan) -> Plan:
    """The result at the interval's beginning."""
    return _at_end(plan, IntervalEnd.SINCE)


def at_until(plan: Plan) -> Plan:
    """The result at the interval's end."""
    return _at_end(plan, IntervalEnd.UNTIL)


def _at_end(plan: Plan, end: IntervalEnd) -> Plan:
    return transform_up(plan, lambda part: replace(part, at=end) if isinstance(part, Scan) else part)
