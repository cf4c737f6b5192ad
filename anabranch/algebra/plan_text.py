"""A plan as people read it: an indented tree, in EXPLAIN and in spec files.

A subplan that stands in several places is written once, labelled `[1]`, and elsewhere is that label.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Distinct,
    Filter,
    Generate,
    Join,
    Materialised,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    SetOp,
    SortKey,
    StoredResult,
    Support,
    Tally,
    Top,
    UnionAll,
    Values,
    Window,
    WindowCall,
    walk,
)
from anabranch.algebra.scalar import Call, Cast, Function, Literal, Ref, Scalar, Verbatim

INDENT = "  "
_INFIX = frozenset(
    ("=", "~=", "<>", "<", "<=", ">", ">=", "<=>", "+", "-", "*", "/", "%", "||", "and", "or", "like")
)


def plan_text(plan: Plan) -> str:
    """The whole tree, one operator a line.

    >>> print(plan_text(Filter(Scan("t", (("a", "a"),)), Call(">", (Ref("a"), Literal(1))))))
    filter a > 1
      scan t at until: a
    """
    seen = Counter(part for part in walk(plan) if part.inputs)
    marks: dict[Plan, str] = {}
    lines: list[str] = []

    def write(part: Plan, depth: int) -> None:
        if part in marks:
            lines.append(f"{INDENT * depth}{marks[part]}")
            return
        mark = ""
        if seen[part] > 1:
            marks[part] = f"[{len(marks) + 1}]"
            mark = marks[part] + " "
        lines.append(f"{INDENT * depth}{mark}{node_text(part)}")
        for child in part.inputs:
            write(child, depth + 1)

    write(plan, 0)
    return "\n".join(lines)


def node_text(plan: Plan) -> str:
    """One operator, without what is below it."""
    match plan:
        case Scan(table, columns, at):
            return f"scan {table} at {at.name.lower()}: {_columns(columns)}"
        case Delta(table, columns):
            return f"change of {table}: {_columns(columns)}"
        case StoredResult(columns):
            return f"stored rows: {_columns(columns)}"
        case Materialised(name, columns):
            return f"rows of {name}: {_columns(columns)}"
        case Values(columns, rows):
            shown = "; ".join(_list(row) for row in rows) or "no rows"
            return f"values {', '.join(columns)}: {shown}"
        case Filter(_, condition):
            return f"filter {scalar_text(condition)}"
        case Project(_, items):
            return "project " + ", ".join(_item(name, scalar) for name, scalar in items)
        case Generate(_, function, argument, columns, outer):
            word = "generate outer" if outer else "generate"
            return f"{word} {', '.join(columns)} := {function}({scalar_text(argument)})"
        case Join(_, _, kind, on):
            return f"{kind} join on {scalar_text(on)}"
        case Aggregate(_, keys, calls) | Tally(_, keys, calls):
            grouped = ", ".join(_item(name, key) for name, key in keys)
            computed = ", ".join(f"{name} := {_call(call)}" for name, call in calls)
            word = "tally" if isinstance(plan, Tally) else "aggregate"
            return f"{word} by {grouped}: {computed}" if keys else f"{word} all: {computed}"
        case SetOp(_, _, kind, whole):
            return f"{kind} all" if whole else kind
        case Window(_, calls):
            return "window " + ", ".join(f"{name} := {_window(call)}" for name, call in calls)
        case Top(_, order, limit, offset):
            skip = f", skip {offset}" if offset else ""
            return f"first {limit}{skip} by {_order(order)}"
        case UnionAll() | Negate() | Net() | Support() | Rows() | Distinct():
            return _WORDS[type(plan).__name__]


_WORDS = {
    "UnionAll": "union all",
    "Negate": "minus",
    "Net": "net",
    "Support": "rows that occur",
    "Rows": "rows by weight",
    "Distinct": "distinct",
}


def scalar_text(scalar: Scalar) -> str:
    """A scalar, close to SQL."""
    match scalar:
        case Ref(name):
            return name
        case Literal(value):
            return _literal(value)
        case Call(op, args) if op in _INFIX and len(args) > 1:
            return f" {op} ".join(_parenthesise(arg) for arg in args)
        case Call("is null", (value,)):
            return f"{_parenthesise(value)} is null"
        case Call("not" | "negate" as op, (value,)):
            return f"{'-' if op == 'negate' else 'not '}{_parenthesise(value)}"
        case Call(name, args) | Function(name, args):
            return f"{name}({_list(args)})"
        case Cast(value, kind, quietly):
            return f"{'try_cast' if quietly else 'cast'}({scalar_text(value)} as {kind})"
        case Verbatim(fragments):
            return "`" + "".join(p if isinstance(p, str) else p.name for p in fragments) + "`"


def _parenthesise(scalar: Scalar) -> str:
    text = scalar_text(scalar)
    return (
        f"({text})" if isinstance(scalar, Call) and (scalar.op in _INFIX or scalar.op == "is null") else text
    )


def _literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)


def _item(name: str, scalar: Scalar) -> str:
    return name if scalar == Ref(name) else f"{name} := {scalar_text(scalar)}"


def _columns(columns: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(name if name == own else f"{name} := {own}" for name, own in columns)


def _list(scalars: tuple[Scalar, ...]) -> str:
    return ", ".join(scalar_text(scalar) for scalar in scalars)


def _call(call: AggregateCall) -> str:
    inside = ("distinct " if call.distinct else "") + (_list(call.args) or "*")
    where = "" if call.where is None else f" where {scalar_text(call.where)}"
    return f"{call.function}({inside}){where}"


def _window(call: WindowCall) -> str:
    over = []
    if call.partition:
        over.append(f"by {_list(call.partition)}")
    if call.order:
        over.append(f"order {_order(call.order)}")
    if call.frame:
        over.append(call.frame)
    return f"{call.function}({_list(call.args)}) over ({' '.join(over)})"


def _order(keys: tuple[SortKey, ...]) -> str:
    return ", ".join(
        scalar_text(key.scalar)
        + (" desc" if key.descending else "")
        + ("" if key.nulls_first != key.descending else f" nulls {'first' if key.nulls_first else 'last'}")
        for key in keys
    )
