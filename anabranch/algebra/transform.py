"""Changing plans: the same tree with some nodes replaced, bottom up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from anabranch.algebra.plan import Node, Plan


def transform_up(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """The plan with `change` applied to every node, inputs first; equal subplans are changed once."""
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = done[part] = change(map_inputs(part, visit))
        return found

    return visit(plan)


def map_inputs(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """The node over changed inputs; the node itself if nothing changed."""
    changed: dict[str, Any] = {}
    for field in fields(plan):
        value = getattr(plan, field.name)
        if isinstance(value, Node):
            new: Any = change(value)  # type: ignore[arg-type]
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            new = tuple(change(item) for item in value)
        else:
            continue
        if new != value:
            changed[field.name] = new
    return replace(plan, **changed) if changed else plan
