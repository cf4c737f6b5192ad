"""Inner joins begin with what is small.

A change of one table in a join of many meets them in the order in which they hang together: each step
then has few rows on one side, which an engine can send to where the others are. In the order of the query
the tables before the changed one would be joined in full.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.plan import Distinct, Filter, Join, Plan, Project, Support
from anabranch.algebra.rebuild import with_inputs
from anabranch.algebra.scalar import Call, Ref, Scalar, all_of, conjuncts, refs
from anabranch.delta.restrict import push
from anabranch.delta.small import Small, equalities, equated
from anabranch.delta.together import NOTHING, Known, Together

PARTNER = "__n"


def small_first(plan: Plan, known: Known = NOTHING) -> Plan:
    """The same plan with the inner joins of a change in another order: small tables before large ones.

    Law: evaluate(small_first(plan)) = evaluate(plan).
    """
    small = Small()
    together = Together(known, small)
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = done[part] = reordered(part)
        return found

    def reordered(part: Plan) -> Plan:
        if isinstance(part, Join) and part.kind == "inner":
            relations, conditions = _flat(part)
            if len(relations) > 2 and any(small(relation) for relation in relations):
                joined = _joined([visit(relation) for relation in relations], conditions, small, together)
                return Project(joined, tuple((name, Ref(name)) for name in part.names))
        return with_inputs(part, visit)

    return visit(plan)


def _flat(join: Join) -> tuple[list[Plan], list[Scalar]]:
    """The relations of nested inner joins, and all that they must fulfil."""
    relations: list[Plan] = []
    conditions = conjuncts(join.on)
    for side in (join.left, join.right):
        if isinstance(side, Join) and side.kind == "inner":
            below, more = _flat(side)
            relations += below
            conditions += more
        else:
            relations.append(side)
    return relations, conditions


def _joined(relations: list[Plan], conditions: list[Scalar], small: Small, together: Together) -> Plan:
    waiting = [_filtered(relation, conditions) for relation in relations]
    open_conditions = [
        condition
        for condition in conditions
        if not any(set(refs(condition)) <= set(relation.names) for relation in relations)
    ]
    current = min(waiting, key=lambda relation: not small(relation))
    waiting.remove(current)
    while waiting:
        known = set(current.names)
        following = min(
            waiting,
            key=lambda relation: (
                not equated(all_of(open_conditions), known, set(relation.names)),
                not small(relation),
                not together(relation),
            ),
        )
        waiting.remove(following)
        known |= set(following.names)
        now = [condition for condition in open_conditions if set(refs(condition)) <= known]
        open_conditions = [condition for condition in open_conditions if condition not in now]
        current = Join(current, following, "inner", all_of(now))
    return current


def _filtered(relation: Plan, conditions: list[Scalar]) -> Plan:
    own = [condition for condition in conditions if set(refs(condition)) <= set(relation.names)]
    return Filter(relation, all_of(own)) if own else relation


def narrow_partners(plan: Plan, known: Known = NOTHING) -> Plan:
    """ΔL ∘ R becomes ΔL ∘ (R ⋉ ΔL), for left, semi and anti joins.

    An engine can only send the right side of such a join around, and R is large. Where it isn't, it stays.

    Law: evaluate(narrow_partners(plan)) = evaluate(plan).
    """
    small = Small()
    together = Together(known, small)
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            narrowed = _narrowed(part, small, together) if isinstance(part, Join) else part
            found = done[part] = with_inputs(narrowed, visit)
        return found

    return visit(plan)


def _narrowed(join: Join, small: Small, together: Together) -> Join:
    if join.kind not in ("left", "semi", "anti") or not small(join.left):
        return join
    if small(join.right) or together(join.right):
        return join
    pairs = equalities(join)
    if not pairs:
        return join
    names = [f"{PARTNER}{place}" for place in range(len(pairs))]
    keys = tuple((name, here) for name, (_, here, _) in zip(names, pairs, strict=True))
    on = all_of(Call(op, (there, Ref(name))) for name, (op, _, there) in zip(names, pairs, strict=True))
    return replace(join, right=push(join.right, Distinct(Project(Support(join.left), keys)), on))
