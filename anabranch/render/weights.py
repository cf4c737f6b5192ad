"""Which plans are changes: rows with a weight of their own, rather than one each."""

from __future__ import annotations

from anabranch.algebra.plan import Delta, Filter, Generate, Join, Negate, Net, Plan, Project, UnionAll


def is_weighted(plan: Plan) -> bool:
    """Whether the rendered rows carry a weight column."""
    match plan:
        case Delta() | Negate():
            return True
        case Filter() | Project() | Generate() | Net():
            return is_weighted(plan.input)
        case UnionAll(parts):
            return any(is_weighted(part) for part in parts)
        case Join(left, right, "inner"):
            return is_weighted(left) or is_weighted(right)
        case Join(left, right, _):
            if is_weighted(right):
                raise ValueError(f"a change can't be the right side of a {plan.kind} join")
            return is_weighted(left)
        case _:
            if any(is_weighted(part) for part in plan.inputs if not _forgets(plan)):
                raise ValueError(f"{type(plan).__name__} is not defined on changes")
            return False


def _forgets(plan: Plan) -> bool:
    return type(plan).__name__ == "Support"
