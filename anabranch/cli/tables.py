"""`tables` and `preview`: what is in the lake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command
from anabranch.cli.completion import complete_tables
from anabranch.cli.output import Column
from anabranch.cli.rows import format_rows, preview_rows, rows_document
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.read.table_info import TableInfo


def _format_kind(each: TableInfo) -> str:
    return "stream table" if each.kind == "stream" else "source"


def _format_columns(each: TableInfo) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in each.schema)


COLUMNS: list[Column[TableInfo]] = [
    Column("table", lambda each: each.name),
    Column("kind", _format_kind, whole=True),
    Column("rows", lambda each: each.rows, right=True, whole=True),
    Column("lsn", lambda each: each.lsn, right=True, whole=True),
    Column("columns", _format_columns),
]


@command("tables", panel="Look")
def tables(session: Session) -> None:
    """Every table of the lake, sources and stream tables."""
    with session.open_lake() as lake:
        found = lake.tables()
        if session.out.is_json:
            session.out.print_document([_table_document(each) for each in found])
        else:
            session.out.print_records(found, COLUMNS, none="There are no tables.")


def _table_document(each: TableInfo) -> dict[str, object]:
    columns = [{"name": column.name, "type": str(column.type)} for column in each.schema]
    kind = _format_kind(each).replace(" ", "_")
    return {"name": each.name, "kind": kind, "rows": each.rows, "lsn": each.lsn, "columns": columns}


@command("preview", panel="Look")
def preview(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A table.", autocompletion=complete_tables)],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="How many rows.")] = 20,
) -> None:
    """Some rows of a table, in no order.

    Never starts Spark.
    """
    with session.open_lake() as lake:
        found = preview_rows(lake, name, limit)
        session.out.print_result(rows_document(found), lambda: format_rows(found))
