"""Text to one statement about stream tables or gates.

The query in such a statement is kept as the user wrote it, comments and all: it is only looked at here, so
that what can't be read is told with its place in the whole text.
"""

from __future__ import annotations

import difflib

from anabranch.errors import InvalidOption, UnsupportedStatement
from anabranch.names import TableName
from anabranch.sql.cursor import Cursor
from anabranch.sql.lexer import Kind
from anabranch.sql.query import parse_query_lexemes
from anabranch.sql.stream_statement import (
    OPTION_TYPES,
    AlterStreamTable,
    CreateStreamTable,
    DropStreamTable,
    ExplainStreamTable,
    GateSources,
    GateStatement,
    LifecycleStatement,
    Option,
    Options,
    RefreshStreamTable,
    ResumeStreamTable,
    ShowStreamTables,
    SuspendStreamTable,
    UngateSources,
    Value,
)
from anabranch.sql.strings import string_value

MAX_SOURCES = 1_000
_CONSTANTS: dict[str, Value] = {"TRUE": True, "FALSE": False, "NULL": None}
_SPELLED = {str: "a string, as in '1m'", int: "a whole number", bool: "TRUE or FALSE", type(None): "NULL"}
_CREATE = "CREATE STREAM TABLE name WITH (schedule = '1m') AS SELECT …"


def read_stream_statement(cursor: Cursor, text: str) -> LifecycleStatement | GateStatement | None:
    """The statement at the cursor, if it is one about stream tables or gates; `text` is the whole of it."""
    or_replace = cursor.take("CREATE", "OR", "REPLACE", "STREAM", "TABLE")
    if or_replace or cursor.take("CREATE", "STREAM", "TABLE"):
        return _create(cursor, text, or_replace)
    if cursor.take("ALTER", "STREAM", "TABLE"):
        return _alter(cursor, text)
    if cursor.take("DROP", "STREAM", "TABLE"):
        return _drop(cursor)
    if cursor.take("REFRESH", "STREAM", "TABLE"):
        name = cursor.table_name()
        full = cursor.take("FULL")
        _finish(cursor, "REFRESH STREAM TABLE name [FULL]")
        return RefreshStreamTable(name, full)
    for word, kind in (
        ("SUSPEND", SuspendStreamTable),
        ("RESUME", ResumeStreamTable),
        ("EXPLAIN", ExplainStreamTable),
    ):
        if cursor.take(word, "STREAM", "TABLE"):
            name = cursor.table_name()
            _finish(cursor, f"{word} STREAM TABLE name")
            return kind(name)
    if cursor.take("SHOW", "STREAM", "TABLES"):
        _finish(cursor, "SHOW STREAM TABLES")
        return ShowStreamTables()
    if cursor.take("GATE", "SOURCE"):
        return GateSources(_sources(cursor, "GATE"))
    if cursor.take("UNGATE", "SOURCE"):
        return UngateSources(_sources(cursor, "UNGATE"))
    return None


def _create(cursor: Cursor, text: str, or_replace: bool) -> CreateStreamTable:
    place = cursor.place
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    if or_replace and if_not_exists:
        raise UnsupportedStatement(
            "OR REPLACE and IF NOT EXISTS contradict each other",
            detail=f"{place}.",
            hint="leave one of them out.",
        )
    name = cursor.table_name()
    if cursor.sign() == "(":
        raise UnsupportedStatement(
            f'the stream table "{name}" has columns of its own',
            detail=f"{cursor.place}: its columns are those of its query.",
            hint="name and cast them there: SELECT CAST(… AS type) AS name.",
        )
    options = _options(cursor) if cursor.take("WITH") else ()
    return CreateStreamTable(name, _query(cursor, text), options, or_replace, if_not_exists)


def _alter(cursor: Cursor, text: str) -> AlterStreamTable:
    name = cursor.table_name()
    options = _options(cursor) if cursor.take("SET") else ()
    if options and cursor.is_at_end:
        return AlterStreamTable(name, options)
    if not options and cursor.word() != "AS":
        raise cursor.syntax_error(
            "SET or AS is expected here", hint="ALTER STREAM TABLE name SET (schedule = '5m') [AS SELECT …]."
        )
    return AlterStreamTable(name, options, _query(cursor, text))


def _drop(cursor: Cursor) -> DropStreamTable:
    if_exists = cursor.take("IF", "EXISTS")
    name = cursor.table_name()
    cascade = cursor.take("CASCADE")
    _finish(cursor, "DROP STREAM TABLE [IF EXISTS] name [CASCADE]")
    return DropStreamTable(name, if_exists, cascade)


def _query(cursor: Cursor, text: str) -> str:
    if not cursor.take("AS"):
        raise cursor.syntax_error("AS is expected here, and then a query", hint=f"{_CREATE}.")
    if cursor.is_at_end:
        raise cursor.syntax_error("a query is expected here", hint=f"{_CREATE}.")
    query = text[cursor.offset : cursor.end]
    parse_query_lexemes(cursor.take_rest_in_place())
    return query


def _options(cursor: Cursor) -> Options:
    found: list[Option] = []
    cursor.expect("(")
    while True:
        place = cursor.place
        name = cursor.name().lower()
        _check_option_name(name, place, [option.name for option in found])
        cursor.expect("=")
        found.append(_check_option_value(Option(name, *_value(cursor, name))))
        if not cursor.take(","):
            break
    if not cursor.take(")"):
        raise cursor.syntax_error("a comma or a closing bracket is expected here")
    return tuple(found)


def _check_option_name(name: str, place: str, before: list[str]) -> None:
    if name in before:
        raise InvalidOption(f"the option {name} is named twice", detail=f"{place}.")
    if name not in OPTION_TYPES:
        close = difflib.get_close_matches(name, OPTION_TYPES, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise InvalidOption(
            f"a stream table has no option {ascii(name)[:60]}",
            detail=f"{place}.",
            hint=f"{meant}the options are {', '.join(OPTION_TYPES)}.",
        )


def _value(cursor: Cursor, name: str) -> tuple[Value, str]:
    place = cursor.place
    if (string := cursor.next_if(Kind.STRING)) is not None:
        return string_value(string.text), place
    if (number := cursor.next_if(Kind.NUMBER)) is not None:
        if not number.text.isdigit():
            raise InvalidOption(f"{number.text} can't be the option {name}", detail=f"{place}.")
        return int(number.text), place
    if word := cursor.word():
        cursor.next()
        return _CONSTANTS.get(word, word.lower()), place
    raise cursor.syntax_error(f"a value of the option {name} is expected here")


def _check_option_value(option: Option) -> Option:
    kinds = OPTION_TYPES[option.name]
    if type(option.value) not in kinds:
        takes = " or ".join(_SPELLED[kind] for kind in kinds)
        raise InvalidOption(
            f"{ascii(option.value)[:60]} can't be the option {option.name}",
            detail=f"{option.place}.",
            hint=f"it takes {takes}.",
        )
    return option


def _sources(cursor: Cursor, word: str) -> tuple[TableName, ...]:
    names = [cursor.table_name()]
    while cursor.take(","):
        names.append(cursor.table_name())
        if len(names) > MAX_SOURCES:
            raise UnsupportedStatement(f"{word} SOURCE names more than {MAX_SOURCES} sources")
    _finish(cursor, f"{word} SOURCE name[, name …]")
    return tuple(names)


def _finish(cursor: Cursor, form: str) -> None:
    if not cursor.is_at_end:
        raise cursor.syntax_error("the end is expected here", hint=f"write {form}.")
