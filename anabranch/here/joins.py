"""Joins of rows in memory: looked up by what the condition equates, then held against all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from anabranch.algebra.plan import Join
from anabranch.algebra.scalar import TRUE, Call, Scalar, all_of, conjuncts
from anabranch.delta.small import equated
from anabranch.here.held import Held, relation
from anabranch.here.kinds import Elsewhere
from anabranch.here.scalars import Constants, Of, Row, alike

PAIRS = 1_000_000
"""How many pairs of rows are tried at most where nothing is equated."""


def joined(plan: Join, left: Held, right: Held, constants: Constants) -> Held:
    """The rows of a join."""
    if plan.kind != "inner":
        right.check_counts()
    if plan.kind == "full":
        left.check_counts()
    matching = _Matching(plan, left, right, constants)
    names, weighed = plan.names, _rows(plan, left, right, matching)
    semi = plan.kind in ("semi", "anti")
    found = relation(names, left.kinds if semi else left.kinds + right.kinds, weighed)
    if left.weights is None and (semi or right.weights is None):
        return Held(names, found.kinds, found.rows)
    return found


class _Matching:
    """Which rows of the right are partners of a row of the left."""

    def __init__(self, plan: Join, left: Held, right: Held, constants: Constants) -> None:
        # Types that differ are made alike, or it isn't for here: then one equality is as good as another.
        equal = equated(plan.on, set(left.names), set(right.names))
        ours, theirs = left.columns(constants), right.columns(constants)
        pairs = [(op, *alike(ours.compiled(here), theirs.compiled(there))) for op, here, there in equal]
        needed = [place for place, (op, _, _) in enumerate(pairs) if op != "<=>"]
        self._ours = _key([one for _, one, _ in pairs])
        if not pairs and len(left) * len(right) > PAIRS:
            raise Elsewhere("too many pairs of rows")
        self._index = _indexed(right, _key([other for _, _, other in pairs]), needed)
        both = Held(left.names + right.names, left.kinds + right.kinds, [])
        rest = _rest(plan.on, equal)
        self._rest = None if rest == TRUE else both.columns(constants).condition(rest)

    def partners(self, row: Row) -> Sequence[tuple[int, Row, int]]:
        """Place, row and weight of each."""
        found = self._index.get(self._ours(row), ())
        if self._rest is None or not found:
            return found
        return [partner for partner in found if self._rest(row + partner[1]) is True]


def _key(values: list[Of]) -> Callable[[Row], Row]:
    """What a row is looked up by."""
    if len(values) == 1:
        (only,) = values
        return lambda row: (only(row),)
    return lambda row: tuple([of(row) for of in values])


def _indexed(
    held: Held, key_of: Callable[[Row], Row], needed: list[int]
) -> dict[Row, list[tuple[int, Row, int]]]:
    """Rows by what they are looked up by. A NULL equals nothing, so whoever looks one up finds nothing."""
    index: dict[Row, list[tuple[int, Row, int]]] = {}
    for place, (row, weight) in enumerate(held.weighed()):
        index.setdefault(key_of(row), []).append((place, row, weight))
    for key in [key for key in index if None in key]:
        if any(key[place] is None for place in needed):
            del index[key]
    return index


def _rest(condition: Scalar, equal: list[tuple[str, Scalar, Scalar]]) -> Scalar:
    """What a condition says beyond what it equates."""
    said = {Call(op, pair) for op, one, two in equal for pair in ((one, two), (two, one))}
    return all_of(part for part in conjuncts(condition) if part not in said)


def _rows(plan: Join, left: Held, right: Held, matching: _Matching) -> Iterator[tuple[Row, int]]:
    kind = plan.kind
    padding = (None,) * len(right.names)
    matched: set[int] = set()
    for row, weight in left.weighed():
        partners = matching.partners(row)
        if kind in ("semi", "anti"):
            if bool(partners) == (kind == "semi"):
                yield row, weight
            continue
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
