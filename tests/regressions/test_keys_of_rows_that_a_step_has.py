"""A set of keys stays one when the rows that they are taken from have become a step before it.

The rows that occur in a change were a step of their own, since another part of the plan read them; then the
keys made of them were neither looked up nor computed by the engine, and the refresh failed.
"""

from __future__ import annotations

from anabranch.algebra.plan import Distinct, Materialised, Project, UnionAll
from anabranch.algebra.scalar import Ref
from anabranch.delta.look_ups import KEY, key_sources

ONE, OTHER = (Materialised(name, ((name, name),), weighted=False) for name in "ab")


def test_keys_are_taken_from_rows_of_steps() -> None:
    parts = tuple(Project(step, ((KEY, Ref(step.names[0])),)) for step in (ONE, OTHER))
    assert key_sources(Distinct(UnionAll(parts))) == ((ONE, "a"), (OTHER, "b"))
    assert key_sources(Distinct(parts[0])) == ((ONE, "a"),)
