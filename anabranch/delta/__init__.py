"""From a query to its change: both are plans.

    evaluate(differentiate(Q)) = Q at until - Q at since

One rule per kind of operator, each in a file of its own, with its law in the docstring. ₀ is the
interval's beginning (`since`), ₁ its end (`until`), Δ the difference.
"""

from __future__ import annotations

from anabranch.algebra.plan import (
    Aggregate,
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
from anabranch.delta.affected_keys import (
    change_of_aggregate,
    change_of_distinct,
    change_of_set_operation,
    change_of_top,
    change_of_window,
)
from anabranch.delta.inner_aggregate import Exact, change_of_inner_aggregate
from anabranch.delta.inner_join import change_of_inner_join
from anabranch.delta.leaves import change_of_scan, change_of_values
from anabranch.delta.linear import change_of_filter, change_of_generate, change_of_project, change_of_union
from anabranch.delta.outer_join import change_of_full_join, change_of_left_semi_anti_join


def differentiate(plan: Plan, exact: Exact | None = None, origins: dict[Plan, Plan] | None = None) -> Plan:
    """The change of a query's result, as a plan over changes and both ends of its tables.

    `exact` knows of which aggregates one end is enough; without it, all are computed at both. `origins` is
    told of which operator that isn't linear a part of the result is the change.
    """
    done: dict[Plan, Plan] = {}

    def change(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = done[part] = apply_rule(part)
            if origins is not None and _is_not_linear(part):
                origins[found] = part
        return found

    def apply_rule(part: Plan) -> Plan:
        match part:
            case Scan():
                return change_of_scan(part)
            case Values():
                return change_of_values(part)
            case Filter():
                return change_of_filter(part, change)
            case Project():
                return change_of_project(part, change)
            case UnionAll():
                return change_of_union(part, change)
            case Generate():
                return change_of_generate(part, change)
            case Join(kind="inner"):
                return change_of_inner_join(part, change)
            case Join(kind="full"):
                return change_of_full_join(part, change)
            case Join():
                return change_of_left_semi_anti_join(part, change)
            case Aggregate():
                state = exact(part) if exact is not None and part.keys else None
                return (
                    change_of_aggregate(part, change)
                    if state is None
                    else change_of_inner_aggregate(part, state, change)
                )
            case Distinct():
                return change_of_distinct(part, change)
            case SetOp():
                return change_of_set_operation(part, change)
            case Window():
                return change_of_window(part, change)
            case Top():
                return change_of_top(part)
        raise TypeError(f"{type(part).__name__} is part of a change, not of a query")

    return change(plan)


def _is_not_linear(plan: Plan) -> bool:
    if isinstance(plan, Join):
        return plan.kind != "inner"
    return isinstance(plan, Aggregate | Distinct | SetOp | Window)
