"""Names of tables that a shell may complete, read from the catalog alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta

import typer

from anabranch.errors import AnabranchError

PATIENCE = timedelta(seconds=1)
CATALOG_FILE = "catalog.db"


def complete_stream_tables(ctx: typer.Context, incomplete: str) -> list[str]:
    """The stream tables that what was typed may become; what stands before a `+` stays."""
    lead = "+" if incomplete.startswith("+") else ""
    return [lead + name for name in _read_table_names(ctx, lambda kind: kind == "stream")]


def complete_sources(ctx: typer.Context, incomplete: str) -> list[str]:
    """The tables that people write to."""
    return _read_table_names(ctx, lambda kind: kind not in ("stream", "state"))


def complete_tables(ctx: typer.Context, incomplete: str) -> list[str]:
    """The tables that can be read."""
    return _read_table_names(ctx, lambda kind: kind != "state")


def _read_table_names(ctx: typer.Context, wanted: Callable[[str], bool]) -> list[str]:
    url = _catalog_url(ctx)
    if url is None:
        return []
    # The lake itself is not opened: that would take a second, and could create it.
    from anabranch.ledger.database import Database
    from anabranch.ledger.ledger import read_tables

    try:
        database = Database(url, timeout=PATIENCE)
        try:
            with database.begin_read() as connection:
                return sorted(str(each.name) for each in read_tables(connection) if wanted(each.kind))
        finally:
            database.close()
    except AnabranchError:
        return []  # a shell has no place for an error here


def _catalog_url(ctx: typer.Context) -> str | None:
    given = _option_value(ctx, "catalog") or os.environ.get("ANABRANCH_CATALOG")
    if given:
        return given
    lake = _option_value(ctx, "lake") or os.environ.get("ANABRANCH_LAKE")
    path = os.path.abspath(os.path.join(lake, CATALOG_FILE)) if lake else None
    return f"sqlite:///{path}" if path and os.path.isfile(path) else None


def _option_value(ctx: typer.Context, option: str) -> str | None:
    place: typer.Context | None = ctx
    while place is not None:
        if value := place.params.get(option):
            return str(value)
        place = place.parent  # type: ignore[assignment]
    return None
