"""`suspend`, `resume` and `drop`: stop stream tables, let them go on, remove them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command, quiet_exit
from anabranch.cli.completion import complete_stream_tables
from anabranch.cli.exit_codes import ExitCode
from anabranch.cli.select_tables import Selectors, dependency_map, select_stream_tables
from anabranch.cli.selectors import select
from anabranch.cli.session import Session
from anabranch.errors import CommandError, HasDependents

if TYPE_CHECKING:
    from anabranch.inspect.status import StreamTableStatus
    from anabranch.lake import Lake


@command("suspend", panel="Change")
def suspend(session: Session, names: Selectors) -> None:
    """Refresh stream tables no more, until they are resumed.

    What is there stays readable.
    """
    with session.open_lake() as lake:
        wanted = select_stream_tables(lake, names)
        for name in wanted:
            lake.suspend_stream_table(name)
        session.out.print_done(_read_status(lake, wanted), "suspended: " + ", ".join(wanted))


@command("resume", panel="Change")
def resume(session: Session, names: Selectors) -> None:
    """Refresh stream tables again.

    Whatever the reason was that they weren't: by hand, failures, a fuse.
    """
    with session.open_lake() as lake:
        wanted = select_stream_tables(lake, names)
        for name in wanted:
            lake.resume_stream_table(name)
        session.out.print_done(_read_status(lake, wanted), "resumed: " + ", ".join(wanted))


@command("drop", panel="Change")
def drop(
    session: Session,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A stream table.", autocompletion=complete_stream_tables)
    ],
    cascade: Annotated[bool, typer.Option("--cascade", help="And all that is made from it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Drop a stream table.

    Earlier versions stay readable as long as they are kept. It asks first, unless --yes is said.
    """
    with session.open_lake() as lake:
        graph = dependency_map(lake.graph())
        (wanted, *below) = select([_parse_name(name)], graph) + [
            reader for reader in select([_parse_name(name) + "+"], graph) if reader != _parse_name(name)
        ]
        if below and not cascade:
            raise HasDependents(
                f'"{wanted}" is read by {", ".join(below)}', hint="--cascade drops them with it."
            )
        gone = [wanted, *below]
        if not yes and not _confirm_drop(gone):
            session.out.print_note("nothing was dropped")
            raise quiet_exit(ExitCode.FAILED)
        lake.drop_stream_table(wanted, cascade=cascade)
    session.out.print_done({"dropped": gone}, "dropped: " + ", ".join(gone))


def _parse_name(name: str) -> str:
    """A name, and no selector: what is dropped is named."""
    if not all(letter.isalnum() or letter in "_." for letter in name):
        raise CommandError(f"{name!a} is not a stream table's name")
    return name.lower().removeprefix("main.")


def _confirm_drop(names: list[str]) -> bool:
    if not sys.stdin.isatty():
        raise CommandError("nobody can be asked whether it may go", hint="say --yes.")
    return typer.confirm(f"Drop {', '.join(names)}?", err=True)


def _read_status(lake: Lake, names: list[str]) -> list[StreamTableStatus]:
    return [each for each in lake.status() if each.name in names]
