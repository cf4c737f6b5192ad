"""Whether a plan has the columns that Spark gives the text it was made from."""

from __future__ import annotations

from anabranch.errors import NotIncremental
from anabranch.schema import Schema


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
