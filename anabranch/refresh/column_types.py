"""The types that the engine gives a plan's columns, found by running it over empty tables."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.algebra.plan import Delta, Plan, Scan
from anabranch.connection.lake_context import LakeContext
from anabranch.engine.base import Frame
from anabranch.engine.render.statement import render
from anabranch.errors import NotIncremental
from anabranch.schema import Schema


def run_plan_over_frames(
    context: LakeContext, plan: Plan, columns: tuple[str, ...], frames: Mapping[str, Frame]
) -> Frame:
    """Run a plan over frames of its tables, whether it reads their old rows, new rows or change."""
    rendered = render(plan, context.engine.dialect, columns)
    bound = {key: frames[leaf.table] for key, leaf in rendered.leaves if isinstance(leaf, Scan | Delta)}
    return context.engine.run_query(rendered.template, bound)


def check_types(said: Schema, planned: Schema) -> None:
    """Refuse a plan whose columns aren't those that Spark gives the text."""
    wrong = [
        f"{there.name} is {there.type}, and {here.type} in the plan"
        for here, there in zip(planned, said, strict=True)
        if (here.name, here.type) != (there.name, there.type)
    ]
    if wrong:
        raise NotIncremental(
            "the query is not understood: its plan has other columns than Spark gives it",
            detail="; ".join(wrong)[:600] + ".",
            hint="create it with refresh_mode = full, and report the query: this is an error of ours.",
        )
