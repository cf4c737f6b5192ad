"""What a plan's shape says about how many rows it has, whatever the tables hold."""

from __future__ import annotations

from anabranch.algebra.plan import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    SetOp,
    Top,
    Values,
    Window,
)


def has_at_most_one_row(plan: Plan) -> bool:
    """Whether there can never be a second row.

    >>> from anabranch.algebra.plan import Scan
    >>> orders = Scan("orders", (("id", "id"),))
    >>> has_at_most_one_row(Aggregate(orders, (), ())), has_at_most_one_row(orders)
    (True, False)
    """
    pending: list[Plan] = [plan]
    while pending:
        match pending.pop():
            case Values(_, rows) if len(rows) <= 1:
                pass
            case Aggregate(_, ()):
                pass
            case Top(_, _, limit) if limit is not None and limit <= 1:
                pass
            case Filter(below) | Project(below) | Distinct(below) | Window(below) | Top(below):
                pending.append(below)
            case Join(left, _, "semi" | "anti") | SetOp(left):
                pending.append(left)
            case Join(left, right, "inner" | "left"):
                pending += (left, right)
            case _:
                return False
    return True
