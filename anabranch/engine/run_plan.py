"""Runs a plan over frames."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.algebra.plan import Delta, Materialised, Plan, Scan
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.base import Engine, Frame
from anabranch.engine.render.statement import Leaf, render


def run_plan(
    engine: Engine,
    plan: Plan,
    frames: Mapping[str, Frame],
    columns: tuple[str, ...] | None = None,
    *,
    known: RelationFacts | None = None,
) -> Frame:
    """The rows of a plan, given the frames of its tables and steps by name.

    A table has one frame, whether the plan reads its old rows, its new rows or its change. `columns` are the
    names of the result (by default the plan's own); `known`: what is known of the sizes of the frames.
    """
    rendered = render(plan, engine.dialect, columns, known=known)
    relations = {placeholder: frames[_name_of(leaf)] for placeholder, leaf in rendered.leaves}
    return engine.run_query(rendered.template, relations)


def _name_of(leaf: Leaf) -> str:
    match leaf:
        case Scan(table) | Delta(table):
            return table
        case Materialised(name):
            return name
        case _:
            raise TypeError("a stored result has no frame of its own here")
