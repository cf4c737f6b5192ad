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
from anabranch.delta.affected import (
    change_of_groups,
    change_of_rows,
    change_of_sets,
    change_of_top,
    change_of_windows,
)
from anabranch.delta.groups import Exact, change_of_exact_groups
from anabranch.delta.join import change_of_join
from anabranch.delta.leaves import change_of_scan, change_of_values
from anabranch.delta.linear import change_of_filter, change_of_generate, change_of_project, change_of_union
from anabranch.delta.outer_join import change_of_full_join, change_of_preserved


def differentiate(plan: Plan, exact: Exact | None = None) -> Plan:
    """The change of a query's result, as a plan over changes and both ends of its tables.

    `exact` knows of which aggregates one end is enough; without it, all are computed at both.
    """
    done: dict[Plan, Plan] = {}

    def change(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = done[part] = _change(part)
        return found

    def _change(part: Plan) -> Plan:
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
                return change_of_join(part, change)
            case Join(kind="full"):
                return change_of_full_join(part, change)
            case Join():
                return change_of_preserved(part, change)
            case Aggregate():
                state = exact(part) if exact is not None and part.keys else None
                return (
                    change_of_groups(part, change)
                    if state is None
                    else change_of_exact_groups(part, state, change)
                )
            case Distinct():
                return change_of_rows(part, change)
            case SetOp():
                return change_of_sets(part, change)
            case Window():
                return change_of_windows(part, change)
            case Top():
                return change_of_top(part)
        raise TypeError(f"{type(part).__name__} is part of a change, not of a query")

    return change(plan)
