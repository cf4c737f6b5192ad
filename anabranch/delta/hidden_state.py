"""Hidden state: subplans of a query whose results are stored, as tables that readers don't see.

Some operators have no keys: the first rows of an order, an aggregate of all rows, a window without
partitions. Whatever changes below them, they read their whole input again. With that input stored and
maintained, reading it is all that is done again. And a value that stands for a whole table, as a scalar
subquery does, is stored too: what depends on it only asks whether it changed. So are counts of matching rows
(see `eager_count`), and groups inside of a query that are few because a filtered table restricts them
(see `restrict_groups`): a change is added to them, where else all rows of the touched groups would be read.

Values that depend on the order of rows are stored wherever they stand inside of a query (`order_of_rows`):
computed again for the earlier end, they might not be those that the stored rows were made of.
"""

from __future__ import annotations

from collections.abc import Callable
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
from anabranch.algebra.transform import map_inputs
from anabranch.delta.eager_count import count_eagerly
from anabranch.delta.restrict_groups import is_restricted, restrict_groups

STATE = "__state"
AUTO, NEVER, ALWAYS = "auto", "never", "always"
INNER_STATES = (AUTO, NEVER, ALWAYS)
"""Which groups inside of a query are stored."""

DependsOnOrder = Callable[[Aggregate | Window], bool]
"""Whether values of a group or a window may be others when they are computed again."""


@dataclass(frozen=True)
class HiddenState:
    """A plan whose result is stored: under a name of its own, or as the query's result."""

    table: str
    plan: Plan
    columns: tuple[str, ...]


def split_hidden_state(
    plan: Plan,
    columns: tuple[str, ...],
    table: str,
    inner_state: str = AUTO,
    depends_on_order: DependsOnOrder = lambda part: False,
) -> tuple[HiddenState, ...]:
    """The hidden states of a query, in the order of computation; the query's own result comes last.

    `inner_state`: which groups inside of the query are stored: those that are few, all, or none.
    """
    counted = count_eagerly(plan if inner_state == NEVER else restrict_groups(plan))
    plan = counted.plan
    wanted = _subplans_to_store(plan) | counted.counts | _groups_to_store(plan, inner_state)
    wanted |= _values_to_store(plan, depends_on_order)
    stored: list[HiddenState] = []
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = map_inputs(part, visit)
            if part in wanted and not _is_single_scan(found):
                found = add_state(found)
            done[part] = found
        return found

    def add_state(part: Plan) -> Scan:
        number = len(stored) + 1
        name = f"{table}{STATE}{number if number > 1 else ''}"
        piece = HiddenState(name, part, tuple(f"c{place}" for place in range(len(part.names))))
        stored.append(piece)
        return Scan(name, tuple(zip(part.names, piece.columns, strict=True)))

    result = visit(plan)
    return (*stored, HiddenState(table, result, columns))


def _subplans_to_store(plan: Plan) -> set[Plan]:
    """The subplans to store, wherever they stand."""
    core = _core_operator(plan)
    found: set[Plan] = set()
    for part in subplans(plan):
        if isinstance(part, Top | Aggregate | Window) and _is_keyless(part):
            if not _is_linear_aggregate(part):
                # Below projections, where other parts of the query may meet it; below HAVING, which hides
                # groups that would have to be known.
                found.add(_core_operator(part.input))
            # At the root it is the result; the first rows of something stored are quickly found again.
            if part is not core and isinstance(part, Aggregate):
                found.add(part)
    return found


def _groups_to_store(plan: Plan, inner_state: str) -> set[Plan]:
    """The groups below the root to which a change can be added, as the setting asks for them."""
    if inner_state == NEVER:
        return set()
    return {
        part
        for part in subplans(plan)
        if isinstance(part, Aggregate)
        and part.keys
        and part is not _core_operator(plan)
        and _is_linear_aggregate(part)
        and (inner_state == ALWAYS or is_restricted(part.input))
    }


def _values_to_store(plan: Plan, depends_on_order: DependsOnOrder) -> set[Plan]:
    """Groups and windows below the root with values that are computed only once."""
    core = _core_operator(plan)
    return {
        part
        for part in subplans(plan)
        if isinstance(part, Aggregate | Window) and part is not core and depends_on_order(part)
    }


def _core_operator(plan: Plan) -> Plan:
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


def _is_linear_aggregate(plan: Plan) -> bool:
    """Whether a change can be added to it: then it needs nothing below it stored."""
    return isinstance(plan, Aggregate) and all(
        call.function in (*LINEAR_CALLS, "avg") and not call.distinct for _, call in plan.calls
    )


def _is_single_scan(plan: Plan) -> bool:
    """Whether it is read from one table row by row: storing it again would gain nothing."""
    return isinstance(_core_operator(plan), Scan | Values)
