"""`verify`: whether stream tables hold what their queries give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command, quiet_exit
from anabranch.cli.exit_codes import ExitCode
from anabranch.cli.output import Column
from anabranch.cli.select_tables import AnySelectors, select_stream_tables
from anabranch.cli.session import Session
from anabranch.errors import AnabranchError, NothingSelected

if TYPE_CHECKING:
    from anabranch.lake import Lake


@dataclass(frozen=True)
class Outcome:
    """What became of checking one stream table."""

    name: str
    ok: bool
    missing: int | None = None
    """Rows that it should have and doesn't; None if it couldn't be checked."""
    surplus: int | None = None
    error_code: str | None = None
    error: str | None = None


COLUMNS: list[Column[Outcome]] = [
    Column("stream table", lambda each: each.name),
    Column(
        "result",
        lambda each: "right" if each.ok else "not checked" if each.error else "DIFFERS",
        lambda each: "green" if each.ok else "bold red",
        whole=True,
    ),
    Column("missing", lambda each: each.missing, right=True, whole=True),
    Column("surplus", lambda each: each.surplus, right=True, whole=True),
    Column("note", lambda each: f"{each.error_code} {each.error}" if each.error else None),
]


@command("verify", panel="Look")
def verify(
    session: Session,
    names: AnySelectors = None,
    every: Annotated[bool, typer.Option("--all", help="Check all of them.")] = False,
) -> None:
    """Whether stream tables hold what their queries give.

    Recomputes the queries over the versions that were read, and compares. The exit code is 1 if rows differ.
    """
    if bool(names) == every:
        raise NothingSelected("say which stream tables to check", hint="name some, or say --all.")
    with session.open_lake() as lake:
        wanted = select_stream_tables(lake, names)
        with session.show_progress(total=len(wanted), what="checking") as progress:
            found = []
            for name in wanted:
                progress.show_current(name)
                found.append(_try_verify(lake, name))
                progress.advance()
    session.out.print_records(found, COLUMNS, none="There are no stream tables.")
    if not all(each.ok for each in found):
        raise quiet_exit(ExitCode.FAILED)


def _try_verify(lake: Lake, name: str) -> Outcome:
    try:
        verified = lake.verify(name)
    except AnabranchError as error:
        return Outcome(name, False, error_code=error.code, error=error.message)
    return Outcome(name, verified.ok, verified.missing, verified.surplus)
