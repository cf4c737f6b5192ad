"""`refresh` and `tick`: bring stream tables up to date, by hand or as the scheduler would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command, quiet_exit
from anabranch.cli.exit_codes import ExitCode
from anabranch.cli.human_readable import format_duration, format_time
from anabranch.cli.output import Column, escaped_text
from anabranch.cli.select_tables import Selectors, select_stream_tables
from anabranch.cli.session import Session
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from rich.text import Text

    from anabranch.lake import Lake
    from anabranch.schedule.tick import TickReport


@dataclass(frozen=True)
class RefreshOutcome:
    """What became of one stream table."""

    name: str
    action: str | None
    status: str
    reason: str | None
    rows_inserted: int = 0
    rows_deleted: int = 0
    seconds: float = 0
    lsn: int | None = None
    error_code: str | None = None
    error: str | None = None


COLUMNS: list[Column[RefreshOutcome]] = [
    Column("stream table", lambda each: each.name),
    Column("action", lambda each: each.action and each.action.lower(), whole=True),
    Column(
        "status",
        lambda each: each.status.lower(),
        lambda each: "bold red" if each.error else "green",
        whole=True,
    ),
    Column("rows", lambda each: f"+{each.rows_inserted:,} -{each.rows_deleted:,}", right=True, whole=True),
    Column("took", lambda each: format_duration(each.seconds), right=True, whole=True),
    Column("why", lambda each: f"{each.error_code} {each.error}" if each.error else each.reason),
]


@command("refresh", panel="Refresh")
def refresh(
    session: Session,
    names: Selectors,
    full: Annotated[bool, typer.Option("--full", help="Compute it from nothing.")] = False,
    no_upstream: Annotated[
        bool, typer.Option("--no-upstream", help="Leave what it is made from as it is.")
    ] = False,
) -> None:
    """Refresh stream tables now, what is stale upstream first.

    One that fails doesn't keep the others from being tried; the exit code is 1 then.
    """
    with session.open_lake() as lake:
        wanted = select_stream_tables(lake, names)
        with session.show_progress():
            found = [_try_refresh(lake, name, full, not no_upstream) for name in wanted]
    session.out.print_records(found, COLUMNS, none="There are no stream tables.")
    if any(each.error for each in found):
        raise quiet_exit(ExitCode.FAILED)


def _try_refresh(lake: Lake, name: str, full: bool, upstream: bool) -> RefreshOutcome:
    """One fails, the others are tried all the same."""
    try:
        done = lake.refresh_stream_table(name, full=full, upstream=upstream)
    except AnabranchError as error:
        said = " ".join(filter(None, (error.message, error.detail and f"({error.detail})")))
        return RefreshOutcome(name, None, "FAILED", None, error_code=error.code, error=said)
    return RefreshOutcome(
        name,
        done.action,
        done.status,
        done.reason,
        done.rows_inserted,
        done.rows_deleted,
        done.seconds,
        done.lsn,
    )


@command("tick", panel="Refresh")
def tick(session: Session) -> None:
    """One pass of the scheduler: refresh what is due.

    The exit code is 1 if a refresh fails.
    """
    with session.open_lake() as lake, session.show_progress():
        report = lake.tick()
    session.out.print_result(report, lambda: _format_report(report))
    if report.failed:
        raise quiet_exit(ExitCode.FAILED)


def _format_report(report: TickReport) -> Text:
    if not report.leads:
        return escaped_text("Another scheduler leads; nothing was done.", "yellow")
    lines = [
        f"lsn {report.lsn:,}: {len(report.refreshed):,} refreshed, {len(report.unchanged):,} unchanged, "
        f"{len(report.failed):,} failed, {len(report.held):,} held"
    ]
    lines += [f"  refreshed  {name}" for name in report.refreshed]
    lines += [f"  failed     {name}: {why.splitlines()[0]}" for name, why in report.failed]
    lines += [f"  held       {name}: {why}" for name, why in report.held]
    if report.next_due is not None:
        lines.append(f"next due at {format_time(report.next_due)} UTC")
    shown = escaped_text("\n".join(lines))
    shown.highlight_regex(r"(?m)^  failed .*$", "red")
    shown.highlight_regex(r"(?m)^  held .*$", "yellow")
    return shown
