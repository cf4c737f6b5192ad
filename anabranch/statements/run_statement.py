"""Running one SQL statement against a lake."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import InvalidOption, NameTaken
from anabranch.inspect.explain import explain_name_or_query
from anabranch.inspect.history import read_refresh_history
from anabranch.inspect.status import read_status
from anabranch.ledger.stream_tables import read_streams
from anabranch.lifecycle.alter import alter_stream_table
from anabranch.lifecycle.create import create_stream_tables
from anabranch.lifecycle.drop import drop_stream_table
from anabranch.lifecycle.options import parse_option_value, parse_options
from anabranch.lifecycle.suspend_resume import resume_stream_table, suspend_stream_table
from anabranch.names import TableName
from anabranch.read.scan_tables import run_query
from anabranch.refresh.definition_cache import DefinitionCache
from anabranch.schedule.manual_refresh import refresh_stream_table
from anabranch.sql.parse_statement import CreateTable, DropTable, Select, Statement, parse_statement
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
from anabranch.streams.arguments import check_flag
from anabranch.streams.stream_table import Options, StreamTable
from anabranch.write.autocommit import autocommit


def run_statement(context: LakeContext, definitions: DefinitionCache, text: str) -> Any:
    """Run a statement. A SELECT gives a frame over one lake version; a change gives what it did."""
    statement = parse_statement(text)
    match statement:
        case Select(query):
            return run_query(context, context.catalog.lake_version(), query)
        case CreateStreamTable():
            _create_stream_table(definitions, statement)
        case AlterStreamTable(name, options, query):
            given = _option_values(options)
            alter_stream_table(definitions, str(name), given if query is None else given | {"query": query})
        case DropStreamTable(name, if_exists, cascade):
            if not if_exists or _read_stream(context, name) is not None:
                drop_stream_table(context, str(name), cascade=cascade)
        case RefreshStreamTable(name, full):
            refresh_stream_table(definitions, str(name), full=full, upstream=True)
            return read_refresh_history(context, str(name), 1)[0]
        case SuspendStreamTable(name):
            suspend_stream_table(context, str(name))
        case ResumeStreamTable(name):
            resume_stream_table(context, str(name))
        case ExplainStreamTable(name):
            return explain_name_or_query(definitions, str(name))
        case ShowStreamTables():
            return read_status(context)
        case _:
            return _run_in_transaction(context, statement)
    return None


def _run_in_transaction(context: LakeContext, statement: Statement) -> Any:
    written = autocommit(context, lambda tx: tx.run_statement(statement))
    silent = isinstance(statement, DropTable | GateSources | UngateSources) or (
        isinstance(statement, CreateTable) and statement.query is None
    )
    return None if silent else written


def _create_stream_table(definitions: DefinitionCache, statement: CreateStreamTable) -> None:
    context = definitions.context
    given = _option_values(statement.options)
    if statement.or_replace and (known := _read_stream(context, statement.name)) is not None:
        _replace_stream_table(definitions, known, statement.query, given)
        return
    try:
        create_stream_tables(definitions, [{"name": str(statement.name), "query": statement.query, **given}])
    except NameTaken:
        if not statement.if_not_exists or _read_stream(context, statement.name) is None:
            raise


def _replace_stream_table(
    definitions: DefinitionCache, known: StreamTable, query: str, given: dict[str, Value]
) -> None:
    """The stream table becomes what the statement says: an option that it doesn't name has its default."""
    initialize = given.pop("initialize", True)
    check_flag("initialize", initialize)
    if not initialize:
        raise InvalidOption(
            f'initialize = FALSE has no meaning for "{known.name}", which is there already',
            detail="its old contents stay readable until the new ones are there.",
        )
    options = parse_options(given, definitions.context.settings)
    changes: dict[str, Any] = {
        field.name: getattr(options, field.name)
        for field in fields(Options)
        if getattr(options, field.name) != getattr(known.options, field.name)
    }
    if query != known.query:
        changes["query"] = query
    if changes:
        alter_stream_table(definitions, str(known.name), changes)


def _option_values(options: Given) -> dict[str, Value]:
    for option in options:
        if option.name != "initialize":
            option.check_value(parse_option_value)
    return {option.name: option.value for option in options}


def _read_stream(context: LakeContext, name: TableName) -> StreamTable | None:
    with context.catalog.database.begin_read() as connection:
        return read_streams(connection).get(name)
