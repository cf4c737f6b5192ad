"""Literals: numbers, strings, words, and those with a type in front."""

from __future__ import annotations

from anabranch.sql.lexer import Kind
from anabranch.sql.lower.syntax.reader import Reader
from anabranch.sql.lower.syntax.tree import Expression, KeywordLiteral, Number, String, TypedLiteral
from anabranch.sql.strings import string_value

_TYPED = frozenset("DATE TIME TIMESTAMP TIMESTAMP_LTZ TIMESTAMP_NTZ INTERVAL X".split())
_WORDS = {"TRUE": True, "FALSE": False, "NULL": None}
_UNITS = frozenset(
    unit + plural
    for unit in "NANOSECOND MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH YEAR".split()
    for plural in ("", "S")
)


def literal(reader: Reader) -> Expression | None:
    """The literal that stands here, if one does."""
    lexeme = reader.peek()
    if lexeme is None:
        return None
    first = reader.at
    if lexeme.kind is Kind.NUMBER:
        reader.at += 1
        return Number(first, reader.at, lexeme.text)
    if lexeme.kind is Kind.STRING:
        return _string(reader)
    if lexeme.word in _WORDS and reader.sign(1) not in (".", "("):
        reader.at += 1
        return KeywordLiteral(first, reader.at, _WORDS[lexeme.word])
    if lexeme.word in _TYPED and reader.is_string(1) and not _is_multi_unit(reader):
        reader.at += 1
        value = string_value(reader.step().text)
        return TypedLiteral(first, reader.at, lexeme.word, value)
    if lexeme.word == "INTERVAL" and _is_multi_unit(reader):
        return _interval(reader)
    return None


def _string(reader: Reader) -> Expression:
    """Strings in a row are one string."""
    first = reader.at
    plain = True
    values: list[str] = []
    while reader.is_string():
        text = reader.step().text
        plain = plain and text[0] in "'\"" and "\\" not in text
        values.append(string_value(text))
    return String(first, reader.at, "".join(values) if plain else None)


def _is_multi_unit(reader: Reader) -> bool:
    """INTERVAL in front of a number or a string with a unit behind it."""
    if reader.word() != "INTERVAL":
        return False
    signed = 1 + (reader.sign(1) in ("+", "-"))
    lexeme = reader.peek(signed)
    value = lexeme is not None and lexeme.kind in (Kind.NUMBER, Kind.STRING)
    return value and reader.word(signed + 1) in _UNITS


def _interval(reader: Reader) -> Expression:
    first = reader.at
    reader.expect("INTERVAL")
    while True:
        signed = reader.sign() in ("+", "-")
        lexeme = reader.peek(signed)
        if lexeme is None or lexeme.kind not in (Kind.NUMBER, Kind.STRING):
            break
        if reader.word(1 + signed) not in _UNITS:
            break
        reader.at += 2 + signed
        if reader.word() == "TO" and reader.word(1) in _UNITS:
            reader.at += 2
            break
    return TypedLiteral(first, reader.at, "INTERVAL")
