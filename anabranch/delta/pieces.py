"""State below the root: parts of a query that are stored for themselves, as tables that nobody sees.

Some operators have no keys: the first rows of an order, an aggregate of all rows, a window without
partitions. Whatever changes below them, all of it is looked at again. With what is below them stored and
maintained, that look is all that is done again. And a value that stands for a whole table, as a scalar
subquery does, is stored too: what depends on it only asks whether it changed. So are counts of partners
(see `partners`).
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.algebra.plan import (
    LINEAR_CALLS,
    Aggregate,
    Filter,
    Plan,
    Project,
    Scan,
    Top,
    Values,
    Window,
    subplans,
)
from anabranch.algebra.rebuild import with_inputs
from anabranch.delta.partners import partners_counted

STATE = "__state"


@dataclass(frozen=True)
class Piece:
    """A plan whose result is stored: under a name of its own, or as the query's result."""

    table: str
    plan: Plan
    columns: tuple[str, ...]


def pieces(plan: Plan, columns: tuple[str, ...], table: str) -> tuple[Piece, ...]:
    """A query as what is stored for it, in the order of computation; the query's own result comes last."""
    counted = partners_counted(plan)
    plan, wanted = counted.plan, _wanted(counted.plan) | counted.counts
    stored: list[Piece] = []
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = with_inputs(part, visit)
            if part in wanted and not _is_plain(found):
                found = store(found)
            done[part] = found
        return found

    def store(part: Plan) -> Scan:
        number = len(stored) + 1
        name = f"{table}{STATE}{number if number > 1 else ''}"
        piece = Piece(name, part, tuple(f"c{place}" for place in range(len(part.names))))
        stored.append(piece)
        return Scan(name, tuple(zip(part.names, piece.columns, strict=True)))

    result = visit(plan)
    return (*stored, Piece(table, result, columns))


def _wanted(plan: Plan) -> set[Plan]:
    """The parts to store, wherever they stand."""
    core = _core(plan)
    found: set[Plan] = set()
    for part in subplans(plan):
        if isinstance(part, Top | Aggregate | Window) and _is_keyless(part):
            if not _adds_up(part):
                # Below projections, where other parts of the query may meet it; below HAVING, which hides
                # groups that would have to be known.
                found.add(_core(part.input))
            # At the root it is the result; the first rows of something stored are quickly found again.
            if part is not core and isinstance(part, Aggregate):
                found.add(part)
    return found


def _core(plan: Plan) -> Plan:
    """The first operator that is neither projection nor filter."""
    while isinstance(plan, Project | Filter):
        plan = plan.input
    return plan


def _is_keyless(plan: Top | Aggregate | Window) -> bool:
    match plan:
        case Aggregate():
            return not plan.keys
        case Window():
            return not plan.calls[0][1].partition
        case Top():
            return True


def _adds_up(plan: Plan) -> bool:
    """Whether a change can be added to it: then it needs nothing below it stored."""
    return isinstance(plan, Aggregate) and all(
        call.function in (*LINEAR_CALLS, "avg") and not call.distinct for _, call in plan.calls
    )


def _is_plain(plan: Plan) -> bool:
    """Whether it is read from one table row by row: storing it again would gain nothing."""
    return isinstance(_core(plan), Scan | Values)
