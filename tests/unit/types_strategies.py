"""Random column types and schemas, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from anabranch.schema import ATOMIC_NAMES, Array, Atomic, Column, Decimal, Map, Schema, Struct, Type

ATOMS = st.sampled_from(sorted(ATOMIC_NAMES)).map(Atomic)
DECIMALS = st.integers(1, 38).flatmap(
    lambda precision: st.integers(0, precision).map(lambda scale: Decimal(precision, scale))
)
NAMES = st.from_regex(r"[a-zäß_][a-z0-9]{0,8}", fullmatch=True)


def columns(types: st.SearchStrategy[Type], most: int = 4) -> st.SearchStrategy[tuple[Column, ...]]:
    """One or more columns whose names differ."""
    column = st.builds(Column, NAMES, types, st.booleans(), st.none() | st.text(max_size=10))
    return st.lists(column, min_size=1, max_size=most, unique_by=lambda c: c.name.lower()).map(tuple)


TYPES: st.SearchStrategy[Type] = st.recursive(
    ATOMS | DECIMALS,
    lambda inner: st.one_of(
        st.builds(Array, inner, st.booleans()),
        st.builds(Map, ATOMS | DECIMALS, inner, st.booleans()),
        st.builds(Struct, columns(inner, 3)),
    ),
    max_leaves=6,
)
SCHEMAS = columns(TYPES).map(Schema)
