"""`maintain` and `compact`: keep house."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.app import command
from anabranch.cli.completion import complete_tables
from anabranch.cli.human_readable import format_count
from anabranch.cli.session import Session


@command("maintain", panel="Keep house")
def maintain(
    session: Session,
    compact: Annotated[
        bool, typer.Option("--compact/--no-compact", help="Also compact tables with many small files.")
    ] = True,
) -> None:
    """Expire old versions, delete files that nobody needs, compact tables with many small files."""
    with session.open_lake() as lake, session.show_progress():
        done = lake.maintain(compact=compact)
    said = (
        f"{format_count(done.versions_expired, 'version')} expired, "
        f"{format_count(done.tables_forgotten, 'dropped table')} forgotten, "
        f"{format_count(done.files_deleted, 'file')} deleted, {done.files_marked:,} found unneeded, "
        f"{format_count(done.tables_compacted, 'table')} compacted; "
        f"readable from lsn {done.floor_lsn:,} on"
    )
    session.out.print_done(done, said)


@command("compact", panel="Keep house")
def compact(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A table.", autocompletion=complete_tables)],
) -> None:
    """Rewrite a table's many small files into few."""
    with session.open_lake() as lake, session.show_progress():
        done = lake.compact(name)
    if done.lsn is None:
        session.out.print_done(done, f"{name} has no small files to put together")
    else:
        session.out.print_done(done, f"compacted {name}: lsn {done.lsn:,}")
