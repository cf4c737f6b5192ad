"""`status`: how the stream tables are doing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.app import command
from anabranch.cli.output import Column, table
from anabranch.cli.selected import AnySelectors, map_of
from anabranch.cli.selectors import select
from anabranch.cli.session import Session
from anabranch.cli.words import counted, span, when

if TYPE_CHECKING:
    from anabranch.lake import Lake
    from anabranch.looking.status import StreamTableStatus

Pause = threading.Event
STYLES = {"ACTIVE": "green", "SUSPENDED": "yellow", "INITIALIZING": "cyan", "ERROR": "bold red"}


@command("status", panel="Look")
def status(
    session: Session,
    names: AnySelectors = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")] = False,
    interval: Annotated[
        float, typer.Option("--interval", min=0.1, max=3600, help="Seconds between looks with --watch.")
    ] = 2.0,
) -> None:
    """How the stream tables are doing: state, freshness, trouble.

    Never starts Spark. With --watch and --output json, every look is a JSON document on a line.
    """
    with session.lake() as lake:
        if watch:
            _watch(session, lake, names, interval)
        else:
            found = looked(lake, names)
            session.out.result(found, lambda: shown(found, session.out.console.width))


def looked(lake: Lake, names: Sequence[str] | None) -> list[StreamTableStatus]:
    """The status of the stream tables that are meant: all, or those that selectors mean."""
    if not names:
        return lake.status()
    graph = lake.graph()
    wanted = set(select(names, map_of(graph)))
    return [node.status for node in graph.nodes if node.status is not None and node.name in wanted]


def shown(found: Sequence[StreamTableStatus], width: int) -> RenderableType:
    """A row per stream table."""
    if not found:
        return Text("There are no stream tables.", style="dim")
    trouble = sum(1 for each in found if _trouble(each))
    summary = counted(len(found), "stream table") + (f", {trouble:,} with a note" if trouble else "")
    return Group(table(found, COLUMNS, width), Text(summary, style="dim"))


def _mode(each: StreamTableStatus) -> str:
    if each.effective_mode in (None, each.refresh_mode):
        return each.refresh_mode
    return f"{each.refresh_mode}: {each.effective_mode}"


def _schedule(each: StreamTableStatus) -> str:
    if each.schedule == each.effective_schedule or each.effective_schedule is None:
        return each.schedule or "by hand"
    return each.effective_schedule


def _trouble(each: StreamTableStatus) -> str:
    """What a person may have to do something about, the nearest cause first."""
    said: list[str] = []
    if each.last_error:
        failures = f" ({each.consecutive_failures} in a row)" if each.consecutive_failures > 1 else ""
        said.append(each.last_error.splitlines()[0] + failures)
    if each.status_reason and each.status_reason not in said:
        said.append(each.status_reason)
    if each.gated_by_sources:
        said.append("waits for " + ", ".join(each.gated_by_sources))
    elif each.held and each.status == "ACTIVE" and not each.last_error:
        said.append(each.held)
    return "; ".join(said)


COLUMNS: list[Column[StreamTableStatus]] = [
    Column("stream table", lambda each: each.name),
    Column("status", lambda each: each.status, lambda each: STYLES.get(each.status, ""), whole=True),
    Column("mode", _mode, spare=2),
    Column("schedule", _schedule, whole=True),
    Column("lag", lambda each: span(each.lag_seconds), right=True, whole=True),
    Column("rows", lambda each: each.rows, right=True, whole=True, spare=3),
    Column("note", _trouble, lambda each: "yellow"),
]


def _watch(session: Session, lake: Lake, names: Sequence[str] | None, interval: float) -> None:
    pause = Pause()
    if session.out.json:
        while not pause.is_set():
            session.out.line(looked(lake, names))
            pause.wait(interval)
    # Here, because a single look, which is to be quick, needs none of it.
    from rich.live import Live

    with Live(
        console=session.out.console, screen=session.out.console.is_terminal, auto_refresh=False
    ) as live:
        while not pause.is_set():
            found = looked(lake, names)
            seen = Text(f"{when(lake.clock.now())} UTC, every {interval:g} s; Ctrl-C ends it", style="dim")
            live.update(Group(seen, shown(found, session.out.console.width)), refresh=True)
            pause.wait(interval)
