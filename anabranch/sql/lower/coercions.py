"""Equalities from which a key follows, told apart from those that convert.

Rules that follow keys from table to table rely on equal being equal all along. It is between columns of
one type; between text and numbers, or decimals and doubles, it isn't.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.algebra.plan import Join, Plan
from anabranch.algebra.scalar import Call, Ref, Scalar, all_of, conjuncts
from anabranch.algebra.transform import transform_up
from anabranch.schema import Type


def mark_converting_equalities(plan: Plan, types: Mapping[str, Type]) -> Plan:
    """The plan with `~=` for every equality of a join whose columns may differ in type."""

    def mark_join(part: Plan) -> Plan:
        if not isinstance(part, Join):
            return part
        return replace(part, on=all_of(_mark_condition(condition, types) for condition in conjuncts(part.on)))

    return transform_up(plan, mark_join)


def _mark_condition(condition: Scalar, types: Mapping[str, Type]) -> Scalar:
    match condition:
        case Call("=", (Ref(left), Ref(right)) as args):
            if types.get(left) is None or types.get(left) != types.get(right):
                return Call("~=", args)
        case _:
            pass
    return condition
