"""Rows aren't added up before an operator that adds weights up itself, or passes them on.

    Rows(Net(R)) = R,  as a Z-set

What differs is how it is written: once for each occurrence, or with a weight, several times and with other
signs. Linear operators take either. Groups, windows, first rows, and the side of a join that is only asked
for matching rows need every row once for each occurrence, and keep it.
"""

from __future__ import annotations

from anabranch.algebra.plan import (
    Filter,
    Generate,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Support,
    Tally,
    UnionAll,
)
from anabranch.algebra.transform import map_inputs


def keep_weights(plan: Plan) -> Plan:
    """The plan with weights passed on where that is possible.

    Law: evaluate(keep_weights(plan)) = evaluate(plan).
    """
    done: dict[tuple[Plan, bool], Plan] = {}

    def visit(part: Plan, takes_weights: bool) -> Plan:
        found = done.get((part, takes_weights))
        if found is None:
            found = done[part, takes_weights] = rewrite(part, takes_weights)
        return found

    def rewrite(part: Plan, takes_weights: bool) -> Plan:
        match part:
            case Rows(Net(source)) | Rows(source) if takes_weights:
                return visit(source, True)
            case Net() | Support() | Tally() | Rows():
                return map_inputs(part, lambda below: visit(below, True))
            case Filter() | Project() | Generate() | Negate() | UnionAll() | Join(kind="inner"):
                return map_inputs(part, lambda below: visit(below, takes_weights))
            case Join(left, right, "left" | "semi" | "anti"):
                sides = {left: takes_weights, right: False}
                return map_inputs(part, lambda below: visit(below, sides[below]))
            case _:
                return map_inputs(part, lambda below: visit(below, False))

    return visit(plan, False)
