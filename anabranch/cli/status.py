"""`status`: how the stream tables are doing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.app import command
from anabranch.cli.human_readable import format_count, format_duration, format_time
from anabranch.cli.output import Column, format_table
from anabranch.cli.select_tables import AnySelectors, dependency_map
from anabranch.cli.selectors import select
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.inspect.status import StreamTableStatus
    from anabranch.lake import Lake

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
    with session.open_lake() as lake:
        if watch:
            _watch(session, lake, names, interval)
        else:
            found = read_status(lake, names)
            session.out.print_result(found, lambda: format_status(found, session.out.console.width))


def read_status(lake: Lake, names: Sequence[str] | None) -> list[StreamTableStatus]:
    """The status of the stream tables that are meant: all, or those that selectors mean."""
    if not names:
        return lake.status()
    graph = lake.graph()
    wanted = set(select(names, dependency_map(graph)))
    return [node.status for node in graph.nodes if node.status is not None and node.name in wanted]


def format_status(found: Sequence[StreamTableStatus], width: int) -> RenderableType:
    """A row per stream table."""
    if not found:
        return Text("There are no stream tables.", style="dim")
    trouble = sum(1 for each in found if _format_note(each))
    summary = format_count(len(found), "stream table") + (f", {trouble:,} with a note" if trouble else "")
    return Group(format_table(found, COLUMNS, width), Text(summary, style="dim"))


def _mode(each: StreamTableStatus) -> str:
    if each.effective_mode in (None, each.refresh_mode):
        return each.refresh_mode
    return f"{each.refresh_mode}: {each.effective_mode}"


def _schedule(each: StreamTableStatus) -> str:
    if each.schedule == each.effective_schedule or each.effective_schedule is None:
        return each.schedule or "by hand"
    return each.effective_schedule


def _format_note(each: StreamTableStatus) -> str:
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
    Column("lag", lambda each: format_duration(each.lag_seconds), right=True, whole=True),
    Column("rows", lambda each: each.rows, right=True, whole=True, spare=3),
    Column("note", _format_note, lambda each: "yellow"),
]


def _watch(session: Session, lake: Lake, names: Sequence[str] | None, interval: float) -> None:
    pause = Pause()
    if session.out.is_json:
        while not pause.is_set():
            session.out.print_json_line(read_status(lake, names))
            pause.wait(interval)
    # Here, because a single look, which is to be quick, needs none of it.
    from rich.live import Live

    with Live(
        console=session.out.console, screen=session.out.console.is_terminal, auto_refresh=False
    ) as live:
        while not pause.is_set():
            found = read_status(lake, names)
            seen = Text(
                f"{format_time(lake.clock.now())} UTC, every {interval:g} s; Ctrl-C ends it", style="dim"
            )
            live.update(Group(seen, format_status(found, session.out.console.width)), refresh=True)
            pause.wait(interval)
