"""Running one SQL statement against a lake."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from anabranch.errors import InvalidOption, NameTaken
from anabranch.ledger.streams import Options, StreamTable, read_streams
from anabranch.lifecycle.alter import alter_stream_table
from anabranch.lifecycle.create import create_stream_tables
from anabranch.lifecycle.drop import drop_stream_table
from anabranch.lifecycle.options import checked_options, checked_value
from anabranch.lifecycle.status import resume_stream_table, suspend_stream_table
from anabranch.looking.explain import explain_any
from anabranch.looking.history import refresh_history
from anabranch.looking.status import status
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.read.view import run_query
from anabranch.refresh.definitions import Definitions
from anabranch.refresh.find import check_flag
from anabranch.schedule.manual import refresh_stream_table
from anabranch.sql.statements import CreateTable, DropTable, Select, Statement, parse_statement
from anabranch.sql.stream_statement import (
    AlterStreamTable,
    CreateStreamTable,
    DropStreamTable,
    ExplainStreamTable,
    GateSources,
    RefreshStreamTable,
    ResumeStreamTable,
    ShowStreamTables,
    SuspendStreamTable,
    UngateSources,
    Value,
)
from anabranch.sql.stream_statement import Options as Given
from anabranch.write.autocommit import autocommit


def run_statement(parts: Parts, definitions: Definitions, text: str) -> Any:
    """A SELECT gives a frame over one moment; a change gives what it did."""
    statement = parse_statement(text)
    match statement:
        case Select(query):
            return run_query(parts, parts.catalog.moment(), query)
        case CreateStreamTable():
            _create(definitions, statement)
        case AlterStreamTable(name, options, query):
            given = _given(options)
            alter_stream_table(definitions, str(name), given if query is None else given | {"query": query})
        case DropStreamTable(name, if_exists, cascade):
            if not if_exists or _stream(parts, name) is not None:
                drop_stream_table(parts, str(name), cascade=cascade)
        case RefreshStreamTable(name, full):
            refresh_stream_table(definitions, str(name), full=full, upstream=True)
            return refresh_history(parts, str(name), 1)[0]
        case SuspendStreamTable(name):
            suspend_stream_table(parts, str(name))
        case ResumeStreamTable(name):
            resume_stream_table(parts, str(name))
        case ExplainStreamTable(name):
            return explain_any(definitions, str(name))
        case ShowStreamTables():
            return status(parts)
        case _:
            return _change(parts, statement)
    return None


def _change(parts: Parts, statement: Statement) -> Any:
    written = autocommit(parts, lambda tx: tx.run_statement(statement))
    silent = isinstance(statement, DropTable | GateSources | UngateSources) or (
        isinstance(statement, CreateTable) and statement.query is None
    )
    return None if silent else written


def _create(definitions: Definitions, statement: CreateStreamTable) -> None:
    parts = definitions.parts
    given = _given(statement.options)
    if statement.or_replace and (known := _stream(parts, statement.name)) is not None:
        _replace(definitions, known, statement.query, given)
        return
    try:
        create_stream_tables(definitions, [{"name": str(statement.name), "query": statement.query, **given}])
    except NameTaken:
        if not statement.if_not_exists or _stream(parts, statement.name) is None:
            raise


def _replace(definitions: Definitions, known: StreamTable, query: str, given: dict[str, Value]) -> None:
    """The stream table becomes what the statement says: an option that it doesn't name has its default."""
    initialize = given.pop("initialize", True)
    check_flag("initialize", initialize)
    if not initialize:
        raise InvalidOption(
            f'initialize = FALSE has no meaning for "{known.name}", which is there already',
            detail="its old contents stay readable until the new ones are there.",
        )
    options = checked_options(given, definitions.parts.settings)
    changes: dict[str, Any] = {
        field.name: getattr(options, field.name)
        for field in fields(Options)
        if getattr(options, field.name) != getattr(known.options, field.name)
    }
    if query != known.query:
        changes["query"] = query
    if changes:
        alter_stream_table(definitions, str(known.name), changes)


def _given(options: Given) -> dict[str, Value]:
    for option in options:
        if option.name != "initialize":
            option.checked(checked_value)
    return {option.name: option.value for option in options}


def _stream(parts: Parts, name: TableName) -> StreamTable | None:
    with parts.catalog.database.reading() as connection:
        return read_streams(connection).get(name)
