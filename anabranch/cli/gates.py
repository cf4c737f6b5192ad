"""`gate`, `ungate` and `gates`: which sources are ready."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command
from anabranch.cli.completion import sources
from anabranch.cli.output import Column
from anabranch.cli.session import Session
from anabranch.cli.words import span, when

if TYPE_CHECKING:
    from anabranch.lake import Lake
    from anabranch.looking.gates import SourceGate

Sources = Annotated[list[str], typer.Argument(metavar="SOURCE…", help="Sources.", autocompletion=sources)]


def _name(each: SourceGate) -> str:
    return each.source_table if each.schema_name == "main" else f"{each.schema_name}.{each.source_table}"


COLUMNS: list[Column[SourceGate]] = [
    Column("source", _name),
    Column(
        "gate",
        lambda each: "gated" if each.gated else "open",
        lambda each: "yellow" if each.gated else "green",
        whole=True,
    ),
    Column("since (UTC)", lambda each: when(each.gated_at if each.gated else each.ungated_at), whole=True),
    Column("shut for", lambda each: span(each.gate_seconds), right=True, whole=True),
    Column("by", lambda each: each.gated_by, spare=1),
    Column("stream tables that wait", lambda each: each.affected_stream_tables if each.gated else None),
]


@command("gate", panel="Sources")
def gate(
    session: Session,
    names: Sources,
    until_watermark: Annotated[
        bool, typer.Option("--until-watermark", help="Open it again at the first `watermark advance`.")
    ] = False,
) -> None:
    """Say that sources are not ready: what is made from them waits.

    All of them are gated, or none.
    """
    with session.lake() as lake:
        with lake.transaction() as tx:
            for name in names:
                tx.gate_source(name, until_watermark)
        session.out.done(_of(lake, names), "gated: " + ", ".join(names))


@command("ungate", panel="Sources")
def ungate(session: Session, names: Sources) -> None:
    """Say that sources are ready.

    All of them are ungated, or none.
    """
    with session.lake() as lake:
        lake.ungate_sources(names)
        session.out.done(_of(lake, names), "ungated: " + ", ".join(names))


@command("gates", panel="Sources")
def gates(session: Session) -> None:
    """The sources that are gated, or were; what waits for them."""
    with session.lake() as lake:
        session.out.records(lake.source_gates(), COLUMNS, none="No source was ever gated.")


def _of(lake: Lake, names: Sequence[str]) -> list[SourceGate]:
    wanted = {name.lower().removeprefix("main.") for name in names}
    return [each for each in lake.source_gates() if _name(each) in wanted]
