"""`status`: how the stream tables are doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.cli.app import command
from anabranch.cli.output import Column
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.looking.status import StreamTableStatus

COLUMNS: list[Column[StreamTableStatus]] = [
    Column("stream table", lambda each: each.name, whole=True),
    Column("status", lambda each: each.status, whole=True),
]


@command("status", panel="Look")
def status(session: Session) -> None:
    """How the stream tables are doing: state, freshness, trouble."""
    with session.lake() as lake:
        session.out.records(lake.status(), COLUMNS, none="There are no stream tables.")
