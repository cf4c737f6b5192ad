"""`history`: what was refreshed, when, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command
from anabranch.cli.completion import complete_stream_tables
from anabranch.cli.human_readable import format_duration, format_time
from anabranch.cli.output import Column
from anabranch.cli.session import Session
from anabranch.errors import UnknownStreamTable

if TYPE_CHECKING:
    from anabranch.inspect.history import RefreshRecord

STYLES = {"SUCCEEDED": "green", "FAILED": "bold red", "ROLLED_BACK": "yellow", "SKIPPED": "dim"}


def _format_row_counts(each: RefreshRecord) -> str:
    return (
        f"+{each.rows_inserted:,} -{each.rows_deleted:,}" if each.rows_inserted or each.rows_deleted else ""
    )


def _format_reason(each: RefreshRecord) -> str | None:
    if each.error:
        first = each.error.splitlines()[0]
        return (
            first
            if each.error_code is None or first.startswith(each.error_code)
            else f"{each.error_code} {first}"
        )
    return each.reason


COLUMNS: list[Column[RefreshRecord]] = [
    Column("at (UTC)", lambda each: format_time(each.started_at), whole=True),
    Column("stream table", lambda each: each.stream_table),
    Column("action", lambda each: each.action.lower(), whole=True),
    Column("status", lambda each: each.status.lower(), lambda each: STYLES.get(each.status, ""), whole=True),
    Column("rows", _format_row_counts, right=True, whole=True),
    Column(
        "took",
        lambda each: format_duration(each.seconds) if each.seconds else None,
        right=True,
        whole=True,
        spare=2,
    ),
    Column("by", lambda each: each.initiated_by, whole=True, spare=3),
    Column("why", _format_reason),
]


@command("history", panel="Look")
def history(
    session: Session,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One stream table.", autocompletion=complete_stream_tables),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000_000, help="How many.")] = 20,
) -> None:
    """The newest refreshes: what was done, how it went, why."""
    with session.open_lake() as lake:
        found = lake.refresh_history(name, limit)
        # Of one that was dropped, the history stays.
        if name is not None and not found and name.lower() not in {each.name for each in lake.status()}:
            raise UnknownStreamTable(
                f'there is no stream table "{name}"', hint="`anabranch status` lists them."
            )
        session.out.print_records(found, COLUMNS, none="Nothing was refreshed yet.")
