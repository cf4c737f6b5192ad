"""A walk over the lexemes of a statement: its words, names and the pieces of text between them.

Only the shell of a statement is read here (`UPDATE name SET column = … WHERE …`). What stands between
its words is cut out as text; since brackets are balanced and comments are gone, such a piece is whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from anabranch.errors import SqlSyntax, UnsupportedStatement
from anabranch.names import DEFAULT_NAMESPACE, TableName
from anabranch.sql.cross_check_tables import NEVER_ALIAS
from anabranch.sql.lexer import Kind, Lexeme, SqlText, place
from anabranch.sql.parse import format_snippet


class Cursor:
    """A position in a statement's lexemes."""

    def __init__(self, sql: SqlText) -> None:
        self._sql = sql
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        """Whether everything is read."""
        return self._at >= len(self._sql.lexemes)

    @property
    def offset(self) -> int:
        """Where in the text the cursor stands."""
        lexeme = self._peek()
        return lexeme.start if lexeme else self.end

    @property
    def end(self) -> int:
        """Where the text ends."""
        return len(self._sql.text)

    @property
    def place(self) -> str:
        """Where the cursor stands, for people."""
        return place(self._sql.text, self.offset)

    def word(self, ahead: int = 0) -> str:
        """The bare word at the cursor in upper case, or nothing."""
        lexeme = self._peek(ahead)
        return lexeme.word if lexeme else ""

    def sign(self, ahead: int = 0) -> str:
        """The symbol at the cursor, or nothing."""
        lexeme = self._peek(ahead)
        return lexeme.text if lexeme and lexeme.kind is Kind.SYMBOL else ""

    def take(self, *words: str) -> bool:
        """Step over these words or symbols if all of them stand here."""
        if not all((self.word(i) or self.sign(i)) == word for i, word in enumerate(words)):
            return False
        self._at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Step over these words or symbols, which must stand here."""
        if not self.take(*words):
            raise self.syntax_error(f"{' '.join(words)} is expected here")

    def next(self) -> Lexeme | None:
        """Step over whatever stands here."""
        lexeme = self._peek()
        self._at += lexeme is not None
        return lexeme

    def next_if(self, kind: Kind) -> Lexeme | None:
        """Step over what stands here if it is of this kind."""
        lexeme = self._peek()
        return self.next() if lexeme is not None and lexeme.kind is kind else None

    def name(self) -> str:
        """Step over one name."""
        lexeme = self._peek()
        if lexeme is None or not lexeme.is_name:
            raise self.syntax_error("a name is expected here")
        if lexeme.word == "IDENTIFIER" and self.sign(1) == "(":
            raise UnsupportedStatement("the IDENTIFIER clause is not accepted", hint="write the name itself.")
        self._at += 1
        return lexeme.name

    def dotted_name(self) -> tuple[str, ...]:
        """Step over `a`, `a.b`, `a.b.c`, …"""
        parts = [self.name()]
        while self.take("."):
            parts.append(self.name())
        return tuple(parts)

    def plain_names(self) -> tuple[str, ...] | None:
        """Step over `(a, b)` if the brackets hold nothing but names."""
        names: list[str] = []
        ahead = 1
        while self.sign() == "(" and (lexeme := self._peek(ahead)) is not None and lexeme.is_name:
            names.append(lexeme.name)
            if self.sign(ahead + 1) == ")":
                self._at += ahead + 2
                return tuple(names)
            if self.sign(ahead + 1) != ",":
                return None
            ahead += 2
        return None

    def table_name(self) -> TableName:
        """Step over a table's name."""
        return table_name(self.dotted_name())

    def alias(self, *stops: str) -> str | None:
        """Step over `[AS] alias` if there is one; `stops` are the words that may follow instead."""
        given = self.take("AS")
        lexeme = self._peek()
        if lexeme is None or not lexeme.is_name or (not given and lexeme.word in {*stops, *NEVER_ALIAS}):
            if given:
                raise self.syntax_error("an alias is expected here")
            return None
        alias = self.name()
        if self.sign() == "(":
            raise UnsupportedStatement(
                f'the alias "{alias}" renames columns', hint="rename them in a subquery: (SELECT … AS …)."
            )
        return alias

    def take_brackets(self) -> SqlText:
        """Step over `( … )` and give what is inside."""
        self.expect("(")
        inside = self._take_lexemes(lambda _: False)
        self.expect(")")
        return inside

    def take_until(self, *stops: str) -> SqlText:
        """Everything up to one of these words or signs outside brackets and CASE, or up to the end."""
        return self._take_lexemes(lambda lexeme: (lexeme.word or lexeme.text) in stops)

    def take_rest(self) -> SqlText:
        """Everything that is left."""
        return self._take_lexemes(lambda _: False)

    def take_rest_in_place(self) -> SqlText:
        """Everything that is left, where it stands: errors in it tell places in the whole text."""
        before = re.sub(r"[^\n]", " ", self._sql.text[: self.offset])
        rest = SqlText(
            before + self._sql.text[self.offset :], self._sql.lexemes[self._at :], self._sql.had_comments
        )
        self._at = len(self._sql.lexemes)
        return rest

    def finish(self) -> None:
        """Nothing may be left."""
        if not self.is_at_end:
            raise self.syntax_error("the end is expected here")

    def syntax_error(self, what: str, *, hint: str | None = None) -> SqlSyntax:
        """The error that what stands at the cursor is not what should."""
        lexeme = self._peek()
        near = f" near {format_snippet(lexeme.text)}" if lexeme else ""
        return SqlSyntax(f"the SQL text can't be read{near}", detail=f"{self.place}: {what}.", hint=hint)

    def _peek(self, ahead: int = 0) -> Lexeme | None:
        index = self._at + ahead
        return self._sql.lexemes[index] if index < len(self._sql.lexemes) else None

    def _take_lexemes(self, stops: Callable[[Lexeme], bool]) -> SqlText:
        """The lexemes from here to a stop at this level, or to the bracket that closes this level."""
        first = self._at
        depth = cases = 0
        while (lexeme := self._peek()) is not None:
            if not self._sql.follows_dot(self._at):
                if depth == 0 and lexeme.text in (")", "]"):
                    break
                if depth == 0 and cases == 0 and stops(lexeme):
                    break
                cases += (lexeme.word == "CASE") - (lexeme.word == "END" and cases > 0)
            if lexeme.kind is Kind.SYMBOL:
                depth += (lexeme.text in ("(", "[")) - (lexeme.text in (")", "]"))
            self._at += 1
        return slice_lexemes(self._sql, first, self._at)


def slice_lexemes(sql: SqlText, first: int, last: int) -> SqlText:
    """The lexemes `first` to `last` (exclusive) as a text of their own."""
    if first >= last:
        return SqlText("", (), sql.had_comments)
    start, end = sql.lexemes[first].start, sql.lexemes[last - 1].end
    moved = tuple(
        lexeme._replace(start=lexeme.start - start, end=lexeme.end - start)
        for lexeme in sql.lexemes[first:last]
    )
    return SqlText(sql.text[start:end], moved, sql.had_comments)


def table_name(parts: tuple[str, ...]) -> TableName:
    """The table that a dotted name stands for; files, catalogs and other systems are outside the lake."""
    whole = ".".join(parts)
    if any(sign in whole for sign in "/\\:"):
        raise UnsupportedStatement(
            f"{format_snippet(whole)} is a location, not a table of the lake",
            hint="read files with spark.read and add their rows with lake.insert.",
        )
    if len(parts) > 2:
        raise UnsupportedStatement(
            f"the name {format_snippet(whole)} has {len(parts)} parts",
            detail="catalogs and other systems can't be reached from here.",
            hint="write `table` or `namespace.table`.",
        )
    folded = [part.lower() if part.isascii() else part for part in parts]
    return TableName(folded[0], folded[1]) if len(folded) == 2 else TableName(DEFAULT_NAMESPACE, folded[0])
