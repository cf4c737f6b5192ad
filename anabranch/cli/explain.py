"""`explain`: how a stream table or a query is maintained."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.app import command
from anabranch.cli.completion import stream_tables
from anabranch.cli.output import text
from anabranch.cli.session import Session


@command("explain", panel="Look")
def explain(
    session: Session,
    what: Annotated[
        str,
        typer.Argument(
            metavar="NAME|QUERY", help="A stream table, or a query.", autocompletion=stream_tables
        ),
    ],
) -> None:
    """How a stream table, or a query, is maintained.

    Shows its operators with the strategy of each, the reasons, and the SQL that runs when sources change.
    """
    with session.lake() as lake, session.progress():
        found = lake.explain(what)
    if session.out.json:
        session.out.document(found)
    else:
        session.out.console.print(text(str(found)), soft_wrap=True)
