"""Text to lexemes, cut where Spark's lexer cuts them.

What is quoted, what is a comment and which brackets pair decides whether a piece of text stays inside
the place it is put into. That decision rests on this file alone: comments are blanked (the offsets of
everything else stay), what Spark's lexer doesn't know is refused, and every bracket has its partner.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from anabranch.errors import SqlSyntax, SqlTooLarge, UnsupportedStatement

MAX_SQL_CHARACTERS = 500_000
MAX_LEXEMES = 50_000
MAX_NESTING = 200
MAX_TYPE_NESTING = 50


class Kind(Enum):
    """What a lexeme is."""

    WORD = "word"
    NUMBER = "number"
    STRING = "string"
    QUOTED = "quoted name"
    SYMBOL = "symbol"


class Lexeme(NamedTuple):
    """A piece of text: `text[start:end]`, as written."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word in upper case; empty for everything that isn't a bare word."""
        return self.text.upper() if self.kind is Kind.WORD else ""

    @property
    def is_name(self) -> bool:
        """A bare word or a name in backticks."""
        return self.kind is Kind.WORD or self.kind is Kind.QUOTED

    @property
    def name(self) -> str:
        """The name that a word or a quoted name stands for."""
        return self.text[1:-1].replace("``", "`") if self.kind is Kind.QUOTED else self.text


@dataclass(frozen=True)
class SqlText:
    """Text without comments, its lexemes, and whether there were comments."""

    text: str
    lexemes: tuple[Lexeme, ...]
    had_comments: bool

    def follows_dot(self, index: int) -> bool:
        """Whether the lexeme is the later part of a dotted name, and so never a keyword."""
        return index > 0 and self.lexemes[index - 1].text == "."


# Unicode letters are cut as Spark cuts them; it then asks for backticks around such names.
_LEXEME = re.compile(
    r"""
      (?P<space>[ \t\r\n]+)
    | (?P<line_comment>--[^\r\n]*+)
    | (?P<comment>/\*(?!\+))
    | (?P<string>[rR]'[^']*+' | [rR]"[^"]*+"
               | '(?:[^'\\]++|\\.|'')*+' | "(?:[^"\\]++|\\.|"")*+")
    | (?P<quoted>`(?:[^`]++|``)*+`)
    | (?P<address>[^\W\d_]++://)
    | (?P<number>(?:\d++\.\d*+|\.\d++|\d++)(?:[eE][+-]?\d++)?(?:[bB][dD]|[lLsSyYfFdD])?(?!\w))
    | (?P<word>\w++)
    | (?P<symbol>/\*\+|\*/|<=>|<>|!=|==|>=|<=|=>|->|::|\|\||\|>|[-.,;()\[\]<>=!+*/%~&|^:?])
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")
_KINDS = {"string": Kind.STRING, "quoted": Kind.QUOTED, "number": Kind.NUMBER, "word": Kind.WORD}
_CLOSES = {")": "(", "]": "[", "*/": "/*+"}
_PREFIXES = frozenset(["NOT", "-", "+", "~", "!"])
_NESTED_TYPES = frozenset(["ARRAY", "MAP", "STRUCT"])


def lex(text: str) -> SqlText:
    """The lexemes of a text; `SqlSyntax` where Spark's lexer would stop, `SqlTooLarge` past a limit."""
    check_characters(text, MAX_SQL_CHARACTERS)
    lexemes: list[Lexeme] = []
    kept: list[str] = []
    had_comments = False
    for group, start, end in scan(text):
        if group in {"comment", "line_comment"}:
            kept.append(_blank(text[start:end]))
            had_comments = True
            continue
        kept.append(text[start:end])
        if group != "space":
            lexemes.append(Lexeme(_KINDS.get(group, Kind.SYMBOL), text[start:end], start, end))
            if len(lexemes) > MAX_LEXEMES:
                raise SqlTooLarge(
                    "the SQL text is too large", detail=f"more than {MAX_LEXEMES} words and signs."
                )
    _check_nesting(text, lexemes)
    sql = SqlText("".join(kept), tuple(lexemes), had_comments)
    _refuse_variables(sql.text)
    return sql


def scan(text: str) -> Iterator[tuple[str, int, int]]:
    """The pieces of a text, blanks and comments among them: what it is, where it begins and ends."""
    position = 0
    while position < len(text):
        match = _LEXEME.match(text, position)
        if match is None or match.lastgroup == "address":
            raise _unreadable_error(text, position)
        group, start, position = str(match.lastgroup), position, match.end()
        if group in {"comment", "line_comment"}:
            position = _comment_end(text, start) if group == "comment" else position
            _refuse_continued_comment(text, start, position)
        yield group, start, position


def place(text: str, offset: int) -> str:
    """Where an offset is, for people."""
    line = text.count("\n", 0, offset) + 1
    return f"line {line}, column {offset - text.rfind(chr(10), 0, offset)}"


def quote(name: str) -> str:
    """A name in backticks.

    >>> quote("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def check_characters(text: str, limit: int) -> None:
    """Refuse what is no text, too much of it, or not to be shown to Spark."""
    if not isinstance(text, str):
        raise SqlSyntax(f"SQL must be text, not {type(text).__name__}")
    if len(text) > limit:
        raise SqlTooLarge(
            "the SQL text is too large",
            detail=f"{len(text)} characters; {limit} are allowed.",
            hint="insert rows with lake.insert instead of writing them into a statement.",
        )
    nul = text.find("\0")
    if nul >= 0:
        raise SqlSyntax("the SQL text contains a NUL character", detail=f"{place(text, nul)}.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise SqlSyntax("the SQL text contains half of a surrogate pair")


def _unreadable_error(text: str, position: int) -> SqlSyntax:
    character = text[position]
    where = place(text, position)
    unclosed = {"'": "string", '"': "string", "`": "quoted name"}.get(character)
    if unclosed:
        return SqlSyntax(
            f"a {unclosed} is not closed", detail=f'it begins at {where}: "{text[position : position + 20]}".'
        )
    shown = character if character.isascii() and character.isprintable() else f"U+{ord(character):04X}"
    if character.isalpha():
        return SqlSyntax("a location stands where a name is expected", detail=f"{where}.")
    hint = "put the name into backticks." if not character.isascii() else None
    return SqlSyntax(f'the character "{shown}" means nothing here', detail=f"{where}.", hint=hint)


def _comment_end(text: str, start: int) -> int:
    """The end of a bracketed comment; they nest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    raise SqlSyntax("a comment is not closed", detail=f"it begins at {place(text, start)}.")


def _refuse_continued_comment(text: str, start: int, end: int) -> None:
    """Spark goes on with a `--` comment after a backslash at the end of its line; few readers know."""
    if text.startswith("--", start) and text[end - 1] == "\\" and text[end : end + 1] == "\n":
        raise SqlSyntax(
            "a comment ends in a backslash",
            detail=f"{place(text, end - 1)}: for Spark the next line would belong to the comment.",
        )


def _blank(comment: str) -> str:
    return re.sub(r"[^\n]", " ", comment)


def _check_nesting(text: str, lexemes: list[Lexeme]) -> None:
    """Every bracket has its partner, and nothing is nested beyond the limits."""
    opened: list[Lexeme] = []
    cases = types = prefixes = 0
    previous = ""
    for lexeme in lexemes:
        sign = lexeme.text if lexeme.kind is Kind.SYMBOL else lexeme.word
        prefixes = prefixes + 1 if sign in _PREFIXES else 0
        if sign in ("(", "[", "/*+"):
            opened.append(lexeme)
        elif sign in _CLOSES:
            if not opened or opened.pop().text != _CLOSES[sign]:
                raise SqlSyntax(f'"{sign}" closes nothing', detail=f"{place(text, lexeme.start)}.")
        elif sign == "CASE" and previous != ".":
            cases += 1
        elif sign == "END" and previous != ".":
            cases = max(0, cases - 1)
        elif sign in ("<", "<>") and previous in _NESTED_TYPES:
            types += sign == "<"
        elif sign == ">":
            types = max(0, types - 1)
        if len(opened) + cases > MAX_NESTING or prefixes > MAX_NESTING or types > MAX_TYPE_NESTING:
            limit = MAX_TYPE_NESTING if types > MAX_TYPE_NESTING else MAX_NESTING
            raise SqlTooLarge(
                "the SQL text is nested too deeply",
                detail=f"more than {limit} levels at {place(text, lexeme.start)}.",
            )
        previous = sign
    if opened:
        raise SqlSyntax(f'"{opened[-1].text}" is not closed', detail=f"{place(text, opened[-1].start)}.")


def _refuse_variables(text: str) -> None:
    """Spark replaces `${env:X}`, `${system:x}` and `${spark.x}` before it parses, even inside strings."""
    found = text.find("${")
    if found >= 0:
        raise UnsupportedStatement(
            "the SQL text refers to a variable of Spark's configuration",
            detail=f'"${{" at {place(text, found)}: Spark would put a setting or environment variable there.',
            hint="in a string, write concat('$', '{…').",
        )
