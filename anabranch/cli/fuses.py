"""`fuse …`: what was stopped because it is larger than it should be."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import add_subcommands, command
from anabranch.cli.completion import complete_stream_tables
from anabranch.cli.output import Column
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.inspect.fuses import FuseStatus

fuse = add_subcommands("fuse", "Fuses: what is larger than it should be is stopped.", panel="Change")
STYLES = {"blown": "bold red", "armed": "green", "off": "dim"}


class Action(StrEnum):
    """What becomes of the changes that a fuse stopped."""

    apply = "apply"
    reinitialize = "reinitialize"
    skip_changes = "skip_changes"


COLUMNS: list[Column[FuseStatus]] = [
    Column("stream table", lambda each: each.name),
    Column("fuse", lambda each: each.state, lambda each: STYLES.get(each.state, ""), whole=True),
    Column("mode", lambda each: each.mode, whole=True),
    Column("pending", lambda each: each.pending_changes, right=True, whole=True),
    Column("ceiling", lambda each: each.effective_ceiling, right=True, whole=True),
    Column("note", lambda each: each.reason),
]


@command("status", within=fuse)
def status(session: Session) -> None:
    """The fuse of every stream table: whether it has blown, and how near it is."""
    with session.open_lake() as lake:
        session.out.print_records(lake.fuse_status(), COLUMNS, none="There are no stream tables.")


@command("reset", within=fuse)
def reset(
    session: Session,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A stream table.", autocompletion=complete_stream_tables)
    ],
    action: Annotated[
        Action,
        typer.Argument(metavar="ACTION", help="apply them, reinitialize from nothing, or skip_changes."),
    ],
) -> None:
    """Arm a blown fuse again, and say what becomes of the changes that it stopped."""
    with session.open_lake() as lake, session.show_progress():
        lake.reset_fuse(name, action.value)
        found = [each for each in lake.fuse_status() if each.name == name.lower().removeprefix("main.")]
        session.out.print_done(found, f"the fuse of {name} is armed again: {action.value}")
