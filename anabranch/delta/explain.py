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
from anabranch.algebra.scalar import Ref, Scalar
from anabranch.algebra.text import INDENT, line, scalar_text
from anabranch.delta.groups import Exact
from anabranch.delta.root import Maintained, Types
from anabranch.delta.small import equalities
from anabranch.delta.state import exact_state

WIDTH = 120
"""Columns of a terminal."""
_WIDEST_OPERATOR = 56
_NARROWEST_TEXT = 24
_KEYS_SHOWN = 4


@dataclass(frozen=True)
class Choice:
    """How an operator's change is computed, and why so."""

    strategy: str
    reason: str
    note: str = ""
    """Why nothing cheaper was chosen, where one might expect it."""

    def __str__(self) -> str:
        return f"{self.strategy}: {self.reason}"


@dataclass(frozen=True)
class Operator:
    """One line of a query's tree: an operator, or the mark of a part that stands above already."""

    depth: int
    text: str
    choice: Choice | None


@dataclass(frozen=True)
class HiddenColumn:
    """A stored column that the query doesn't show."""

    name: str
    holds: str
    reason: str


def strategies(plan: Plan, root: Choice | None = None, exact: Exact | None = None) -> Mapping[Plan, Choice]:
    """The choice for every operator, a shared part once; `root` is how the query's top is maintained.

    `exact` knows to which aggregates a change can be added.

    >>> from anabranch.algebra.scalar import TRUE
    >>> plan = Filter(Distinct(Scan("t", (("a", "a"),))), TRUE)
    >>> [choice.strategy for choice in strategies(plan).values()]
    ['linear', 'affected keys', 'leaf']
    """
    chosen: dict[Plan, Choice] = {}
    core = _core(plan)
    pending = [plan]
    while pending:
        part = pending.pop()
        if part in chosen:
            continue
        chosen[part] = root if root is not None and part == core else _choice(part, exact)
        if chosen[part].strategy != "recompute":
            pending.extend(reversed(part.inputs))
    # What is left stands only below operators that are recomputed: nobody asks for its change.
    return {part: chosen.get(part) or _in_full(part) for part in _parts(plan)}


def root_choice(plan: Plan, kept: Maintained, types: Types) -> Choice | None:
    """How what is stored of a query changes; None where that is simply its change."""
    core = _core(plan)
    if kept.strategy == "change":
        return None
    reason = kept.reason
    if kept.strategy == "affected keys":
        reason = f"{reason}{_by(_keys(core))}; the old rows are stored"
    elif kept.strategy == "recompute":
        reason = f"{_why_no_keys(core)}; the old rows are stored"
    note = ""
    if isinstance(core, Aggregate) and kept.strategy != "stored state":
        why = _why_no_state(core, _is_filtered(plan), types)
        note = f"(no stored state: {why})" if why else ""
    return Choice(kept.strategy, reason, note)


def operators(plan: Plan, choices: Mapping[Plan, Choice]) -> tuple[Operator, ...]:
    """A query's tree, top first; a part that stands in several places is written once, and marked."""
    uses = Counter(below for part in _parts(plan) for below in part.inputs if below.inputs)
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
        left = _wrapped(one.text, column, INDENT * one.depth, INDENT * (one.depth + 2))
        right: list[str] = []
        if one.choice is not None:
            room = max(width - column - 1, _NARROWEST_TEXT)
            right = _wrapped(f"-- {one.choice}", room, "", "   ")
            right += _wrapped(one.choice.note, room, "   ", "   ")
        for place in range(max(len(left), len(right))):
            beside = right[place] if place < len(right) else ""
            lines.append(f"{left[place] if place < len(left) else '':{column}} {beside}".rstrip())
    return "\n".join(lines)


def hidden_columns(kept: Maintained) -> tuple[HiddenColumn, ...]:
    """What is stored beside the query's own columns, and what for."""
    core = _core(kept.stored)
    names = dict(zip(kept.columns, kept.stored.names, strict=True))
    return tuple(_hidden(shown, _name_below(kept.stored, names[shown]), core) for shown in kept.hidden)


# -- one operator ---------------------------------------------------------------------------------


def _choice(plan: Plan, exact: Exact | None) -> Choice:
    match plan:
        case Scan(table):
            return Choice("leaf", f"the change of {table}")
        case Values():
            return Choice("leaf", "stands in the query, never changes")
        case Filter():
            return Choice("linear", "judges each changed row alone")
        case Project():
            return Choice("linear", "computed from each changed row alone")
        case UnionAll():
            return Choice("linear", "the changes of all inputs")
        case Generate():
            return Choice("linear", "each changed row makes its own rows")
        case Join():
            return _of_join(plan)
        case Aggregate(_, keys) if keys and exact is not None and exact(plan) is not None:
            touched = f"groups that the change touches{_by(_keys(plan))}"
            return Choice("affected keys", f"{touched}, at one end: the change tells the other")
        case _:
            return _of_keys(plan)


def _of_join(join: Join) -> Choice:
    keyed = bool(equalities(join))
    if join.kind == "full":
        return Choice("preserved", "as a left join, plus the right rows without a partner")
    if join.kind == "inner":
        met = "matching rows" if keyed else "all rows"
        return Choice("bilinear", f"each change meets {met} of the other side")
    if keyed:
        return Choice("preserved", "changed left rows, and those that match a changed right row")
    return Choice("preserved", "changed left rows; all are held against changed right rows")


def _of_keys(plan: Plan) -> Choice:
    by = _by(_keys(plan))
    match plan:
        case Aggregate(_, keys) if keys:
            return Choice("affected keys", f"groups that the change touches{by}, at both ends")
        case Window() if by:
            return Choice("affected keys", f"partitions that the change touches{by}, at both ends")
        case Distinct():
            return Choice("affected keys", "rows equal to a changed row, at both ends")
        case SetOp():
            return Choice("affected keys", "rows equal to a changed row of either side, at both ends")
        case _:
            return Choice("recompute", f"{_why_no_keys(plan)}, at both ends")


def _why_no_keys(plan: Plan) -> str:
    match plan:
        case Aggregate():
            return "all rows are one group"
        case Window():
            return "all rows are one partition"
        case Top():
            return "the first rows of an order have no keys"
    raise TypeError(f"{type(plan).__name__} is part of a change, not of a query")


def _in_full(plan: Plan) -> Choice:
    match plan:
        case Scan():
            return Choice("leaf", "read in full, since it is recomputed above")
        case Values():
            return _choice(plan, None)
        case _:
            return Choice("recompute", "in full, since it is recomputed above")


def _keys(plan: Plan) -> tuple[Scalar, ...]:
    """What a group or partition is told by. Those of rows are all columns, and aren't listed."""
    match plan:
        case Aggregate(_, keys):
            return tuple(key for _, key in keys)
        case Window(_, calls):
            return calls[0][1].partition
        case _:
            return ()


def _by(keys: tuple[Scalar, ...]) -> str:
    if not keys:
        return ""
    shown = [scalar_text(key) for key in keys[:_KEYS_SHOWN]]
    if len(keys) > _KEYS_SHOWN:
        shown.append(f"{len(keys) - _KEYS_SHOWN} more")
    return f" (by {', '.join(shown)})"


# -- the top --------------------------------------------------------------------------------------


def _core(plan: Plan) -> Plan:
    """What decides how a query is stored, below its last projections and filters."""
    while isinstance(plan, Project | Filter):
        plan = plan.input
    return plan


def _name_below(plan: Plan, name: str) -> str:
    """What the core calls a column that the projections above it only hand on."""
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


def _hidden(shown: str, name: str, core: Plan) -> HiddenColumn:
    if isinstance(core, Aggregate):
        calls = dict(core.calls)
        if name in calls:
            return HiddenColumn(shown, _call_text(calls[name]), _use(calls[name], core))
        return HiddenColumn(shown, scalar_text(dict(core.keys)[name]), "finds the stored row of a group")
    what = "partition" if isinstance(core, Window) else "row"
    return HiddenColumn(shown, name, f"finds what is stored of a {what}")


def _use(call: AggregateCall, core: Aggregate) -> str:
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


def _parts(plan: Plan) -> Iterator[Plan]:
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
    text = line(plan)
    if isinstance(plan, Scan):
        # A query has one end only.
        text = text.replace(f"scan {plan.table} at {plan.at.name.lower()}", f"scan {plan.table}", 1)
    return text.rstrip(": ")


def _call_text(call: AggregateCall) -> str:
    distinct = "distinct " if call.distinct else ""
    where = "" if call.where is None else f" where {scalar_text(call.where)}"
    return f"{call.function}({distinct}{', '.join(map(scalar_text, call.args)) or '*'}){where}"


def _wrapped(text: str, width: int, first: str, later: str) -> list[str]:
    later = later if len(later) + _NARROWEST_TEXT <= width else first
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
