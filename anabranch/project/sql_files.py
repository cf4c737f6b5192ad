"""Definitions in .sql files: CREATE TABLE and CREATE STREAM TABLE, and nothing else.

A project says what there is to be. Statements that load or change rows are run by hand.
"""

from __future__ import annotations

from anabranch.errors import InvalidDefinitionFile
from anabranch.lifecycle.options import checked_value
from anabranch.project.definitions import (
    Definition,
    TableDefinition,
    in_file,
    stream_table_definition,
)
from anabranch.sql.script import ScriptStatement, split_statements
from anabranch.sql.statements import CreateTable, parse_statement
from anabranch.sql.stream_statement import SPELLED, CreateStreamTable

MAX_STATEMENTS = 10_000


def read_sql_file(name: str, text: str) -> list[Definition]:
    """The definitions in a file, in its order."""
    with in_file(name):
        statements = split_statements(text)
    if len(statements) > MAX_STATEMENTS:
        raise InvalidDefinitionFile(f"{name} has more than {MAX_STATEMENTS} statements")
    return [_definition(name, statement) for statement in statements]


def _definition(file: str, statement: ScriptStatement) -> Definition:
    place = f"{file}, line {statement.line}"
    with in_file(file):
        parsed = parse_statement(statement.in_place)
    match parsed:
        case CreateTable(name, schema) if schema is not None:
            return TableDefinition(name, schema, place)
        case CreateStreamTable(name, query, options):
            with in_file(file):
                for option in options:
                    if option.name != "initialize":
                        option.checked(checked_value)
            with in_file(place):
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
