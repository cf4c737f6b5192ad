"""`groups …` and `cycles`: which stream tables move together."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType

from anabranch.cli.app import add_subcommands, command, default_command
from anabranch.cli.completion import complete_stream_tables
from anabranch.cli.human_readable import format_time
from anabranch.cli.output import Column, escaped_text, format_table
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.inspect.cycles import CycleStatus
    from anabranch.inspect.groups import DiamondGroupMember, RefreshGroupInfo


class Isolation(StrEnum):
    """At which lsn the members of a declared group read."""

    read_committed = "read_committed"
    repeatable_read = "repeatable_read"


def _member_name(each: DiamondGroupMember) -> str:
    return each.member_name if each.member_schema == "main" else f"{each.member_schema}.{each.member_name}"


DIAMONDS: list[Column[DiamondGroupMember]] = [
    Column("group", lambda each: each.group_id, right=True, whole=True),
    Column("member", _member_name),
    Column("data meets here", lambda each: each.is_convergence, whole=True),
    Column("from", lambda each: each.shared_sources),
    Column("policy", lambda each: each.schedule_policy, whole=True),
    Column("epoch", lambda each: each.epoch, right=True, whole=True),
]
DECLARED: list[Column[RefreshGroupInfo]] = [
    Column("group", lambda each: each.group_id, right=True, whole=True),
    Column("name", lambda each: each.group_name),
    Column("members", lambda each: each.members),
    Column("implied", lambda each: each.implied_members, spare=1),
    Column("isolation", lambda each: each.isolation, whole=True),
    Column("epoch", lambda each: each.epoch, right=True, whole=True),
]
CYCLES: list[Column[CycleStatus]] = [
    Column("cycle", lambda each: each.scc_id, right=True, whole=True),
    Column("members", lambda each: each.members),
    Column("last passes", lambda each: each.last_iterations, right=True, whole=True),
    Column("last converged at (UTC)", lambda each: format_time(each.last_converged_at), whole=True),
]

groups = add_subcommands("groups", "Stream tables that are published together.", panel="Look", alone=True)


@default_command(within=groups)
def listed(session: Session) -> None:
    """The groups: diamonds, which are found, and those that were declared."""
    with session.open_lake() as lake:
        diamonds, declared = lake.diamond_groups(), lake.refresh_groups()
    session.out.print_result(
        {"diamonds": diamonds, "declared": declared},
        lambda: _format_groups(diamonds, declared, session.out.console.width),
    )


@command("create", within=groups)
def create(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The group's name.")],
    members: Annotated[
        list[str],
        typer.Argument(metavar="MEMBER…", help="Stream tables.", autocompletion=complete_stream_tables),
    ],
    isolation: Annotated[
        Isolation, typer.Option("--isolation", help="Whether all read at the lsn at which the first began.")
    ] = Isolation.read_committed,
    snapshot_timeout_ms: Annotated[
        int,
        typer.Option("--snapshot-timeout-ms", min=0, help="How long one lsn is held at most; 0 for ever."),
    ] = 0,
) -> None:
    """Declare stream tables that are published together."""
    with session.open_lake() as lake:
        lake.create_refresh_group(name, members, isolation.value, snapshot_timeout_ms)
        found = [each for each in lake.refresh_groups() if each.group_name == name]
        session.out.print_done(found, f"created group {name}: {', '.join(members)}")


@command("drop", within=groups)
def drop(
    session: Session, name: Annotated[str, typer.Argument(metavar="NAME", help="The group's name.")]
) -> None:
    """Let the members of a declared group move on their own again."""
    with session.open_lake() as lake:
        lake.drop_refresh_group(name)
        session.out.print_done({"dropped": name}, f"dropped group {name}")


@command("cycles", panel="Look")
def cycles(session: Session) -> None:
    """Stream tables that are made from each other."""
    with session.open_lake() as lake:
        session.out.print_records(lake.scc_status(), CYCLES, none="There are no cycles.")


def _format_groups(
    diamonds: Sequence[DiamondGroupMember], declared: Sequence[RefreshGroupInfo], width: int
) -> RenderableType:
    parts: list[RenderableType] = []
    if diamonds:
        parts += [escaped_text("Diamonds", "italic"), format_table(diamonds, DIAMONDS, width)]
    if declared:
        parts += [escaped_text("Declared", "italic"), format_table(declared, DECLARED, width)]
    return Group(*parts) if parts else escaped_text("Every stream table moves alone.", "dim")
