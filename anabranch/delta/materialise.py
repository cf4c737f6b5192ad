"""Materialised subplans: what several parts of a change need is computed once, by a statement of its own.

SQL has no way to share rows within a statement: an engine that inlines common table expressions computes
them at every use, and plans them at every use, which for nested subqueries takes longer than the data. So
shared subplans that cost something are materialised:

- small ones always;
- look-ups of the tables that are looked up, and the keys of these, always: no statement computes them;
- what a change adds to groups, where these are few and nothing else is read: the process adds it to them;
- others, whose rows go to files, only where a statement would still be too long to plan. Those that make it
  shorter by the most operators come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import Delta, Join, Materialised, Plan, Project, Scan, Tally, subplans
from anabranch.algebra.transform import map_inputs
from anabranch.algebra.weights import HasWeightColumn
from anabranch.delta.look_ups import choose_look_ups, keys_of
from anabranch.delta.small_subplans import IsSmall, equalities, shared_small_subplans

LONG = 150
"""A statement has up to so many operators, counted at every use. With more, planning takes seconds."""
WORTH = 20
"""Materialising a subplan that isn't small must save so many operators."""


@dataclass(frozen=True)
class Steps:
    """Statements to run one after the other; each may read the rows of those before it."""

    before: tuple[tuple[Materialised, Plan], ...]
    last: Plan
    looked_up: frozenset[str] = frozenset()
    """The names of those before that are look-ups, or keys of look-ups."""


def materialise_shared(
    plan: Plan, *, long: int = LONG, lookups: Collection[str] = (), few_stored: bool = False
) -> Steps:
    """The plan in steps; `lookups`: tables whose rows are looked up; `few_stored`: the stored rows are few.

    Law: evaluate(steps.last), with the rows of each `Materialised` being its plan's, = evaluate(plan).
    """
    small, weighted = IsSmall(), HasWeightColumn()
    look_ups, with_keys = choose_look_ups(plan, lookups)
    tallies = _last_tallies(plan, small) if few_stored else set[Plan]()
    chosen = _choose_subplans(plan, small, long, look_ups | with_keys | tallies)
    looked_up: set[str] = set()
    steps: list[tuple[Materialised, Plan]] = []
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = map_inputs(part, visit)
            if part in chosen:
                columns = tuple((name, name) for name in found.names)
                leaf = Materialised(f"step_{len(steps)}", columns, weighted(found), small(part))
                steps.append((leaf, found))
                if part in look_ups:
                    looked_up.add(leaf.name)
                found = leaf
            done[part] = found
        return found

    last = visit(plan)
    return Steps(tuple(steps), last, frozenset(looked_up))


def _last_tallies(plan: Plan, small: IsSmall) -> set[Plan]:
    """The tallies of a plan that else reads nothing but stored rows; none if it reads more."""
    found: set[Plan] = set()
    pending, seen = [plan], {plan}
    while pending:
        part = pending.pop()
        if isinstance(part, Tally) and small(part):
            found.add(part)
        elif isinstance(part, Scan | Delta):
            return set()
        else:
            pending += [below for below in part.inputs if below not in seen]
            seen.update(part.inputs)
    return found


def inlined_operator_count(plan: Plan) -> int:
    """How many operators a plan has, counted at every use."""
    return _inlined_lengths(subplans(plan), ())[plan]


def _choose_subplans(plan: Plan, small: IsSmall, long: int, wanted: Collection[Plan]) -> set[Plan]:
    """The subplans to materialise: those that are wanted as steps, and others."""
    upwards = subplans(plan)
    chosen, costly = shared_small_subplans(upwards, small, wanted, keys_of(wanted))
    uses = Counter(below for part in upwards for below in part.inputs)
    shared = [part for part in upwards if part in costly and uses[part] > 1]
    while True:
        lengths = _inlined_lengths(upwards, chosen)
        places = _use_counts(upwards, chosen, [one for one in (plan, *chosen) if lengths[one] > long])
        saved = {part: (places[part] - 1) * (lengths[part] - 1) for part in shared if part not in chosen}
        worth = [part for part, operators in saved.items() if operators >= WORTH]
        if not worth:
            return chosen
        chosen.add(min(worth, key=lambda part: (_is_cross_join(part), -saved[part])))


def _inlined_lengths(upwards: Iterable[Plan], chosen: Collection[Plan]) -> Mapping[Plan, int]:
    """How many operators each subplan has, counted at every use; a materialised one is one."""
    lengths: dict[Plan, int] = {}
    for part in upwards:
        lengths[part] = 1 + sum(1 if below in chosen else lengths[below] for below in part.inputs)
    return lengths


def _use_counts(upwards: list[Plan], chosen: Collection[Plan], statements: Iterable[Plan]) -> Counter[Plan]:
    """In how many places each subplan stands, over all of some statements."""
    places = Counter(statements)
    for part in reversed(upwards):
        for below in part.inputs:
            if below not in chosen:
                places[below] += places[part]
    return places


def _is_cross_join(plan: Plan) -> bool:
    """Whether it has a row for every pair of rows: more than should be materialised."""
    while isinstance(plan, Project):
        plan = plan.input
    return isinstance(plan, Join) and plan.kind in ("inner", "left", "full") and not equalities(plan)
