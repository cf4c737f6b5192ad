"""A walk over the lexemes of a query, with what its grammar asks again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anabranch.errors import SqlSyntax, UnsupportedStatement
from anabranch.sql.lexer import Kind, Lexeme, SqlText, place
from anabranch.sql.lower.syntax.tree import Expression, Query, Sort
from anabranch.sql.parse import format_snippet

# Spark takes most words of SQL as names. Here these never are, unless in backticks: what both read
# without doubt is read, the rest is refused.
NOT_NAMES = frozenset(
    """
    AND ANTI AS BETWEEN CASE CROSS DISTINCT DIV ELSE END EXCEPT EXISTS FROM FULL GROUP HAVING ILIKE IN
    INNER INTERSECT IS JOIN LATERAL LEFT LIKE LIMIT MINUS NATURAL NOT OFFSET ON OR ORDER QUALIFY REGEXP
    RIGHT RLIKE SELECT SEMI SETMINUS THEN UNION USING WHEN WHERE WITH
    """.split()
)
NOT_ALIASES = NOT_NAMES | frozenset(
    "ASC CLUSTER DESC DISTRIBUTE NULLS OVER PIVOT SORT TABLESAMPLE UNPIVOT VALUES WINDOW".split()
)
_QUERY_WORDS = frozenset(["SELECT", "WITH", "VALUES", "FROM"])
_AFTER_QUERY = frozenset(
    "UNION INTERSECT EXCEPT MINUS SETMINUS ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET".split()
)


@dataclass(frozen=True)
class Grammar:
    """The rules that others need: queries hold expressions, and expressions queries."""

    query: Callable[[Reader], Query]
    expression: Callable[[Reader], Expression]
    value: Callable[[Reader], Expression]
    sorts: Callable[[Reader], tuple[Sort, ...]]


class Reader:
    """A position in the lexemes."""

    def __init__(self, sql: SqlText, grammar: Grammar) -> None:
        self.sql = sql
        self.at = 0
        self.lambda_names: set[str] = set()
        """The parameters of lambdas met so far; columns keep clear of their names."""
        self._lexemes = sql.lexemes
        self._words = [lexeme.word for lexeme in sql.lexemes]
        self._signs = [lexeme.text if lexeme.kind is Kind.SYMBOL else "" for lexeme in sql.lexemes]
        self._partner = _bracket_pairs(self._signs)
        self._grammar = grammar

    # -- rules --------------------------------------------------------------------------------

    def query(self) -> Query:
        """Read a query."""
        return self._grammar.query(self)

    def expression(self) -> Expression:
        """Read any expression."""
        return self._grammar.expression(self)

    def expressions(self) -> tuple[Expression, ...]:
        """Read expressions between commas."""
        found = [self.expression()]
        while self.take(","):
            found.append(self.expression())
        return tuple(found)

    def value(self) -> Expression:
        """Read an expression without AND, OR, NOT and predicates."""
        return self._grammar.value(self)

    def sorts(self) -> tuple[Sort, ...]:
        """Read the items of an ORDER BY."""
        return self._grammar.sorts(self)

    # -- looking ------------------------------------------------------------------------------

    @property
    def is_at_end(self) -> bool:
        """Whether everything is read."""
        return self.at >= len(self._lexemes)

    def word(self, ahead: int = 0) -> str:
        """The bare word here in upper case, or nothing."""
        index = self.at + ahead
        return self._words[index] if index < len(self._words) else ""

    def sign(self, ahead: int = 0) -> str:
        """The symbol here, or nothing."""
        index = self.at + ahead
        return self._signs[index] if index < len(self._signs) else ""

    def peek(self, ahead: int = 0) -> Lexeme | None:
        """The lexeme here."""
        index = self.at + ahead
        return self._lexemes[index] if index < len(self._lexemes) else None

    def is_name(self, ahead: int = 0, besides: frozenset[str] = NOT_NAMES) -> bool:
        """Whether a name stands here, in backticks or a word that isn't kept for something else."""
        lexeme = self.peek(ahead)
        return lexeme is not None and lexeme.is_name and lexeme.word not in besides

    def is_string(self, ahead: int = 0) -> bool:
        """Whether a string stands here."""
        lexeme = self.peek(ahead)
        return lexeme is not None and lexeme.kind is Kind.STRING

    def has_adjacent_signs(self, *signs: str) -> bool:
        """Whether these symbols stand here without space between them: `<` `<` is a shift."""
        if any(self.sign(i) != sign for i, sign in enumerate(signs)):
            return False
        here = self._lexemes[self.at : self.at + len(signs)]
        return all(here[i].end == here[i + 1].start for i in range(len(here) - 1))

    def closing_index(self, ahead: int = 0) -> int:
        """Where the bracket that opens here closes."""
        return self._partner[self.at + ahead]

    # -- stepping -----------------------------------------------------------------------------

    def take(self, *words: str) -> bool:
        """Step over these words or symbols if all of them stand here."""
        if any((self.word(i) or self.sign(i)) != word for i, word in enumerate(words)):
            return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Step over these words or symbols, which must stand here."""
        if not self.take(*words):
            raise self.syntax_error(f"{' '.join(words)} is expected here")

    def step(self) -> Lexeme:
        """Step over whatever stands here."""
        lexeme = self.peek()
        if lexeme is None:
            raise self.syntax_error("something is missing")
        self.at += 1
        return lexeme

    def name(self, besides: frozenset[str] = NOT_NAMES) -> str:
        """Step over one name."""
        if not self.is_name(besides=besides):
            raise self.syntax_error("a name is expected here")
        return self.step().name

    def any_name(self) -> str:
        """Step over a name where no word can be anything else: behind a dot, behind AS."""
        return self.name(besides=frozenset())

    def names(self) -> tuple[str, ...]:
        """Step over `(a, b, …)`."""
        self.expect("(")
        found = [self.any_name()]
        while self.take(","):
            found.append(self.any_name())
        self.expect(")")
        return tuple(found)

    # -- queries in brackets ------------------------------------------------------------------

    def opens_query(self) -> bool:
        """Whether the bracket here holds a query and nothing else.

        `((SELECT 1) UNION (SELECT 2))` does, `((SELECT 1) + 1)` doesn't. It is decided by what
        follows each closing bracket, so that nothing need be read twice.
        """
        first = self.at
        while first < len(self._signs) and self._signs[first] == "(":
            first += 1
        if first == self.at or first >= len(self._words) or self._words[first] not in _QUERY_WORDS:
            return False
        for opening in range(first - 1, self.at, -1):
            following = self._partner[opening] + 1
            if self._signs[following] != ")" and self._words[following] not in _AFTER_QUERY:
                return False
        return True

    # -- errors -------------------------------------------------------------------------------

    def syntax_error(self, what: str) -> SqlSyntax:
        """The error that what stands here is not what should."""
        lexeme = self.peek()
        near = f" near {format_snippet(lexeme.text)}" if lexeme else ""
        offset = lexeme.start if lexeme else len(self.sql.text)
        hint = "a name that is a word of SQL goes into backticks." if lexeme and lexeme.word else None
        return SqlSyntax(
            f"the SQL text can't be read{near}",
            detail=f"{place(self.sql.text, offset)}: {what}.",
            hint=hint,
        )

    def unsupported_error(self, message: str, hint: str) -> UnsupportedStatement:
        """The error that what stands here is not accepted."""
        lexeme = self.peek()
        offset = lexeme.start if lexeme else len(self.sql.text)
        return UnsupportedStatement(message, detail=f"{place(self.sql.text, offset)}.", hint=hint)


def _bracket_pairs(signs: list[str]) -> dict[int, int]:
    """For each opening bracket, where it closes. The lexer has seen to it that all do."""
    partner: dict[int, int] = {}
    opened: list[int] = []
    for index, sign in enumerate(signs):
        if sign in ("(", "["):
            opened.append(index)
        elif sign in (")", "]"):
            partner[opened.pop()] = index
    return partner
