"""`suspend`, `resume` and `drop`: stop stream tables, let them go on, remove them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command, quiet_exit
from anabranch.cli.completion import stream_tables
from anabranch.cli.exits import ExitCode
from anabranch.cli.selected import Selectors, map_of, selected
from anabranch.cli.selectors import select
from anabranch.cli.session import Session
from anabranch.errors import CommandError, HasDependents

if TYPE_CHECKING:
    from anabranch.lake import Lake
    from anabranch.looking.status import StreamTableStatus


@command("suspend", panel="Change")
def suspend(session: Session, names: Selectors) -> None:
    """Refresh stream tables no more, until they are resumed.

    What is there stays readable.
    """
    with session.lake() as lake:
        wanted = selected(lake, names)
        for name in wanted:
            lake.suspend_stream_table(name)
        session.out.done(_of(lake, wanted), "suspended: " + ", ".join(wanted))


@command("resume", panel="Change")
def resume(session: Session, names: Selectors) -> None:
    """Refresh stream tables again.

    Whatever the reason was that they weren't: by hand, failures, a fuse.
    """
    with session.lake() as lake:
        wanted = selected(lake, names)
        for name in wanted:
            lake.resume_stream_table(name)
        session.out.done(_of(lake, wanted), "resumed: " + ", ".join(wanted))


@command("drop", panel="Change")
def drop(
    session: Session,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A stream table.", autocompletion=stream_tables)
    ],
    cascade: Annotated[bool, typer.Option("--cascade", help="And all that is made from it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Drop a stream table.

    Earlier versions stay readable as long as they are kept. It asks first, unless --yes is said.
    """
    with session.lake() as lake:
        graph = map_of(lake.graph())
        (wanted, *below) = select([_plain(name)], graph) + [
            reader for reader in select([_plain(name) + "+"], graph) if reader != _plain(name)
        ]
        if below and not cascade:
            raise HasDependents(
                f'"{wanted}" is read by {", ".join(below)}', hint="--cascade drops them with it."
            )
        gone = [wanted, *below]
        if not yes and not _agreed(gone):
            session.out.note("nothing was dropped")
            raise quiet_exit(ExitCode.FAILED)
        lake.drop_stream_table(wanted, cascade=cascade)
    session.out.done({"dropped": gone}, "dropped: " + ", ".join(gone))


def _plain(name: str) -> str:
    """A name, and no selector: what is dropped is named."""
    if not all(letter.isalnum() or letter in "_." for letter in name):
        raise CommandError(f"{name!a} is not a stream table's name")
    return name.lower().removeprefix("main.")


def _agreed(names: list[str]) -> bool:
    if not sys.stdin.isatty():
        raise CommandError("nobody can be asked whether it may go", hint="say --yes.")
    return typer.confirm(f"Drop {', '.join(names)}?", err=True)


def _of(lake: Lake, names: list[str]) -> list[StreamTableStatus]:
    return [each for each in lake.status() if each.name in names]
