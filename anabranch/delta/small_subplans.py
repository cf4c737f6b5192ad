"""Which parts of a change plan have few rows, judged by their shape alone: what comes from a change has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set

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
    SetOp,
    Support,
    Tally,
    Top,
    UnionAll,
    Values,
    Window,
)
from anabranch.algebra.plan_predicate import PlanPredicate
from anabranch.algebra.scalar import Call, Ref, Scalar, conjuncts, refs

COSTLY = (Join, Aggregate, SetOp, Window, Top)
"""Operators that make computing a subplan again worth avoiding: adding up a few changed rows doesn't."""


class IsSmall(PlanPredicate):
    """Whether a plan has few rows; computed once for each subplan."""

    def _decide(self, plan: Plan) -> bool:
        match plan:
            case Delta() | Values():
                return True
            case Materialised():
                return plan.few
            case Aggregate(_, keys) | Tally(_, keys) if not keys:
                return True
            case Top(_, _, limit) if limit is not None:
                return True
            case Filter() | Project() | Generate() | Negate() | Net() | Support() | Rows() | Distinct():
                return self(plan.input)
            case Tally() | Aggregate() | Window() | Top():
                return self(plan.input)
            case UnionAll(parts):
                return all(self(part) for part in parts)
            case SetOp(left, _):
                return self(left)
            case Join():
                return self._is_small_join(plan)
            case _:
                return False

    def _is_small_join(self, plan: Join) -> bool:
        left, right = self(plan.left), self(plan.right)
        match plan.kind:
            case "inner":
                # Without an equality, one small side still meets every row of the other.
                return (left and right) or ((left or right) and bool(equalities(plan)))
            case "semi":
                return left or (right and bool(equalities(plan)))
            case "left" | "anti":
                return left
            case "full":
                return left and right


class _OnlyChooses(PlanPredicate):
    """Whether a plan only chooses among rows of changes and steps: no row meets several others."""

    def __init__(self, steps: Set[Plan]) -> None:
        super().__init__()
        self._steps = steps

    def _decide(self, plan: Plan) -> bool:
        if plan in self._steps:
            return True
        match plan:
            case Delta() | Materialised() | Values():
                return True
            case Filter() | Project() | Negate() | Net() | Support() | Rows() | Distinct():
                return self(plan.input)
            case UnionAll(parts):
                return all(self(part) for part in parts)
            case Join(left, right, "semi" | "anti"):
                return self(left) and self(right)
            case _:
                return False


def shared_small_subplans(
    upwards: Sequence[Plan], small: IsSmall, chosen: Iterable[Plan] = (), keys: Collection[Plan] = ()
) -> tuple[set[Plan], set[Plan]]:
    """The subplans that are computed once, as steps: what is `chosen`, and what is small, costs something and
    stands in several places. And those that cost something and aren't.

    `upwards`: all subplans of a plan, inputs first. `keys`: sets of keys that are computed without an engine,
    so that what stands in them alone is no step.
    """
    steps, costly = set(chosen), set[Plan]()
    uses = _count_uses(upwards, steps, keys)
    only_chooses = _OnlyChooses(steps)
    for part in upwards:
        if part in steps:
            continue
        if isinstance(part, COSTLY) or any(below in costly for below in part.inputs):
            # To choose among rows at hand twice costs less than a statement.
            if uses[part] > 1 and small(part) and not (uses[part] == 2 and only_chooses(part)):
                steps.add(part)
            else:
                costly.add(part)
    return steps, costly


def _count_uses(
    upwards: Sequence[Plan], steps: Collection[Plan], keys: Collection[Plan]
) -> Mapping[Plan, int]:
    """In how many places each subplan stands, but in sets of keys."""
    uses: Counter[Plan] = Counter()
    for part in reversed(upwards):
        within = part in keys or (part not in steps and part is not upwards[-1] and not uses[part])
        if not within:
            uses.update(part.inputs)
    return uses


def equalities(join: Join) -> list[tuple[str, Scalar, Scalar]]:
    """What a join's condition equates, and how: a value of the left with a value of the right."""
    return equality_pairs(join.on, set(join.left.names), set(join.right.names))


def equates_right_columns(join: Join) -> bool:
    """Whether all columns of the right are equated: rows that differ then have no matching row in common.

    Where values are converted, they may: both '1' and '01' equal 1.
    """
    plain = {there for op, _, there in equalities(join) if op != "~="}
    return {Ref(name) for name in join.right.names} <= plain


def has_distinct_rows(plan: Plan) -> bool:
    """Whether no two rows of a plan are equal, as far as its shape says."""
    match plan:
        case Distinct() | Support() | Aggregate() | Tally():
            return True
        case Project(Aggregate(_, keys) | Tally(_, keys), items):
            return {Ref(name) for name, _ in keys} <= {scalar for _, scalar in items}
        case _:
            return False


def equality_pairs(condition: Scalar, left: Set[str], right: Set[str]) -> list[tuple[str, Scalar, Scalar]]:
    """The values that a condition equates between two sets of columns."""
    found: list[tuple[str, Scalar, Scalar]] = []
    for part in conjuncts(condition):
        match part:
            case Call("=" | "<=>" | "~=" as op, (one, two)):
                ones, twos = set(refs(one)), set(refs(two))
                if ones and twos and ones <= left and twos <= right:
                    found.append((op, one, two))
                elif ones and twos and ones <= right and twos <= left:
                    found.append((op, two, one))
            case _:
                pass
    return found
