"""`gate`, `ungate` and `gates`: which sources are ready."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command
from anabranch.cli.completion import complete_sources
from anabranch.cli.human_readable import format_duration, format_time
from anabranch.cli.output import Column
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.inspect.gates import SourceGate
    from anabranch.lake import Lake

Sources = Annotated[
    list[str], typer.Argument(metavar="SOURCE…", help="Sources.", autocompletion=complete_sources)
]


def _source_name(each: SourceGate) -> str:
    return each.source_table if each.schema_name == "main" else f"{each.schema_name}.{each.source_table}"


COLUMNS: list[Column[SourceGate]] = [
    Column("source", _source_name),
    Column(
        "gate",
        lambda each: "gated" if each.gated else "open",
        lambda each: "yellow" if each.gated else "green",
        whole=True,
    ),
    Column(
        "since (UTC)", lambda each: format_time(each.gated_at if each.gated else each.ungated_at), whole=True
    ),
    Column("shut for", lambda each: format_duration(each.gate_seconds), right=True, whole=True),
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
    with session.open_lake() as lake:
        with lake.transaction() as tx:
            for name in names:
                tx.gate_source(name, until_watermark)
        session.out.print_done(_read_gates(lake, names), "gated: " + ", ".join(names))


@command("ungate", panel="Sources")
def ungate(session: Session, names: Sources) -> None:
    """Say that sources are ready.

    All of them are ungated, or none.
    """
    with session.open_lake() as lake:
        lake.ungate_sources(names)
        session.out.print_done(_read_gates(lake, names), "ungated: " + ", ".join(names))


@command("gates", panel="Sources")
def gates(session: Session) -> None:
    """The sources that are gated, or were; what waits for them."""
    with session.open_lake() as lake:
        session.out.print_records(lake.source_gates(), COLUMNS, none="No source was ever gated.")


def _read_gates(lake: Lake, names: Sequence[str]) -> list[SourceGate]:
    wanted = {name.lower().removeprefix("main.") for name in names}
    return [each for each in lake.source_gates() if _source_name(each) in wanted]
