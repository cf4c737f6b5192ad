"""Why a query's change is computed the way it is: a strategy and its reason for every operator.

leaf            a table, or rows that stand in the query
linear          applied to the change alone
bilinear        each side's change meets the other side
preserved       linear in the left; left rows that a changed right row touches are judged again
affected keys   computed again, for the keys that the change touches
recompute       computed again in full, because there are no keys
stored state    the change is added to what is stored
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from anabranch.algebra.plan import (
    LINEAR_CALLS,
    Aggregate,
    AggregateCall,
    Distinct,
    Filter,
    Generate,
    Join,
    Plan,
    Project,
    Scan,
    SetOp,
    Top,
    UnionAll,
    Values,
    Window,
)
from anabranch.algebra.plan_text import INDENT, node_text, scalar_text
from anabranch.algebra.scalar import Ref, Scalar
from anabranch.delta.aggregate_state import exact_state
from anabranch.delta.inner_aggregate import Exact
from anabranch.delta.maintenance_plan import MaintenancePlan, Types
from anabranch.delta.small_subplans import equalities

WIDTH = 120
"""Columns of a terminal."""
_WIDEST_OPERATOR = 56
_NARROWEST_TEXT = 24
_KEYS_SHOWN = 4


@dataclass(frozen=True)
class OperatorStrategy:
    """How an operator's change is computed, and why so."""

    strategy: str
    reason: str
    note: str = ""
    """Why nothing cheaper was chosen, where one might expect it."""

    def __str__(self) -> str:
        return f"{self.strategy}: {self.reason}"


@dataclass(frozen=True)
class Operator:
    """One line of a query's tree: an operator, or a reference to a subplan that stands above already."""

    depth: int
    text: str
    choice: OperatorStrategy | None


@dataclass(frozen=True)
class HiddenColumn:
    """A stored column that the query doesn't show."""

    name: str
    holds: str
    reason: str


def strategies(
    plan: Plan, root: OperatorStrategy | None = None, exact: Exact | None = None
) -> Mapping[Plan, OperatorStrategy]:
    """The choice for every operator, a shared part once; `root` is how the query's top is maintained.

    `exact` knows to which aggregates a change can be added.

    >>> from anabranch.algebra.scalar import TRUE
    >>> plan = Filter(Distinct(Scan("t", (("a", "a"),))), TRUE)
    >>> [choice.strategy for choice in strategies(plan).values()]
    ['linear', 'affected keys', 'leaf']
    """
    chosen: dict[Plan, OperatorStrategy] = {}
    core = _core_operator(plan)
    pending = [plan]
    while pending:
        part = pending.pop()
        if part in chosen:
            continue
        chosen[part] = root if root is not None and part == core else _operator_strategy(part, exact)
        if chosen[part].strategy != "recompute":
            pending.extend(reversed(part.inputs))
    # What is left stands only below operators that are recomputed: nobody asks for its change.
    return {part: chosen.get(part) or _recompute_strategy(part) for part in _distinct_subplans(plan)}


def root_strategy(plan: Plan, kept: MaintenancePlan, types: Types) -> OperatorStrategy | None:
    """How what is stored of a query changes; None where that is simply its change."""
    core = _core_operator(plan)
    if kept.strategy == "change":
        return None
    reason = kept.reason
    if kept.strategy == "affected keys":
        reason = f"{reason}{_keys_text(_keys(core))}; the old rows are stored"
    elif kept.strategy == "recompute":
        reason = f"{_why_no_keys(core)}; the old rows are stored"
    note = ""
    if isinstance(core, Aggregate) and kept.strategy != "stored state":
        why = _why_no_state(core, _is_filtered(plan), types)
        note = f"(no stored state: {why})" if why else ""
    return OperatorStrategy(kept.strategy, reason, note)


def operators(plan: Plan, choices: Mapping[Plan, OperatorStrategy]) -> tuple[Operator, ...]:
    """A query's tree, top first; a subplan that stands in several places is written once, and labelled."""
    uses = Counter(below for part in _distinct_subplans(plan) for below in part.inputs if below.inputs)
    marks: dict[Plan, str] = {}
    found: list[Operator] = []
    pending = [(plan, 0)]
    while pending:
        part, depth = pending.pop()
        if part in marks:
            found.append(Operator(depth, marks[part], None))
            continue
        text = _operator_text(part)
        if uses[part] > 1:
            marks[part] = f"[{len(marks) + 1}]"
            text = f"{marks[part]} {text}"
        found.append(Operator(depth, text, choices[part]))
        pending.extend((below, depth + 1) for below in reversed(part.inputs))
    return tuple(found)


def tree_text(tree: Iterable[Operator], width: int = WIDTH) -> str:
    """The tree on the left, strategies and reasons beside it; long ones go on below."""
    tree = tuple(tree)
    widest = max(len(INDENT) * one.depth + len(one.text) for one in tree)
    column = min(
        widest, max(_WIDEST_OPERATOR, len(INDENT) * max(one.depth for one in tree) + _NARROWEST_TEXT)
    )
    lines: list[str] = []
    for one in tree:
        left = _wrap_text(one.text, column, INDENT * one.depth, INDENT * (one.depth + 2))
        right: list[str] = []
        if one.choice is not None:
            room = max(width - column - 1, _NARROWEST_TEXT)
            right = _wrap_text(f"-- {one.choice}", room, "", "   ")
            right += _wrap_text(one.choice.note, room, "   ", "   ")
        for place in range(max(len(left), len(right))):
            beside = right[place] if place < len(right) else ""
            lines.append(f"{left[place] if place < len(left) else '':{column}} {beside}".rstrip())
    return "\n".join(lines)


def hidden_columns(kept: MaintenancePlan) -> tuple[HiddenColumn, ...]:
    """What is stored beside the query's own columns, and what for."""
    core = _core_operator(kept.stored)
    names = dict(zip(kept.columns, kept.stored.names, strict=True))
    return tuple(
        _hidden_column(shown, _core_column(kept.stored, names[shown]), core) for shown in kept.hidden_columns
    )


# -- one operator ---------------------------------------------------------------------------------


def _operator_strategy(plan: Plan, exact: Exact | None) -> OperatorStrategy:
    match plan:
        case Scan(table):
            return OperatorStrategy("leaf", f"the change of {table}")
        case Values():
            return OperatorStrategy("leaf", "stands in the query, never changes")
        case Filter():
            return OperatorStrategy("linear", "judges each changed row alone")
        case Project():
            return OperatorStrategy("linear", "computed from each changed row alone")
        case UnionAll():
            return OperatorStrategy("linear", "the changes of all inputs")
        case Generate():
            return OperatorStrategy("linear", "each changed row makes its own rows")
        case Join():
            return _join_strategy(plan)
        case Aggregate(_, keys) if keys and exact is not None and exact(plan) is not None:
            touched = f"groups that the change touches{_keys_text(_keys(plan))}"
            return OperatorStrategy("affected keys", f"{touched}, at one end: the change tells the other")
        case _:
            return _keyed_strategy(plan)


def _join_strategy(join: Join) -> OperatorStrategy:
    keyed = bool(equalities(join))
    if join.kind == "full":
        return OperatorStrategy("preserved", "as a left join, plus the right rows without a partner")
    if join.kind == "inner":
        met = "matching rows" if keyed else "all rows"
        return OperatorStrategy("bilinear", f"each change meets {met} of the other side")
    if keyed:
        return OperatorStrategy("preserved", "changed left rows, and those that match a changed right row")
    return OperatorStrategy("preserved", "changed left rows; all are held against changed right rows")


def _keyed_strategy(plan: Plan) -> OperatorStrategy:
    by = _keys_text(_keys(plan))
    match plan:
        case Aggregate(_, keys) if keys:
            return OperatorStrategy("affected keys", f"groups that the change touches{by}, at both ends")
        case Window() if by:
            return OperatorStrategy("affected keys", f"partitions that the change touches{by}, at both ends")
        case Distinct():
            return OperatorStrategy("affected keys", "rows equal to a changed row, at both ends")
        case SetOp():
            return OperatorStrategy(
                "affected keys", "rows equal to a changed row of either side, at both ends"
            )
        case _:
            return OperatorStrategy("recompute", f"{_why_no_keys(plan)}, at both ends")


def _why_no_keys(plan: Plan) -> str:
    match plan:
        case Aggregate():
            return "all rows are one group"
        case Window():
            return "all rows are one partition"
        case Top():
            return "the first rows of an order have no keys"
    raise TypeError(f"{type(plan).__name__} is part of a change, not of a query")


def _recompute_strategy(plan: Plan) -> OperatorStrategy:
    match plan:
        case Scan():
            return OperatorStrategy("leaf", "read in full, since it is recomputed above")
        case Values():
            return _operator_strategy(plan, None)
        case _:
            return OperatorStrategy("recompute", "in full, since it is recomputed above")


def _keys(plan: Plan) -> tuple[Scalar, ...]:
    """What a group or partition is told by. Those of rows are all columns, and aren't listed."""
    match plan:
        case Aggregate(_, keys):
            return tuple(key for _, key in keys)
        case Window(_, calls):
            return calls[0][1].partition
        case _:
            return ()


def _keys_text(keys: tuple[Scalar, ...]) -> str:
    if not keys:
        return ""
    shown = [scalar_text(key) for key in keys[:_KEYS_SHOWN]]
    if len(keys) > _KEYS_SHOWN:
        shown.append(f"{len(keys) - _KEYS_SHOWN} more")
    return f" (by {', '.join(shown)})"


# -- the top --------------------------------------------------------------------------------------


def _core_operator(plan: Plan) -> Plan:
    """What decides how a query is stored, below its last projections and filters."""
    while isinstance(plan, Project | Filter):
        plan = plan.input
    return plan


def _core_column(plan: Plan, name: str) -> str:
    """The core's name of a column that the projections above it only pass on."""
    while isinstance(plan, Project | Filter):
        if isinstance(plan, Project) and isinstance(scalar := dict(plan.items)[name], Ref):
            name = scalar.name
        plan = plan.input
    return name


def _is_filtered(plan: Plan) -> bool:
    while isinstance(plan, Project):
        plan = plan.input
    # Above the core stand projections and filters only.
    return isinstance(plan, Filter)


def _why_no_state(plan: Aggregate, filtered: bool, types: Types) -> str | None:
    """The first thing about an aggregate that speaks against it, if one can be named."""
    for _, call in plan.calls:
        if call.distinct:
            return f"the change doesn't tell {_call_text(call)}: other rows may have the same values"
        if call.function not in (*LINEAR_CALLS, "avg"):
            return f"the change doesn't tell {_call_text(call)}"
        if len(call.args) > 1:
            return f"{_call_text(call)} looks at several values at once"
    if filtered:
        return "groups that the filter above drops aren't stored"
    for name, call in plan.calls:
        if exact_state(replace(plan, calls=((name, call),)), types) is None:
            kind = types(Project(plan.input, (("x", call.args[0]),)))["x"]
            return f"{_call_text(call)} of type {kind} {_why_inexact(call, kind)}"
    return None


def _why_inexact(call: AggregateCall, kind: str) -> str:
    if kind in ("float", "double"):
        return "is floating point, where the order of additions shows"
    if call.function == "avg" and kind == "bigint":
        return "is averaged in floating point"
    return "has too many digits to be added to exactly"


def _hidden_column(shown: str, name: str, core: Plan) -> HiddenColumn:
    if isinstance(core, Aggregate):
        calls = dict(core.calls)
        if name in calls:
            return HiddenColumn(shown, _call_text(calls[name]), _hidden_call_purpose(calls[name], core))
        return HiddenColumn(shown, scalar_text(dict(core.keys)[name]), "finds the stored row of a group")
    what = "partition" if isinstance(core, Window) else "row"
    return HiddenColumn(shown, name, f"finds what is stored of a {what}")


def _hidden_call_purpose(call: AggregateCall, core: Aggregate) -> str:
    if call == AggregateCall("count"):
        return "rows of the group: without any, it goes"
    averaged = any(replace(call, function="avg") == other for _, other in core.calls)
    if call.function == "sum":
        return "what the average is computed from"
    return (
        "values counted: divides the average; without any it is NULL"
        if averaged
        else ("values counted: without any, the sum is NULL")
    )


# -- text -----------------------------------------------------------------------------------------


def _distinct_subplans(plan: Plan) -> Iterator[Plan]:
    """Everything in a plan, top first, a shared part once."""
    seen: set[Plan] = set()
    pending = [plan]
    while pending:
        part = pending.pop()
        if part not in seen:
            seen.add(part)
            yield part
            pending.extend(reversed(part.inputs))


def _operator_text(plan: Plan) -> str:
    text = node_text(plan)
    if isinstance(plan, Scan):
        # A query has one end only.
        text = text.replace(f"scan {plan.table} at {plan.at.name.lower()}", f"scan {plan.table}", 1)
    return text.rstrip(": ")


def _call_text(call: AggregateCall) -> str:
    distinct = "distinct " if call.distinct else ""
    where = "" if call.where is None else f" where {scalar_text(call.where)}"
    return f"{call.function}({distinct}{', '.join(map(scalar_text, call.args)) or '*'}){where}"


def _wrap_text(text: str, width: int, first: str, later: str) -> list[str]:
    later = later if len(later) + _NARROWEST_TEXT <= width else first
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
