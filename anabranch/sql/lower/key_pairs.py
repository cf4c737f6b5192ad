"""Conditions that pair each row outside with at most one key inside.

`x = y` does so if equal values are one value. Across types they may not be: with x a number and y a
text, '1' and '01' both equal 1.
"""

from __future__ import annotations

from anabranch.algebra.plan import Plan
from anabranch.algebra.scalar import Call, Scalar, conjuncts, refs
from anabranch.schema import Atomic, Type
from anabranch.sql.lower.context import Context

_WHOLE = frozenset(["tinyint", "smallint", "int", "bigint"])

Pair = tuple[tuple[str, Scalar], Scalar]
"""((operator, scalar outside), scalar inside)."""


def key_pairs(
    context: Context, conditions: list[Scalar], right: Plan, *, exact: bool = False
) -> list[Pair] | None:
    """The conditions as pairs of keys, if that is all they are; `exact` says that types agree."""
    inside = set(right.names)
    found: list[Pair] = []
    for condition in [part for one in conditions for part in conjuncts(one)]:
        pair = _pair(condition, inside)
        if pair is None:
            return None
        (_, outer), inner = pair
        if not exact and not _is_one_to_one(context.type_of(outer), context.type_of(inner)):
            return None
        found.append(pair)
    return found


def _pair(condition: Scalar, inside: set[str]) -> Pair | None:
    if not isinstance(condition, Call) or condition.op not in ("=", "<=>"):
        return None
    for outer, inner in (condition.args, condition.args[::-1]):
        read = set(refs(inner))
        if read and read <= inside and not set(refs(outer)) & inside:
            return (condition.op, outer), inner
    return None


def _is_one_to_one(outer: Type | None, inner: Type | None) -> bool:
    if outer is None or inner is None:
        return False
    return outer == inner or (_is_integer(outer) and _is_integer(inner))


def _is_integer(kind: Type) -> bool:
    return isinstance(kind, Atomic) and kind.name in _WHOLE
