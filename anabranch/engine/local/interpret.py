"""A change plan, computed here over rows in memory; the engine is asked where that can't be.

It can't be in two places. Where the plan meets a large relation, the engine is asked for the rows that are
looked up, with the keys in hand: no keys, no question. And what isn't understood here it computes over the
rows that are held here. Everything in between costs no statement, and what turns out to be empty costs
nothing at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Distinct,
    Filter,
    Join,
    Materialised,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    SetOp,
    StoredResult,
    Support,
    Tally,
    Top,
    UnionAll,
    Values,
    Window,
)
from anabranch.algebra.scalar import Call, Ref, Scalar, all_of, conjuncts
from anabranch.algebra.transform import map_inputs
from anabranch.delta.small_subplans import equalities
from anabranch.engine.local.groups import aggregated, first_rows, repeated, tallied, windowed
from anabranch.engine.local.held import Held, united
from anabranch.engine.local.joins import joined
from anabranch.engine.local.kinds import VOID, Elsewhere, Kind
from anabranch.engine.local.reach import Far, Leaf, Wide
from anabranch.engine.local.scalars import Constants, tuples

KEY = "__here"
MOST = 500_000
"""How many rows any part may have."""
Keyed = tuple[Kind, Sequence[Any]]
"""Values to look up, and their type."""
Wanted = Sequence[tuple[Scalar, Keyed]]
"""Scalars of a relation; of each, a row has one of some values. It may have to fulfil more than that."""


class TooDear(Exception):
    """More than should be done here: the engine does better with the whole of it."""


class World(Constants, Protocol):
    """Where rows come from."""

    most: int
    """How many rows of a relation are held here."""

    def is_large(self, leaf: Leaf) -> bool:
        """Whether a relation has more rows than that."""
        ...

    def count(self, leaf: Scan | StoredResult) -> int:
        """How many it has."""
        ...

    def rows(self, leaf: Leaf) -> Held:
        """The rows of a relation that isn't large, under the leaf's names."""
        ...

    def look_up(self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed]) -> Held | None:
        """The rows of a large relation that have one of the values in each of some columns, by the table's
        names for them. None if that isn't for here."""
        ...

    def ask(self, plan: Plan, cuts: Mapping[str, Held]) -> Held:
        """The rows of a plan that the engine computes; its cuts are rows that are held here."""
        ...


def interpret(plan: Plan, world: World, *, questions: int) -> Held:
    """The rows of a plan, with up to so many questions to the engine."""
    return Interpreter(world, questions).of(plan)


class Interpreter:
    """One interpretation; equal parts are computed once."""

    def __init__(self, world: World, questions: int) -> None:
        self._world = world
        self._left = questions
        self._far, self._wide = Far(world.is_large), Wide(world.is_large, world.most)
        self._done: dict[Plan, Held] = {}
        self._found: dict[Plan, Held | None] = {}
        self._looked: dict[object, Held | None] = {}
        self._cuts: dict[Plan, Materialised] = {}
        self._asked: dict[Plan, Held] = {}
        self._held: dict[str, Held] = {}

    def of(self, plan: Plan) -> Held:
        """The rows of a plan."""
        found = self._done.get(plan)
        if found is None:
            found = self._done[plan] = self._computed(plan)
        return found

    def _computed(self, plan: Plan) -> Held:
        if self._wide(plan):
            raise TooDear("more rows than are held here")
        if self._is_one_question(plan) and not self._is_near(plan):
            return self._ask(self._question(plan))
        try:
            found = self._native(plan)
        except Elsewhere:
            if isinstance(plan, Scan | Delta | StoredResult):
                raise TooDear("rows that can't be held here") from None
            found = self._ask(map_inputs(plan, self._cut))
        if len(found) > MOST:
            raise TooDear("more rows than are held here")
        return found

    # -- look-ups -----------------------------------------------------------------------------

    def _is_near(self, plan: Plan) -> bool:
        """Whether what a part looks up was found here: then the rest of it is computed here, too."""
        while not isinstance(plan, Join):
            if isinstance(plan, Leaf | Values) or len(plan.inputs) != 1:
                return False
            (plan,) = plan.inputs
        if not self._is_lookup(plan):
            return False
        if plan not in self._found:
            self._found[plan] = self._picked(plan, plan.left, self.of(plan.right), flipped=True)
        return self._found[plan] is not None

    def _picked(self, plan: Join, large: Plan, small: Held, *, flipped: bool = False) -> Held | None:
        """The rows of a large relation that may be partners of those that are held, as far as files show."""
        pairs = pairs_of(plan, flipped=flipped)
        if not pairs:
            return None
        keys = self._keys(small, [(op, ours) for op, ours, _ in pairs])
        if not keys.rows:
            return no_rows(large)
        return self._fetched(large, wanted_of([theirs for _, _, theirs in pairs], keys))

    def _fetched(self, large: Plan, wanted: Wanted) -> Held | None:
        """The rows of a relation for which some scalars have one of the values that are wanted of each."""
        try:
            match large:
                case Scan() | StoredResult():
                    return self._seen(large, by_column(large, wanted))
                case Filter(source, condition):
                    found = self._fetched(source, wanted)
                    return None if found is None else self._filtered(found, condition)
                case Project(source, items):
                    found = self._fetched(source, _through(dict(items), wanted))
                    return None if found is None else self._projected(found, items)
                case Join(_, right, "semi") if not self._wide(right):
                    return self._fetched_partners(large, wanted, self.of(right))
                case Aggregate(source, groups) if groups:
                    found = self._fetched(source, _through(dict(groups), wanted))
                    return None if found is None else aggregated(large, found, self._world)
                case _:
                    return None
        except Elsewhere:
            return None

    def _fetched_partners(self, semi: Join, wanted: Wanted, partners: Held) -> Held | None:
        """What a semi join has of those rows: its own keys may pick fewer than what is wanted of it."""
        pairs = pairs_of(semi, flipped=True)
        keys = self._keys(partners, [(op, ours) for op, ours, _ in pairs])
        if not keys.rows:
            return no_rows(semi)
        own = wanted_of([theirs for _, _, theirs in pairs], keys)
        found = self._fetched(semi.left, [*wanted, *own])
        return None if found is None else joined(semi, found, partners, self._world)

    def _seen(self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed]) -> Held | None:
        """What is looked up in a relation; by the same values, it is looked up once."""
        known = leaf, tuple((name, kind, frozenset(values)) for name, (kind, values) in keys.items())
        if known not in self._looked:
            self._looked[known] = self._world.look_up(leaf, keys)
        return self._looked[known]

    # -- questions ----------------------------------------------------------------------------

    def _is_one_question(self, plan: Plan) -> bool:
        """Whether a part is handed to the engine as a whole: what it looks up is made less there."""
        match plan:
            case Aggregate() | Tally() | Top() | Distinct():
                below: Plan = plan.input
                while isinstance(below, Filter | Project):
                    below = below.input
                return self._wide(below) or self._is_lookup(below)
            case _:
                return self._is_lookup(plan) and isinstance(plan, Join) and plan.kind == "semi"

    def _is_lookup(self, plan: Plan) -> bool:
        """Whether a part is the rows of a large relation that few rows pick."""
        return isinstance(plan, Join) and plan.kind in ("semi", "inner") and self._wide(plan.left)

    def _question(self, plan: Plan) -> Plan:
        """A part in which all that reads no large relation is computed here."""
        if not self._far(plan):
            return self._cut(plan)
        if isinstance(plan, Join) and not self._wide(plan.right) and not self._is_lookup(plan.right):
            return map_inputs(
                plan, lambda part: self._question(part) if part is plan.left else self._cut(part)
            )
        return map_inputs(plan, self._question)

    def _cut(self, plan: Plan) -> Plan:
        """The rows of a part, to be handed to the engine."""
        found = self._cuts.get(plan)
        if found is None:
            held = self.of(plan)
            found = Materialised(
                f"held_{len(self._cuts)}", tuple((n, n) for n in plan.names), held.weights is not None
            )
            self._cuts[plan] = found
            self._held[found.name] = Held(plan.names, held.kinds, held.rows, held.weights)
        return found

    def _ask(self, plan: Plan) -> Held:
        found = self._asked.get(plan)
        if found is None:
            if _has_no_rows(plan, self._held):
                found = no_rows(plan)
            elif self._left == 0:
                raise TooDear("more questions than statements")
            else:
                self._left -= 1
                found = self._answered(plan)
            self._asked[plan] = found
        return found

    def _answered(self, plan: Plan) -> Held:
        try:
            return self._world.ask(plan, self._held)
        except Elsewhere as error:
            raise TooDear("an answer that can't be held here") from error

    # -- here ---------------------------------------------------------------------------------

    def _native(self, plan: Plan) -> Held:
        match plan:
            case Scan() | Delta() | StoredResult() | Materialised():
                return self._world.rows(plan)
            case Values():
                return self._values(plan)
            case Filter(source, condition):
                return self._filtered(self.of(source), condition)
            case Project(source, items):
                return self._projected(self.of(source), items)
            case UnionAll(parts):
                return united(plan.names, [self.of(part) for part in parts])
            case Negate(source):
                held = self.of(source)
                return held.replaced((row, -weight) for row, weight in held.weighed())
            case Join():
                return self._joined(plan)
            case Aggregate(source):
                return aggregated(plan, self.of(source), self._world)
            case Tally(source):
                return tallied(plan, self.of(source), self._world)
            case Top(source):
                return first_rows(plan, self.of(source), self._world)
            case Window(source):
                return windowed(plan, self.of(source), self._world)
            case Net() | Support() | Distinct() | Rows() | SetOp():
                return self._counted(plan)
            case _:
                raise Elsewhere(type(plan).__name__)

    def _values(self, plan: Values) -> Held:
        columns = Held((), (), []).columns(self._world)
        parts = [
            Held(plan.columns, tuple(item.kind for item in row), [tuple(item.of(()) for item in row)])
            for row in ([columns.compiled(scalar) for scalar in row] for row in plan.rows)
        ]
        return united(plan.columns, parts) if parts else no_rows(plan)

    def _filtered(self, held: Held, condition: Scalar) -> Held:
        holds = held.columns(self._world).condition(condition)
        return held.chosen([holds(row) is True for row in held.rows])

    def _projected(self, held: Held, items: tuple[tuple[str, Scalar], ...]) -> Held:
        columns = held.columns(self._world)
        compiled = [columns.compiled(scalar) for _, scalar in items]
        rows = list(tuples([item.of for item in compiled], held.rows))
        names, found = tuple(name for name, _ in items), tuple(item.kind for item in compiled)
        return Held(names, found, rows, held.weights)

    def _counted(self, plan: Net | Support | Distinct | Rows | SetOp) -> Held:
        match plan:
            case SetOp():
                return self._set_operation(plan)
            case Net(source):
                held = self.of(source)
                return held if held.weights is None else held.replaced(held.net.items())
            case Rows(source):
                held = self.of(source)
                return Held(held.names, held.kinds, repeated(held))
            case Support(source):
                held = self.of(source)
                return Held(held.names, held.kinds, list(held.net))
            case Distinct(source):
                held = self.of(source)
                return Held(held.names, held.kinds, list(held.counted()))

    def _set_operation(self, plan: SetOp) -> Held:
        left, right = (self.of(part) for part in plan.inputs)
        if left.kinds != right.kinds:
            raise Elsewhere("sides of other types")
        there = right.counted()
        rows = []
        for row, count in left.counted().items():
            other = there.get(row, 0)
            if plan.kind == "intersect":
                kept = min(count, other)
            else:
                kept = max(count - other, 0) if plan.all else (0 if other else count)
            rows += [row] * (kept if plan.all else min(kept, 1))
        return Held(left.names, left.kinds, rows)

    def _joined(self, plan: Join) -> Held:
        if self._wide(plan.left):
            right = self.of(plan.right)
            near = self._found.get(plan)
            if near is not None and plan.kind == "semi" and self._picks_exactly(plan):
                return near  # it was looked up by all that there is to the condition
            left = self._looked_up(plan, plan.left, right, flipped=True) if near is None else near
        elif self._wide(plan.right):
            left = self.of(plan.left)
            right = self._looked_up(plan, plan.right, left)
        else:
            left, right = self._sides(plan)
        return joined(plan, left, right, self._world)

    def _picks_exactly(self, plan: Join) -> bool:
        """Whether what is looked up for a semi join is all that it gives."""
        return len(conjuncts(plan.on)) == 1

    def _sides(self, plan: Join) -> tuple[Held, Held]:
        """Both sides. What one has spares looking up rows of the other that have no partner in it."""
        left, right = plan.inputs
        if plan.kind in ("inner", "semi") and self._effort(left) > self._effort(right):
            there = self.of(right)
            return self._partners(plan, left, there, flipped=True), there
        here = self.of(left)
        return here, self.of(right) if plan.kind == "full" else self._partners(plan, right, here)

    def _effort(self, plan: Plan) -> int:
        """How many rows are looked into for a part, as far as it isn't there yet."""
        most, pending, seen = 0, [plan], set(self._done)
        while pending:
            part = pending.pop()
            if part in seen:
                continue
            seen.add(part)
            if isinstance(part, Scan | StoredResult):
                most = max(most, self._world.count(part) if self._world.is_large(part) else 0)
            else:
                pending += [part.left] if isinstance(part, Join) and self._is_lookup(part) else part.inputs
        return most

    def _partners(self, plan: Join, side: Plan, other: Held, *, flipped: bool = False) -> Held:
        """One side of a join, or as much of it as the other side may be joined with."""
        apart = side not in self._done and self._far(side)
        found = self._picked(plan, side, other, flipped=flipped) if apart else None
        return self.of(side) if found is None else found

    def _looked_up(self, plan: Join, large: Plan, small: Held, *, flipped: bool = False) -> Held:
        """The rows of a large relation that may be partners of those that are held."""
        near = self._picked(plan, large, small, flipped=flipped)
        if near is not None:
            return near
        pairs = pairs_of(plan, flipped=flipped)
        if not pairs:
            raise TooDear("nothing that rows could be looked up by")
        keys = self._keys(small, [(op, ours) for op, ours, _ in pairs])
        name = f"keys_{len(self._held)}"
        leaf = Materialised(name, tuple((key, key) for key in keys.names), False)
        on = all_of(
            Call(op, (theirs, Ref(key))) for (op, _, theirs), key in zip(pairs, keys.names, strict=True)
        )
        self._held[name] = keys
        return self._ask(Join(self._question(large), leaf, "semi", on))

    def _keys(self, small: Held, wanted: list[tuple[str, Scalar]]) -> Held:
        columns = small.columns(self._world)
        compiled = [columns.compiled(scalar) for _, scalar in wanted]
        needed = [place for place, (op, _) in enumerate(wanted) if op != "<=>"]
        found = dict.fromkeys(tuples([item.of for item in compiled], small.rows))
        rows = [key for key in found if None not in key or all(key[place] is not None for place in needed)]
        names = tuple(f"{KEY}{place}" for place in range(len(wanted)))
        return Held(names, tuple(item.kind for item in compiled), rows)


def pairs_of(plan: Join, *, flipped: bool) -> list[tuple[str, Scalar, Scalar]]:
    """What a join equates: how, a value of what is held, a value of what is looked up."""
    return [(op, *((two, one) if flipped else (one, two))) for op, one, two in equalities(plan)]


def wanted_of(scalars: list[Scalar], keys: Held) -> Wanted:
    """Scalars, and the values that are wanted of each: a column of the keys."""
    return [
        (scalar, (kind, list(dict.fromkeys(row[place] for row in keys.rows))))
        for place, (scalar, kind) in enumerate(zip(scalars, keys.kinds, strict=True))
    ]


def _through(known: Mapping[str, Scalar], wanted: Wanted) -> Wanted:
    """What is wanted of a relation, in terms of the one that its columns are computed from."""
    return [
        (known[scalar.name], keyed)
        for scalar, keyed in wanted
        if isinstance(scalar, Ref) and scalar.name in known
    ]


def by_column(leaf: Scan | StoredResult | Materialised, wanted: Wanted) -> dict[str, Keyed]:
    """The values that are wanted in columns of a table, by the columns' own names."""
    own = dict(leaf.columns)
    found: dict[str, Keyed] = {}
    for scalar, (kind, values) in wanted:
        if not isinstance(scalar, Ref):
            continue
        name = own[scalar.name]
        known, before = found.get(name, (kind, values))
        if before is values:
            found[name] = kind, values
        elif known == kind:
            both = set(values)
            found[name] = kind, [value for value in before if value in both]
    return found


def no_rows(plan: Plan) -> Held:
    """No rows, in the columns of a plan."""
    kinds: tuple[Kind, ...] = (VOID,) * len(plan.names)
    return Held(plan.names, kinds, [])


def _has_no_rows(plan: Plan, held: Mapping[str, Any]) -> bool:
    """Whether a part that is handed to the engine can't have rows: what it looks up by has none."""
    match plan:
        case Materialised(name):
            return not len(held[name])
        case Filter(source) | Project(source) | Distinct(source) | Net(source) | Negate(source):
            return _has_no_rows(source, held)
        case Aggregate(source, keys) | Tally(source, keys):
            return bool(keys) and _has_no_rows(source, held)
        case Top(source) | Window(source) | Support(source) | Rows(source):
            return _has_no_rows(source, held)
        case Join(left, right, kind):
            if kind in ("inner", "semi"):
                return _has_no_rows(left, held) or _has_no_rows(right, held)
            return kind != "full" and _has_no_rows(left, held)
        case _:
            return False
