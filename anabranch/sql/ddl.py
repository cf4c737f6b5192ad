"""Schemas as DDL text: "id BIGINT NOT NULL, tags ARRAY<STRING>, price DECIMAL(10,2) COMMENT 'net'".

The grammar is Spark's own for a list of columns, read from the lexemes: sqlglot folds some of its
types together (TIMESTAMP and TIMESTAMP_LTZ, BYTE and TINYINT), and where it must not, can't tell.
"""

from __future__ import annotations

import warnings

from anabranch.errors import InvalidSchema, Notice, SqlSyntax, UnsupportedType
from anabranch.schema import (
    ATOMIC_NAMES,
    MAX_TYPE_DEPTH,
    Array,
    Atomic,
    Column,
    Decimal,
    Map,
    Schema,
    Struct,
    Type,
)
from anabranch.sql.cursor import Cursor
from anabranch.sql.lexer import Kind, Lexeme, SqlText, lex, quote
from anabranch.sql.parse import format_snippet
from anabranch.sql.strings import string_value

_SYNONYMS = {
    "BYTE": "tinyint",
    "SHORT": "smallint",
    "INTEGER": "int",
    "LONG": "bigint",
    "REAL": "float",
    "TIMESTAMP_LTZ": "timestamp",
}
_DECIMALS = frozenset(["DECIMAL", "DEC", "NUMERIC"])
_TEXTS = frozenset(["VARCHAR", "CHAR", "CHARACTER"])
_TYPE_WORDS = frozenset(
    [*(name.upper() for name in ATOMIC_NAMES), *_SYNONYMS, *_DECIMALS, *_TEXTS, "ARRAY", "MAP", "STRUCT"]
)
_KNOWN_ELSEWHERE = {
    "INTERVAL": "store a number of days, seconds or months.",
    "VARIANT": "store it as STRING (to_json, parse_json).",
    "VOID": "give the column a type.",
    "GEOMETRY": "store it as BINARY (ST_AsBinary).",
    "GEOGRAPHY": "store it as BINARY (ST_AsBinary).",
    "TEXT": "it is called STRING.",
    "DATETIME": "it is called TIMESTAMP_NTZ (a clock on the wall) or TIMESTAMP (an instant).",
    "BOOL": "it is called BOOLEAN.",
    "UUID": "store it as STRING.",
    "JSON": "store it as STRING.",
}
_CONSTRAINTS = {
    "PRIMARY": "PRIMARY KEY",
    "FOREIGN": "FOREIGN KEY",
    "UNIQUE": "UNIQUE",
    "CHECK": "CHECK",
    "CONSTRAINT": "CONSTRAINT",
    "DEFAULT": "DEFAULT",
    "GENERATED": "GENERATED",
    "REFERENCES": "REFERENCES",
    "COLLATE": "COLLATE",
    "MASK": "MASK",
}


def parse_schema(text: str) -> Schema:
    """The schema that a DDL text describes.

    >>> str(parse_schema("id BIGINT NOT NULL, tags ARRAY<STRING>"))
    'id BIGINT NOT NULL, tags ARRAY<STRING>'
    """
    try:
        sql = lex(text)
    except SqlSyntax as error:
        raise InvalidSchema("the schema can't be read", detail=error.message, hint=error.detail) from error
    return parse_schema_lexemes(sql)


def parse_schema_lexemes(sql: SqlText) -> Schema:
    """The schema in lexed text that holds nothing else."""
    cursor = Cursor(sql)
    try:
        columns = _columns(cursor)
        cursor.finish()
    except SqlSyntax as error:
        raise InvalidSchema(
            f"the schema {format_snippet(sql.text)} can't be read",
            detail=error.detail,
            hint='write it like "id BIGINT NOT NULL, name STRING".',
        ) from error
    return Schema(columns)


def render_type(kind: Type) -> str:
    """A type as Spark reads it, names quoted.

    >>> render_type(Struct((Column("a", Atomic("int"), nullable=False),)))
    'STRUCT<`a`: INT NOT NULL>'
    """
    match kind:
        case Array(element, _):
            return f"ARRAY<{render_type(element)}>"
        case Map(key, value, _):
            return f"MAP<{render_type(key)}, {render_type(value)}>"
        case Struct(fields):
            inner = (
                f"{quote(f.name)}: {render_type(f.type)}{'' if f.nullable else ' NOT NULL'}" for f in fields
            )
            return f"STRUCT<{', '.join(inner)}>"
        case _:
            return str(kind)


def _columns(cursor: Cursor, depth: int = 0) -> tuple[Column, ...]:
    """`name [:] type [NOT NULL] [COMMENT '…'], …`: the columns of a table or the fields of a struct."""
    columns: list[Column] = []
    while True:
        if cursor.word() in _CONSTRAINTS and cursor.sign(1) != ":" and cursor.word(1) not in _TYPE_WORDS:
            raise _constraint_error(cursor)
        name = cursor.name()
        cursor.take(":")
        kind = _type(cursor, depth, name)
        columns.append(Column(name, kind, *_column_options(cursor)))
        if not cursor.take(","):
            return tuple(columns)


def _column_options(cursor: Cursor) -> tuple[bool, str | None]:
    nullable, comment = True, None
    while True:
        if cursor.take("NOT", "NULL") or cursor.take("!", "NULL"):
            nullable = False
        elif cursor.take("NULL"):
            nullable = True
        elif cursor.take("COMMENT"):
            comment = _string(cursor)
        elif cursor.word() in _CONSTRAINTS:
            raise _constraint_error(cursor)
        else:
            return nullable, comment


def _constraint_error(cursor: Cursor) -> InvalidSchema:
    return InvalidSchema(
        f"{_CONSTRAINTS[cursor.word()]} is not accepted in a schema",
        hint="a column has a name, a type, NOT NULL and a COMMENT.",
    )


def _type(cursor: Cursor, depth: int, column: str) -> Type:
    if depth > MAX_TYPE_DEPTH:
        raise InvalidSchema(f"a type is nested deeper than {MAX_TYPE_DEPTH} levels")
    word = cursor.word()
    if not word:
        raise cursor.syntax_error(f'the type of "{column}" is expected here')
    cursor.next()
    match word:
        case "ARRAY":
            cursor.expect("<")
            element = _type(cursor, depth + 1, column)
            cursor.expect(">")
            return Array(element)
        case "MAP":
            cursor.expect("<")
            key = _type(cursor, depth + 1, column)
            cursor.expect(",")
            value = _type(cursor, depth + 1, column)
            cursor.expect(">")
            return Map(key, value)
        case "STRUCT":
            cursor.expect("<")
            fields = _columns(cursor, depth + 1)
            cursor.expect(">")
            return Struct(fields)
    if word in _DECIMALS:
        return Decimal(*_decimal_size(cursor))
    if word in _TEXTS:
        return _text_type(cursor, word, column)
    return _atomic(cursor, word)


def _atomic(cursor: Cursor, word: str) -> Atomic:
    name = _SYNONYMS.get(word, word.lower())
    if name not in ATOMIC_NAMES:
        if hint := _KNOWN_ELSEWHERE.get(word):
            raise UnsupportedType(f"a table can't hold the type {word}", hint=hint)
        raise InvalidSchema(
            f"there is no type {format_snippet(word)}",
            hint="for example BIGINT, STRING, DECIMAL(12,2), DATE, TIMESTAMP.",
        )
    if cursor.sign() == "(":
        sizes = _numbers(cursor)
        if word != "TIME" or sizes != [6]:
            given = ",".join(map(str, sizes))
            raise UnsupportedType(f"a table can't hold the type {word}({given})", hint=f"write {word}.")
    if cursor.take("WITHOUT", "TIME", "ZONE"):
        if word == "TIMESTAMP":
            return Atomic("timestamp_ntz")
        if word != "TIME":
            raise cursor.syntax_error("WITHOUT TIME ZONE belongs to TIMESTAMP or TIME")
    return Atomic(name)


def _decimal_size(cursor: Cursor) -> tuple[int, int]:
    sizes = _numbers(cursor) if cursor.sign() == "(" else [10]
    match sizes:
        case [precision]:
            return precision, 0
        case [precision, scale]:
            return precision, scale
    raise InvalidSchema("DECIMAL has a precision and a scale", hint="for example DECIMAL(12,2).")


def _text_type(cursor: Cursor, word: str, column: str) -> Atomic:
    length = f"({_numbers(cursor)[0]})" if cursor.sign() == "(" else ""
    warnings.warn(
        Notice(f'"{column}" {word}{length} is kept as STRING; its length is not checked'), stacklevel=2
    )
    return Atomic("string")


def _numbers(cursor: Cursor) -> list[int]:
    inner = Cursor(cursor.take_brackets())
    numbers: list[int] = []
    while True:
        lexeme = inner.next()
        if (
            lexeme is None
            or lexeme.kind is not Kind.NUMBER
            or not lexeme.text.isdigit()
            or len(lexeme.text) > 9
        ):
            raise inner.syntax_error("a number is expected in these brackets")
        numbers.append(int(lexeme.text))
        if not inner.take(","):
            inner.finish()
            return numbers


def _string(cursor: Cursor) -> str:
    """One string, or several in a row, which Spark joins."""
    pieces: list[Lexeme] = []
    while (lexeme := cursor.next_if(Kind.STRING)) is not None:
        pieces.append(lexeme)
    if not pieces:
        raise cursor.syntax_error("a string is expected here")
    value = "".join(string_value(piece.text) for piece in pieces)
    if "\0" in value:
        raise InvalidSchema("a comment contains a NUL character")
    return value
