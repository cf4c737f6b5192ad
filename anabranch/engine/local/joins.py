"""Joins of rows in memory: looked up by what the condition equates, then held against all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, repeat

from anabranch.algebra.plan import Join
from anabranch.algebra.scalar import TRUE, Call, Scalar, all_of, conjuncts
from anabranch.delta.small_subplans import equality_pairs
from anabranch.engine.local.held import Held, relation
from anabranch.engine.local.kinds import Elsewhere
from anabranch.engine.local.scalars import Constants, Of, Row, alike, tuples

Partners = Sequence[tuple[int, Row, int]]
"""Place, row and weight of each."""
PAIRS = 1_000_000
"""How many pairs of rows are tried at most where nothing is equated."""


def joined(plan: Join, left: Held, right: Held, constants: Constants) -> Held:
    """The rows of a join."""
    if plan.kind != "inner":
        right.check_counts()
    if plan.kind == "full":
        left.check_counts()
    found = _partners(plan, left, right, constants)
    if plan.kind in ("semi", "anti"):
        return left.chosen([bool(partners) == (plan.kind == "semi") for partners in found])
    kinds = left.kinds + right.kinds
    if left.weights is None and right.weights is None and plan.kind == "inner":
        rows = [
            row + partner
            for row, partners in zip(left.rows, found, strict=True)
            for _, partner, _ in partners
        ]
        return Held(plan.names, kinds, rows)
    pairs = relation(plan.names, kinds, _pairs(plan, left, right, found))
    if left.weights is None and right.weights is None:
        return Held(plan.names, kinds, pairs.rows)
    return pairs


def _partners(plan: Join, left: Held, right: Held, constants: Constants) -> Iterator[Partners]:
    """For each row of the left, which rows of the right are its partners."""
    # Types that differ are made alike, or it isn't for here: then one equality is as good as another.
    equal = equality_pairs(plan.on, set(left.names), set(right.names))
    ours, theirs = left.columns(constants), right.columns(constants)
    pairs = [(op, *alike(ours.compiled(here), theirs.compiled(there))) for op, here, there in equal]
    if not pairs and len(left) * len(right) > PAIRS:
        raise Elsewhere("too many pairs of rows")
    needed = [place for place, (op, _, _) in enumerate(pairs) if op != "<=>"]
    index = _indexed(right, [other for _, _, other in pairs], needed)
    found = map(index.get, tuples([one for _, one, _ in pairs], left.rows), repeat(()))
    rest = _rest(plan.on, equal)
    if rest == TRUE:
        return found
    both = Held(left.names + right.names, left.kinds + right.kinds, [])
    holds = both.columns(constants).condition(rest)
    return (
        [partner for partner in partners if holds(row + partner[1]) is True]
        for row, partners in zip(left.rows, found, strict=True)
    )


def _indexed(held: Held, key: list[Of], needed: list[int]) -> dict[Row, list[tuple[int, Row, int]]]:
    """Rows by what they are looked up by. A NULL equals nothing, so whoever looks one up finds nothing."""
    index: dict[Row, list[tuple[int, Row, int]]] = {}
    weights = repeat(1) if held.weights is None else held.weights
    partners = zip(count(), held.rows, weights, strict=False)
    for found, partner in zip(tuples(key, held.rows), partners, strict=True):
        index.setdefault(found, []).append(partner)
    for values in [values for values in index if None in values]:
        if any(values[place] is None for place in needed):
            del index[values]
    return index


def _rest(condition: Scalar, equal: list[tuple[str, Scalar, Scalar]]) -> Scalar:
    """What a condition says beyond what it equates."""
    said = {Call(op, pair) for op, one, two in equal for pair in ((one, two), (two, one))}
    return all_of(part for part in conjuncts(condition) if part not in said)


def _pairs(plan: Join, left: Held, right: Held, found: Iterator[Partners]) -> Iterator[tuple[Row, int]]:
    kind = plan.kind
    padding = (None,) * len(right.names)
    matched: set[int] = set()
    for (row, weight), partners in zip(left.weighed(), found, strict=True):
        for _, partner, other in partners:
            yield row + partner, weight * other
        if not partners and kind in ("left", "full"):
            yield row + padding, weight
        if kind == "full":
            matched.update(place for place, _, _ in partners)
    if kind == "full":
        nothing = (None,) * len(left.names)
        for place, (row, weight) in enumerate(right.weighed()):
            if place not in matched:
                yield nothing + row, weight
