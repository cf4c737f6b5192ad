"""A query's result at either end of the interval: the same plan over tables at that end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from anabranch.algebra.plan import At, Plan, Scan
from anabranch.algebra.rebuild import rebuild

Change = Callable[[Plan], Plan]
"""`differentiate`, handed to the rules so that each subplan is differentiated once."""


def since(plan: Plan) -> Plan:
    """The result at the interval's beginning."""
    return _at(plan, At.SINCE)


def until(plan: Plan) -> Plan:
    """The result at the interval's end."""
    return _at(plan, At.UNTIL)


def _at(plan: Plan, end: At) -> Plan:
    return rebuild(plan, lambda part: replace(part, at=end) if isinstance(part, Scan) else part)
