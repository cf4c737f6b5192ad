"""The plans of a fixed point, computed over rows in memory.

They join the few rows that are new with everything that was derived before: a union of stored rows, without
some that went, and of rows that earlier plans gave. So rows are looked up in each part of a union, below
joins, and in rows in memory, which have an index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from anabranch.algebra.plan import Distinct, Join, Materialised, Plan, UnionAll, subplans
from anabranch.algebra.scalar import conjuncts, refs, rename_refs
from anabranch.engine.local.held import Held, united
from anabranch.engine.local.interpret import (
    Interpreter,
    Keyed,
    Wanted,
    World,
    by_column,
    no_rows,
    pairs_of,
    wanted_of,
)
from anabranch.engine.local.joins import joined
from anabranch.engine.local.kinds import Elsewhere
from anabranch.engine.local.reach import Far, Leaf


class FixpointWorld(World, Protocol):
    """Where the rows of a fixed point come from."""

    def is_looked_up(self, leaf: Leaf) -> bool:
        """Whether a few rows of a relation are found sooner than all of them are read."""
        ...

    def size(self, leaf: Leaf) -> int:
        """How many rows a relation has that is looked up."""
        ...

    def find(self, leaf: Materialised, keys: Mapping[str, Keyed]) -> Held:
        """The rows in memory that have one of the values in each of some columns, by the batch's names."""
        ...


class FixpointInterpreter(Interpreter):
    """Computes one plan; it asks no engine."""

    def __init__(self, world: FixpointWorld) -> None:
        super().__init__(world, questions=0)
        self._relations = world
        self._far = Far(world.is_looked_up)

    def _fetched(self, large: Plan, wanted: Wanted) -> Held | None:
        if not self._far(large) and not self._wide(large):
            return self.of(large)
        try:
            match large:
                case Materialised():
                    keys = by_column(large, wanted)
                    return self._relations.find(large, keys) if keys else None
                case UnionAll(parts):
                    return self._fetched_parts(large, parts, wanted)
                case Distinct(source):
                    found = self._fetched(source, wanted)
                    return None if found is None else Held(found.names, found.kinds, list(found.counted()))
                case Join(left, right, "anti") if not self._wide(right):
                    found = self._fetched(left, wanted)
                    if found is None:
                        return None
                    return joined(large, found, self._partners(large, right, found), self._world)
                case Join(_, _, "inner"):
                    return self._fetched_pairs(large, wanted)
        except Elsewhere:
            return None
        return super()._fetched(large, wanted)

    def _fetched_parts(self, union: Plan, parts: Sequence[Plan], wanted: Wanted) -> Held | None:
        """The rows that are wanted of each part of a union."""
        found = []
        for part in parts:
            own = dict(zip(union.names, part.names, strict=True))
            rows = self._fetched(part, [(rename_refs(scalar, own), keyed) for scalar, keyed in wanted])
            if rows is None:
                return None
            found.append(rows)
        return united(union.names, found)

    def _fetched_pairs(self, join: Join, wanted: Wanted) -> Held | None:
        """The pairs of which something is wanted: one side picks the rows of the other."""
        left = [one for one in wanted if set(refs(one[0])) <= set(join.left.names)]
        right = [one for one in wanted if set(refs(one[0])) <= set(join.right.names)]
        if left:
            here = self._fetched(join.left, left)
            there = None if here is None else self._fetched_others(join, here, right)
        else:
            there = self._fetched(join.right, right) if right else None
            here = None if there is None else self._fetched_others(join, there, [], flipped=True)
        return None if here is None or there is None else joined(join, here, there, self._world)

    def _fetched_others(
        self, join: Join, found: Held, wanted: Wanted, *, flipped: bool = False
    ) -> Held | None:
        """The rows of the other side of a join that may be partners of those that were found."""
        other = join.left if flipped else join.right
        pairs = pairs_of(join, flipped=flipped)
        keys = self._keys(found, [(op, ours) for op, ours, _ in pairs])
        if pairs and not keys.rows:
            return no_rows(other)
        picked = wanted_of([theirs for _, _, theirs in pairs], keys)
        return self._fetched(other, [*wanted, *picked])

    def _picks_exactly(self, plan: Join) -> bool:
        # Of a union's part that is small all rows are taken, and of a join's those that one side picks.
        inside = subplans(plan.left)
        return len(conjuncts(plan.on)) == 1 and not any(isinstance(part, UnionAll | Join) for part in inside)

    def _effort(self, plan: Plan) -> int:
        most, pending, seen = 0, [plan], set(self._done)
        while pending:
            part = pending.pop()
            if part in seen:
                continue
            seen.add(part)
            if isinstance(part, Leaf):
                most = max(most, self._relations.size(part) if self._relations.is_looked_up(part) else 0)
            else:
                pending += [part.left] if isinstance(part, Join) and self._is_lookup(part) else part.inputs
        return most
