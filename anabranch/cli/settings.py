"""`set` and `settings`: the knobs of a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command
from anabranch.cli.output import Column
from anabranch.cli.session import Session
from anabranch.settings import SETTINGS

if TYPE_CHECKING:
    from anabranch.inspect.settings import SettingInfo

COLUMNS: list[Column[SettingInfo]] = [
    Column("setting", lambda each: each.name, whole=True),
    Column("value", lambda each: each.value, lambda each: "bold" if each.origin != "default" else ""),
    Column("from", lambda each: each.origin, whole=True),
    Column("default", lambda each: each.default, lambda each: "dim", spare=1),
    Column("what it is", lambda each: each.meaning),
]


@command("settings", panel="Keep house")
def settings(session: Session) -> None:
    """Every setting: its value, and where that comes from."""
    with session.open_lake() as lake:
        session.out.print_records(lake.settings(), COLUMNS, none="There are no settings.")


@command("set", panel="Keep house")
def store(
    session: Session,
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="A setting.", autocompletion=lambda: sorted(SETTINGS))
    ],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its value.")],
) -> None:
    """Store a setting in the lake."""
    with session.open_lake() as lake:
        lake.set(key, value)
        (found,) = [each for each in lake.settings() if each.name == key]
        session.out.print_done(found, f"{key} = {value}")
        if found.origin != "lake":
            session.out.print_notice(f"{key} stays {found.value} here: the {found.origin} says so")
