"""Look-ups: steps of a change plan that find rows of a large table by keys, and compute nothing.

    T ⋉ D₁ ⋉ D₂ …,  where Dᵢ are values of one column of T

A set of keys is made of columns of changes, and of rows that were looked up before. A superset of it does as
well, if everything that reads the keys reads the same ones. So neither needs an engine: keys are values of
columns, rows are found by them in the files.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from anabranch.algebra.plan import (
    Delta,
    Distinct,
    Join,
    Materialised,
    Plan,
    Project,
    Scan,
    Support,
    UnionAll,
    subplans,
)
from anabranch.algebra.scalar import Call, Ref, Scalar

KeySource = tuple[Delta | Materialised, str]
"""A change, or rows of an earlier step, and the column of it whose values are keys."""


@dataclass(frozen=True)
class KeyColumn:
    """A column that is looked up, the keys it must be among, and whether NULL is one like others."""

    name: str
    keys: Plan
    null_safe: bool


@dataclass(frozen=True)
class LookUp:
    """The rows of a table that have one of the keys in each of some columns."""

    scan: Scan
    columns: tuple[KeyColumn, ...]


def as_look_up(plan: Plan) -> LookUp | None:
    """The look-up that a plan is; None if it is none."""
    columns: list[KeyColumn] = []
    while isinstance(plan, Join) and plan.kind == "semi":
        column = _key_column(plan.on, plan.right)
        if column is None:
            return None
        columns.append(column)
        plan = plan.left
    return LookUp(plan, tuple(columns)) if isinstance(plan, Scan) and columns else None


def _key_column(on: Scalar, keys: Plan) -> KeyColumn | None:
    match on:
        case Call("=" | "<=>" as op, (Ref(name), Ref(key))) if keys.names == (key,) and _is_key_set(keys):
            return KeyColumn(name, keys, op == "<=>")
        case _:
            return None


def _is_key_set(keys: Plan) -> bool:
    """Whether keys are columns of changes or of other look-ups, or computed from these already."""
    if isinstance(keys, Materialised):
        return True
    found = _key_parts(keys)
    return found is not None and all(
        isinstance(source, Delta | Materialised) or as_look_up(source) is not None for source, _ in found
    )


def key_sources(keys: Plan) -> tuple[KeySource, ...] | None:
    """What a set of keys is made of, once the steps before it have run; None if it is no such set."""
    found = _key_parts(keys)
    if found is None:
        return None
    sources = [(source, name) for source, name in found if isinstance(source, Delta | Materialised)]
    return tuple(sources) if len(sources) == len(found) else None


def _key_parts(keys: Plan) -> list[tuple[Plan, str]] | None:
    if not isinstance(keys, Distinct):
        return None
    parts = keys.input.parts if isinstance(keys.input, UnionAll) else (keys.input,)
    found: list[tuple[Plan, str]] = []
    for part in parts:
        match part:
            case Project(Support(source), ((_, Ref(name)),)):
                found.append((source, name))
            case _:
                return None
    return found


def choose_look_ups(plan: Plan, tables: Collection[str]) -> set[Plan]:
    """The subplans that are look-ups of some tables, and the keys that they look up."""
    found = {
        part: look_up
        for part in subplans(plan)
        if (look_up := as_look_up(part)) is not None and look_up.scan.table in tables
    }
    # By several columns, only all of them together are one.
    inner = {part.left for part in found if isinstance(part, Join)}
    chosen = {part for part in found if part not in inner}
    return chosen | {column.keys for part in chosen for column in found[part].columns}
