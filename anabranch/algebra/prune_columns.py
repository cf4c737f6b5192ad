"""Columns that nobody reads, left out from the bottom up, of queries and of changes.

Every column that isn't needed costs: a change is added up by whole rows, and an engine takes its time to
find out what it may leave out. What a subplan must have is what all its uses together need: a subplan that
stands twice stays one.

    π(Net(R)) = π(R) = Net(π(R)),  as Z-sets

So adding up and repeating rows by their weight takes the wanted columns alone; which rows occur at all is
asked of whole rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from anabranch.algebra.plan import (
    Aggregate,
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
    StoredResult,
    Support,
    Tally,
    Top,
    UnionAll,
    Values,
    Window,
)
from anabranch.algebra.scalar import Ref, Scalar, refs

Wanted = dict[str, None]
"""Names, in the order in which they were asked for."""


def prune_columns(plan: Plan) -> Plan:
    """The same rows from narrower ones; the plan's own columns all stay."""
    wanted = wanted_columns(plan)
    done: dict[Plan, Plan] = {}
    for node in reversed(wanted):
        done[node] = _narrow_node(node, wanted[node], done)
    return done[plan]


def wanted_columns(plan: Plan) -> dict[Plan, Wanted]:
    """The columns of each subplan that anything reads, in its own order; what reads them comes before it."""
    order = parents_first(plan)
    wanted: dict[Plan, Wanted] = {node: {} for node in order}
    wanted[plan] = dict.fromkeys(plan.names)
    for node in order:
        # SQL has no rows without columns.
        names = wanted[node] or dict.fromkeys(node.names[:1])
        wanted[node] = {name: None for name in node.names if name in names}
        for below, columns in _required_columns(node, wanted[node]):
            wanted[below].update(dict.fromkeys(columns))
    return wanted


def parents_first(plan: Plan) -> list[Plan]:
    """Every subplan once, before everything that stands below it."""
    done: dict[Plan, None] = {}
    pending: list[tuple[Plan, bool]] = [(plan, False)]
    while pending:
        node, seen = pending.pop()
        if node in done:
            continue
        if seen:
            done[node] = None
        else:
            pending.append((node, True))
            pending.extend((below, False) for below in node.inputs)
    return list(reversed(done))


def _required_columns(node: Plan, wanted: Wanted) -> Iterator[tuple[Plan, Iterable[str]]]:
    """What a node needs of the plans below it so that it can give what is wanted of it."""
    match node:
        case Filter(below, condition):
            yield below, [*wanted, *refs(condition)]
        case Project(below, items):
            yield below, _referenced_columns(scalar for name, scalar in items if name in wanted)
        case UnionAll(parts):
            for part in parts:
                yield part, _columns_at_same_positions(node, part, wanted)
        case Generate():
            kept = [name for name in wanted if name in node.input.names]
            yield node.input, [*kept, *refs(node.argument)]
        case Join(left, right, _, on):
            read = {*wanted, *refs(on)}
            yield left, [name for name in left.names if name in read]
            yield right, [name for name in right.names if name in read]
        case Negate(below) | Net(below) | Rows(below):
            yield below, wanted
        case Aggregate(below, keys, calls) | Tally(below, keys, calls):
            scalars = [scalar for name, call in calls if name in wanted for scalar in call.scalars]
            yield below, _referenced_columns([*(key for _, key in keys), *scalars])
        case Distinct() | SetOp() | Support():
            for below in node.inputs:
                yield below, below.names
        case Window(below, calls):
            kept = [name for name in wanted if name in below.names]
            scalars = [s for name, call in calls if name in wanted for s in (*call.args, *call.partition)]
            sorts = [key.scalar for name, call in calls if name in wanted for key in call.order]
            yield below, [*kept, *_referenced_columns([*scalars, *sorts])]
        case Top(below, order):
            yield below, [*wanted, *_referenced_columns(key.scalar for key in order)]


def _narrow_node(node: Plan, wanted: Wanted, done: dict[Plan, Plan]) -> Plan:
    match node:
        case (
            Scan(columns=columns)
            | Delta(columns=columns)
            | StoredResult(columns=columns)
            | Materialised(columns=columns)
        ):
            return replace(node, columns=tuple(pair for pair in columns if pair[0] in wanted))
        case Values():
            return node
        case Project(below, items):
            kept = tuple((name, scalar) for name, scalar in items if name in wanted)
            if kept == tuple((name, Ref(name)) for name in done[below].names):
                return done[below]
            return Project(done[below], kept)
        case UnionAll(parts):
            return UnionAll(
                tuple(
                    _project_exactly(done[part], _columns_at_same_positions(node, part, wanted))
                    for part in parts
                )
            )
        case Aggregate(below, keys, calls):
            called = tuple((name, call) for name, call in calls if name in wanted)
            return Aggregate(done[below], keys, called if keys or called else calls[:1])
        case Tally(below, keys, calls):
            called = tuple((name, call) for name, call in calls if name in wanted)
            return Tally(done[below], keys, called if keys or called else calls[:1])
        case Window(below, calls):
            needed = tuple((name, call) for name, call in calls if name in wanted)
            return Window(done[below], needed) if needed else done[below]
        case Join(left, right, kind, on):
            return Join(done[left], done[right], kind, on)
        case SetOp(left, right, kind, all_):
            return SetOp(done[left], done[right], kind, all_)
        case Filter() | Generate() | Distinct() | Top() | Negate() | Net() | Rows() | Support():
            return replace(node, input=done[node.input])


def _referenced_columns(scalars: Iterable[Scalar]) -> list[str]:
    return [name for scalar in scalars for name in refs(scalar)]


def _columns_at_same_positions(node: Plan, part: Plan, wanted: Wanted) -> list[str]:
    return [theirs for ours, theirs in zip(node.names, part.names, strict=True) if ours in wanted]


def _project_exactly(plan: Plan, names: list[str]) -> Plan:
    """A union goes by position, so its parts have these columns and no others."""
    if list(plan.names) == names:
        return plan
    if isinstance(plan, Project):
        items = dict(plan.items)
        return Project(plan.input, tuple((name, items[name]) for name in names))
    return Project(plan, tuple((name, Ref(name)) for name in names))
