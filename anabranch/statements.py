"""Running one SQL statement against a lake."""

from __future__ import annotations

from typing import Any

from anabranch.parts import Parts
from anabranch.read.view import run_query
from anabranch.sql.statements import CreateTable, DropTable, Select, parse_statement
from anabranch.write.autocommit import autocommit


def run_statement(parts: Parts, text: str) -> Any:
    """A SELECT gives a frame over one moment; a change gives what it did."""
    statement = parse_statement(text)
    if isinstance(statement, Select):
        return run_query(parts, parts.catalog.moment(), statement.query)
    written = autocommit(parts, lambda tx: tx.run_statement(statement))
    if isinstance(statement, DropTable) or (isinstance(statement, CreateTable) and statement.query is None):
        return None
    return written
