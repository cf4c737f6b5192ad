"""Definitions in .sql files: CREATE TABLE and CREATE STREAM TABLE, and nothing else.

A project says what there is to be. Statements that load or change rows are run by hand.
"""

from __future__ import annotations

from anabranch.errors import InvalidDefinitionFile
from anabranch.lifecycle.options import parse_option_value
from anabranch.project.definitions import (
    Definition,
    TableDefinition,
    name_file_in_errors,
    stream_table_definition,
)
from anabranch.sql.parse_statement import CreateTable, parse_statement
from anabranch.sql.script import ScriptStatement, split_statements
from anabranch.sql.stream_statement import SPELLED, CreateStreamTable

MAX_STATEMENTS = 10_000


def read_sql_file(name: str, text: str) -> list[Definition]:
    """The definitions in a file, in its order."""
    with name_file_in_errors(name):
        statements = split_statements(text)
    if len(statements) > MAX_STATEMENTS:
        raise InvalidDefinitionFile(f"{name} has more than {MAX_STATEMENTS} statements")
    return [_parse_definition(name, statement) for statement in statements]


def _parse_definition(file: str, statement: ScriptStatement) -> Definition:
    place = f"{file}, line {statement.line}"
    with name_file_in_errors(file):
        parsed = parse_statement(statement.padded_text)
    match parsed:
        case CreateTable(name, schema) if schema is not None:
            return TableDefinition(name, schema, place)
        case CreateStreamTable(name, query, options):
            with name_file_in_errors(file):
                for option in options:
                    if option.name != "initialize":
                        option.check_value(parse_option_value)
            with name_file_in_errors(place):
                return stream_table_definition(
                    name, query, {option.name: option.value for option in options}, place
                )
    words = SPELLED.get(type(parsed)) or " ".join(statement.text.split()[:2]).upper()
    filled = isinstance(parsed, CreateTable)
    raise InvalidDefinitionFile(
        "CREATE TABLE … AS SELECT is no definition" if filled else f"{words[:40]} is no definition",
        detail=f"{place}, column {statement.column}.",
        hint="CREATE STREAM TABLE name AS SELECT …, if it is to be kept fresh."
        if filled
        else "project files have CREATE TABLE and CREATE STREAM TABLE; run others with `anabranch sql -f`.",
    )
