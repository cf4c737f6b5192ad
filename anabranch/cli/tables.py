"""`tables` and `preview`: what is in the lake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command
from anabranch.cli.completion import every_table
from anabranch.cli.output import Column
from anabranch.cli.rows import previewed, rows_document, shown_rows
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.read.looking import TableInfo


def _kind(each: TableInfo) -> str:
    return "stream table" if each.kind == "stream" else "source"


def _columns(each: TableInfo) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in each.schema)


COLUMNS: list[Column[TableInfo]] = [
    Column("table", lambda each: each.name),
    Column("kind", _kind, whole=True),
    Column("rows", lambda each: each.rows, right=True, whole=True),
    Column("lsn", lambda each: each.lsn, right=True, whole=True),
    Column("columns", _columns),
]


@command("tables", panel="Look")
def tables(session: Session) -> None:
    """Every table of the lake, sources and stream tables."""
    with session.lake() as lake:
        found = lake.tables()
        if session.out.json:
            session.out.document([_document(each) for each in found])
        else:
            session.out.records(found, COLUMNS, none="There are no tables.")


def _document(each: TableInfo) -> dict[str, object]:
    columns = [{"name": column.name, "type": str(column.type)} for column in each.schema]
    kind = _kind(each).replace(" ", "_")
    return {"name": each.name, "kind": kind, "rows": each.rows, "lsn": each.lsn, "columns": columns}


@command("preview", panel="Look")
def preview(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A table.", autocompletion=every_table)],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="How many rows.")] = 20,
) -> None:
    """Some rows of a table, in no order.

    Never starts Spark.
    """
    with session.lake() as lake:
        found = previewed(lake, name, limit)
        session.out.result(rows_document(found), lambda: shown_rows(found))
