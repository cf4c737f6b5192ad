"""`explain`: how a stream table or a query is maintained."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.app import command
from anabranch.cli.completion import complete_stream_tables
from anabranch.cli.output import escaped_text
from anabranch.cli.session import Session


@command("explain", panel="Look")
def explain(
    session: Session,
    what: Annotated[
        str,
        typer.Argument(
            metavar="NAME|QUERY", help="A stream table, or a query.", autocompletion=complete_stream_tables
        ),
    ],
) -> None:
    """How a stream table, or a query, is maintained.

    Shows its operators with the strategy of each, the reasons, and the SQL that runs when sources change.
    """
    with session.open_lake() as lake, session.show_progress():
        found = lake.explain(what)
    if session.out.is_json:
        session.out.print_document(found)
    else:
        session.out.console.print(escaped_text(str(found)), soft_wrap=True)
