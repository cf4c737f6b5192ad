"""`watermark …`: up to which time sources are loaded, and which are read together only if they agree."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import add_subcommands, command
from anabranch.cli.completion import complete_sources
from anabranch.cli.human_readable import format_duration, format_time
from anabranch.cli.output import Column
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.inspect.gates import SourceWatermark, WatermarkGroupInfo

watermark = add_subcommands("watermark", "Say up to which time sources are loaded.", panel="Sources")


class Missing(StrEnum):
    """What a source without a watermark does to those that wait for its group."""

    gated = "gated"
    ignore = "ignore"


WATERMARKS: list[Column[SourceWatermark]] = [
    Column("source", lambda each: each.source),
    Column("watermark (UTC)", lambda each: format_time(each.watermark), whole=True),
    Column("advanced at (UTC)", lambda each: format_time(each.advanced_at), whole=True),
    Column("lsn", lambda each: each.lsn, right=True, whole=True),
]
GROUPS: list[Column[WatermarkGroupInfo]] = [
    Column("group", lambda each: each.group_name),
    Column("sources", lambda each: each.sources),
    Column("tolerance", lambda each: format_duration(each.tolerance_seconds), right=True, whole=True),
    Column("apart", lambda each: format_duration(each.lag_seconds), right=True, whole=True),
    Column(
        "aligned", lambda each: each.aligned, lambda each: "green" if each.aligned else "yellow", whole=True
    ),
    Column("without a watermark", lambda each: each.missing),
]


@command("advance", within=watermark)
def advance(
    session: Session,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A source.", autocompletion=complete_sources)
    ],
    time: Annotated[
        str, typer.Argument(metavar="TIME", help="Such as 2030-01-31 or 2030-01-31T06:00:00Z; never back.")
    ],
) -> None:
    """Say that a source is loaded up to a time."""
    with session.open_lake() as lake:
        lake.advance_watermark(source, time)
        found = [each for each in lake.watermarks() if each.source == source.lower().removeprefix("main.")]
        session.out.print_done(found, f"{source} is loaded up to {format_time(found[0].watermark)} UTC")


@command("list", within=watermark)
def watermarks(session: Session) -> None:
    """Up to which time each source is loaded."""
    with session.open_lake() as lake:
        session.out.print_records(lake.watermarks(), WATERMARKS, none="No source has a watermark.")


@command("groups", within=watermark)
def groups(session: Session) -> None:
    """The watermark groups, and whether their sources are aligned."""
    with session.open_lake() as lake:
        session.out.print_records(lake.watermark_groups(), GROUPS, none="There are no watermark groups.")


@command("create-group", within=watermark)
def create_group(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The group's name.")],
    members: Annotated[
        list[str], typer.Argument(metavar="SOURCE…", help="Its sources.", autocompletion=complete_sources)
    ],
    tolerance: Annotated[
        str, typer.Option("--tolerance", metavar="DURATION", help="How far apart they may be.")
    ] = "0s",
    missing: Annotated[
        Missing, typer.Option("--missing", help="Whether one without a watermark keeps the others waiting.")
    ] = Missing.gated,
) -> None:
    """Declare sources that are read together only while their watermarks are near each other."""
    with session.open_lake() as lake:
        lake.create_watermark_group(name, members, tolerance, missing.value)
        found = [each for each in lake.watermark_groups() if each.group_name == name]
        session.out.print_done(found, f"created watermark group {name}: {', '.join(members)}")


@command("drop-group", within=watermark)
def drop_group(
    session: Session, name: Annotated[str, typer.Argument(metavar="NAME", help="The group's name.")]
) -> None:
    """Let what reads the group's sources go on, however far apart they are."""
    with session.open_lake() as lake:
        lake.drop_watermark_group(name)
        session.out.print_done({"dropped": name}, f"dropped watermark group {name}")
