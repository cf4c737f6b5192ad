"""Join order: inner joins of a change begin with what is small.

A change of one table in a join of many meets them in the order in which they hang together: each step
then has few rows on one side, which an engine can broadcast. In the order of the query
the tables before the changed one would be joined in full.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from anabranch.algebra.plan import Distinct, Filter, Join, Plan, Project, Support, UnionAll, subplans
from anabranch.algebra.scalar import Call, Ref, Scalar, all_of, conjuncts, refs
from anabranch.algebra.transform import map_inputs
from anabranch.delta.interval_ends import at_until
from anabranch.delta.push_semi_joins import push_semi_join
from anabranch.delta.single_partition import NOTHING, InSinglePartition, RelationFacts
from anabranch.delta.small_subplans import IsSmall, equalities, equality_pairs

PARTNER = "__n"


def reorder_joins(plan: Plan, known: RelationFacts = NOTHING) -> Plan:
    """The same plan with the inner joins of a change in another order: small tables before large ones.

    Law: evaluate(reorder_joins(plan)) = evaluate(plan).
    """
    small = IsSmall()
    together = InSinglePartition(known, small)
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = done[part] = reorder(part)
        return found

    def reorder(part: Plan) -> Plan:
        if isinstance(part, Join) and part.kind == "inner":
            relations, conditions = _flatten_joins(part)
            if len(relations) > 2 and any(small(relation) for relation in relations):
                joined = _join_small_first(
                    [visit(relation) for relation in relations], conditions, small, together
                )
                return Project(joined, tuple((name, Ref(name)) for name in part.names))
        return map_inputs(part, visit)

    return visit(plan)


def _flatten_joins(join: Join) -> tuple[list[Plan], list[Scalar]]:
    """The relations of nested inner joins, and all that they must fulfil."""
    relations: list[Plan] = []
    conditions = conjuncts(join.on)
    for side in (join.left, join.right):
        if isinstance(side, Join) and side.kind == "inner":
            below, more = _flatten_joins(side)
            relations += below
            conditions += more
        else:
            relations.append(side)
    return relations, conditions


def _join_small_first(
    relations: list[Plan], conditions: list[Scalar], small: IsSmall, together: InSinglePartition
) -> Plan:
    waiting = [_push_filters(relation, conditions) for relation in relations]
    open_conditions = [
        condition
        for condition in conditions
        if not any(set(refs(condition)) <= set(relation.names) for relation in relations)
    ]
    current = min(waiting, key=lambda relation: not small(relation))
    waiting.remove(current)
    met: set[Scalar] = set()

    def preference(relation: Plan) -> tuple[bool, ...]:
        pairs = equality_pairs(all_of(open_conditions), set(current.names), set(relation.names))
        return not pairs, not small(relation), _has_only_used_keys(pairs, met), not together(relation)

    while waiting:
        following = min(waiting, key=preference)
        waiting.remove(following)
        pairs = equality_pairs(all_of(open_conditions), set(current.names), set(following.names))
        met.update(side for _, *sides in pairs for side in sides)
        known = {*current.names, *following.names}
        now = [condition for condition in open_conditions if set(refs(condition)) <= known]
        open_conditions = [condition for condition in open_conditions if condition not in now]
        current = Join(current, following, "inner", all_of(now))
    return current


def _has_only_used_keys(pairs: Sequence[tuple[str, Scalar, Scalar]], met: Collection[Scalar]) -> bool:
    """Whether a relation hangs on nothing but values by which others have met already.

    All that share such a value would be combined with each other: every supplier of a nation with every
    customer of it. Whoever is joined later may have more that ties it.
    """
    return bool(pairs) and all(here in met for _, here, _ in pairs)


def _push_filters(relation: Plan, conditions: list[Scalar]) -> Plan:
    own = [condition for condition in conditions if set(refs(condition)) <= set(relation.names)]
    return Filter(relation, all_of(own)) if own else relation


def reduce_right_sides(plan: Plan, known: RelationFacts = NOTHING) -> Plan:
    """ΔL ∘ R becomes ΔL ∘ (R ⋉ ΔL), for left, semi and anti joins.

    An engine can only broadcast the right side of such a join, and R is large. Where it isn't, it stays.

    Law: evaluate(reduce_right_sides(plan)) = evaluate(plan).
    """
    small = IsSmall()
    together = InSinglePartition(known, small)
    askers = _probe_plans(plan, lambda join: _can_reduce_right_side(join, small, together))
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            narrowed = (
                _reduce_right_side(part, askers[part]) if isinstance(part, Join) and part in askers else part
            )
            found = done[part] = map_inputs(narrowed, visit)
        return found

    return visit(plan)


def _can_reduce_right_side(join: Join, small: IsSmall, together: InSinglePartition) -> bool:
    if join.kind not in ("left", "semi", "anti") or not small(join.left) or not equalities(join):
        return False
    return not small(join.right) and not together(join.right)


def _reduce_right_side(join: Join, askers: Sequence[Plan]) -> Join:
    """A join whose right side has only the matching rows of some rows, those of its left side among them."""
    pairs = equalities(join)
    names = [f"{PARTNER}{place}" for place in range(len(pairs))]
    keys = tuple((name, here) for name, (_, here, _) in zip(names, pairs, strict=True))
    on = all_of(Call(op, (there, Ref(name))) for name, (op, _, there) in zip(names, pairs, strict=True))
    asked = [Project(Support(left), keys) for left in askers]
    united = asked[0] if len(asked) == 1 else UnionAll(tuple(asked))
    return replace(join, right=push_semi_join(join.right, Distinct(united), on))


def _probe_plans(plan: Plan, wanted: Callable[[Join], bool]) -> dict[Plan, Sequence[Plan]]:
    """For every join whose right side is reduced, the rows whose matching rows are looked up.

    A change probes the same table several times, at both ends too: combined, that is one lookup. They are not
    combined where one lookup depends on the result of another.
    """
    joins = [part for part in subplans(plan) if isinstance(part, Join) and wanted(part)]
    alike: dict[tuple[Plan, Scalar], list[Join]] = {}
    for join in joins:
        alike.setdefault((at_until(join.right), join.on), []).append(join)
    group: dict[Plan, int] = {
        join: number for number, members in enumerate(alike.values()) for join in members
    }
    below = [
        {group[part] for join in members for side in join.inputs for part in subplans(side) if part in group}
        for members in alike.values()
    ]
    found: dict[Plan, Sequence[Plan]] = {}
    for number, members in enumerate(alike.values()):
        lefts = tuple(dict.fromkeys(join.left for join in members))
        circular = number in _descendants(below, number)
        found |= {join: (join.left,) if circular else lefts for join in members}
    return found


def _descendants(below: Sequence[Collection[int]], start: int) -> set[int]:
    """Everything that is below a start, however far."""
    reached: set[int] = set()
    pending = list(below[start])
    while pending:
        current = pending.pop()
        if current not in reached:
            reached.add(current)
            pending += below[current]
    return reached
