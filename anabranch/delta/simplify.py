"""Making a plan smaller without changing what it means. The pipeline is a list of passes.

What is known when a refresh is planned goes in first: a table that didn't change has no change,
and is the same at both ends. Most of a change plan vanishes with that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from anabranch.algebra.plan import (
    Aggregate,
    At,
    Delta,
    Distinct,
    Filter,
    Generate,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    SetOp,
    Support,
    Tally,
    Top,
    UnionAll,
    Window,
    empty,
    is_empty,
)
from anabranch.algebra.rebuild import rebuild
from anabranch.algebra.scalar import TRUE, Ref
from anabranch.delta.one_end import from_one_end
from anabranch.delta.order import narrow_partners, small_first
from anabranch.delta.restrict import push_restrictions
from anabranch.delta.together import NOTHING, Known


def simplify(plan: Plan, *, changed: Collection[str] | None = None, known: Known = NOTHING) -> Plan:
    """The same Z-set by a smaller plan, given which tables changed (None: any may have), and what is known
    of the sizes of what it reads.
    """
    passes: list[Callable[[Plan], Plan]] = [
        lambda part: specialise(part, changed),
        drop_empty,
        push_restrictions,
        drop_empty,
        lambda part: narrow_partners(part, known),
        lambda part: from_one_end(part, known),
        lambda part: small_first(part, known),
    ]
    for one in passes:
        plan = one(plan)
    return plan


def specialise(plan: Plan, changed: Collection[str] | None) -> Plan:
    """ΔT = 0 and T₀ = T₁ for every table T that didn't change."""
    if changed is None:
        return plan

    def known(part: Plan) -> Plan:
        match part:
            case Delta(table) if table not in changed:
                return empty(part.names)
            case Scan(table, _, At.SINCE) if table not in changed:
                return replace(part, at=At.UNTIL)
            case _:
                return part

    return rebuild(plan, known)


def drop_empty(plan: Plan) -> Plan:
    """What is made of nothing is nothing; what does nothing is left out."""
    return rebuild(plan, _smaller)


def _smaller(plan: Plan) -> Plan:
    match plan:
        case Filter(source, condition) if condition == TRUE:
            return source
        case Project(source, items) if items == tuple((name, Ref(name)) for name in source.names):
            return source
        case Net(Net() | Support() | Distinct() as source) | Support(Support() | Distinct() as source):
            return source
        case Support(Net(Delta() as source)):
            # The rows of a change are handed over added up.
            return Support(source)
        case Negate(Negate(source)):
            return source
        case Filter() | Project() | Generate() | Negate() | Net() | Support() | Rows():
            return empty(plan.names) if is_empty(plan.input) else plan
        case Distinct() | Window() | Top():
            return empty(plan.names) if is_empty(plan.input) else plan
        case Aggregate(source, keys) | Tally(source, keys):
            return empty(plan.names) if is_empty(source) and keys else plan
        case UnionAll():
            return _union(plan)
        case Join():
            return _join(plan)
        case SetOp(left, right, kind):
            nothing = is_empty(left) or (kind == "intersect" and is_empty(right))
            return empty(plan.names) if nothing else plan
        case _:
            return plan


def _join(plan: Join) -> Plan:
    left, right = is_empty(plan.left), is_empty(plan.right)
    match plan.kind:
        case "inner" | "semi":
            nothing = left or right
        case "left" | "anti":
            nothing = left
        case "full":
            nothing = left and right
    if nothing:
        return empty(plan.names)
    return plan.left if plan.kind == "anti" and right else plan


def _union(plan: UnionAll) -> Plan:
    """Flat, without empty parts, and without a part that another one takes back."""
    parts: list[Plan] = []
    for part in plan.parts:
        for inner in _flat(part):
            opposite = inner.input if isinstance(inner, Negate) else Negate(inner)
            if is_empty(inner):
                continue
            if opposite in parts:
                parts.remove(opposite)
            else:
                parts.append(inner)
    if not parts:
        return empty(plan.names)
    whole = parts[0] if len(parts) == 1 else UnionAll(tuple(parts))
    if whole.names == plan.names:
        return whole
    return Project(whole, tuple((new, Ref(old)) for new, old in zip(plan.names, whole.names, strict=True)))


def _flat(part: Plan) -> list[Plan]:
    match part:
        case UnionAll(parts):
            return [inner for one in parts for inner in _flat(one)]
        case Negate(UnionAll(parts)):
            return [inner for one in parts for inner in _flat(Negate(one))]
        case Negate(Negate(source)):
            return _flat(source)
        case _:
            return [part]
