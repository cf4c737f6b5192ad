"""What the files of a project define: sources and stream tables, each with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from anabranch.errors import AnabranchError, DefinedTwice, InvalidOption
from anabranch.lifecycle.options import NAMES, parse_option_value
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.sql.query import parse_query


@dataclass(frozen=True)
class TableDefinition:
    """A source that there is to be."""

    name: TableName
    schema: Schema
    place: str


@dataclass(frozen=True)
class StreamTableDefinition:
    """A stream table that there is to be; options that it doesn't name have their defaults."""

    name: TableName
    query: str
    options: Mapping[str, Any]
    place: str
    initialize: bool = True


Definition = TableDefinition | StreamTableDefinition


def stream_table_definition(
    name: TableName, query: str, options: Mapping[str, Any], place: str
) -> StreamTableDefinition:
    """A definition whose query and options were looked at, each alone."""
    given = dict(options)
    initialize = given.pop("initialize", True)
    if not isinstance(initialize, bool):
        raise InvalidOption("initialize is true or false")
    for option, value in given.items():
        if option not in NAMES:
            raise InvalidOption(
                f"a stream table has no option {ascii(option)[:60]}",
                hint=f"the options are {', '.join(NAMES)}, initialize.",
            )
        parse_option_value(option, value)
    parse_query(query)
    return StreamTableDefinition(name, query, given, place, initialize)


@contextmanager
def name_file_in_errors(place: str) -> Iterator[None]:
    """Errors that pass here say in which file they are."""
    try:
        yield
    except AnabranchError as error:
        told = error.detail or ""
        in_it = told.startswith("line ") and ", line " not in place
        detail = f"{place}{', ' if in_it else ': '}{told}" if told else f"{place}."
        raise type(error)(error.message, detail=detail, hint=error.hint) from error


def check_names_unique(definitions: Iterable[Definition]) -> None:
    """Refuse a name that two definitions claim."""
    seen: dict[TableName, str] = {}
    for definition in definitions:
        if definition.name in seen:
            raise DefinedTwice(
                f'"{definition.name}" is defined twice',
                detail=f"{seen[definition.name]}; {definition.place}.",
            )
        seen[definition.name] = definition.place
