"""The name of a type, kept as text."""

from __future__ import annotations

from anabranch.sql.lexer import Kind
from anabranch.sql.lower.syntax.reader import Reader

_NESTED = frozenset(["ARRAY", "MAP", "STRUCT"])
_INTERVAL_UNITS = frozenset("YEAR MONTH DAY HOUR MINUTE SECOND".split())


def type_text(reader: Reader) -> str:
    """Step over a type and give it on one line: `DECIMAL(10,2)`, `ARRAY<STRUCT<a: INT>>`."""
    first = reader.at
    word = reader.name().upper()
    if word in _NESTED and reader.sign() in ("<", "<>"):
        _skip_angle_brackets(reader)
    elif word == "INTERVAL" and reader.word() in _INTERVAL_UNITS:
        reader.at += 1
        if reader.word() == "TO" and reader.word(1) in _INTERVAL_UNITS:
            reader.at += 2
    else:
        if reader.sign() == "(":
            reader.at = reader.closing_index() + 1
        if word in ("STRING", "CHAR", "VARCHAR") and reader.take("COLLATE"):
            reader.any_name()
            while reader.take("."):
                reader.any_name()
    return text_between(reader, first)


def text_between(reader: Reader, first: int) -> str:
    """What was written from `first` to here, with single spaces."""
    lexemes = reader.sql.lexemes[first : reader.at]
    words = [lexeme.text.upper() if lexeme.kind is Kind.WORD else lexeme.text for lexeme in lexemes]
    pieces: list[str] = []
    for index, lexeme in enumerate(lexemes):
        if index and lexemes[index - 1].end < lexeme.start:
            pieces.append(" ")
        # The names of a struct's fields keep their case; nothing else minds.
        is_field = lexeme.kind is Kind.WORD and "STRUCT" in words
        pieces.append(lexeme.text if is_field else words[index])
    return "".join(pieces)


def _skip_angle_brackets(reader: Reader) -> None:
    if reader.take("<>"):
        return
    depth = 0
    while True:
        sign = reader.sign()
        if reader.is_at_end or (sign in (")", "]", ";") and depth == 0):
            raise reader.syntax_error("a type is expected here")
        if sign == "(":
            reader.at = reader.closing_index() + 1
            continue
        depth += (sign == "<") - (sign == ">")
        reader.step()
        if depth == 0:
            return
