"""A second opinion on where a query names tables, taken from its lexemes alone.

Most words of SQL are no reserved words for Spark: it reads `FROM select` as a table called "select". If
the parser saw another relation than Spark will, the text would name a table that was never replaced.
So wherever a relation can begin (after FROM and JOIN, after a comma between relations, after a bracket
there), a query must begin, a function be called, or a name stand that the parser took for a relation too.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import UnsupportedStatement
from anabranch.sql.lexer import Kind, Lexeme, SqlText, place
from anabranch.sql.parse import format_snippet

NEVER_ALIAS = frozenset(
    "ANTI CROSS EXCEPT FULL INNER INTERSECT JOIN LATERAL LEFT MINUS NATURAL ON RIGHT SEMI UNION USING".split()
)
"""Words that can't be the alias of a relation for Spark."""

_STRUCTURE = NEVER_ALIAS | frozenset(
    "AS FROM GROUP HAVING LIMIT OFFSET ORDER PIVOT SELECT TABLESAMPLE UNPIVOT VALUES WHERE WINDOW "
    "WITH".split()
)
_BEGINS_QUERY = frozenset("FROM SELECT VALUES WITH".split())
_TAKES_FROM = frozenset("EXTRACT OVERLAY SUBSTR SUBSTRING TRIM".split())
_ENDS_RELATIONS = frozenset(
    "CLUSTER DISTRIBUTE EXCEPT GROUP HAVING INTERSECT LIMIT MINUS OFFSET ORDER QUALIFY SELECT SORT UNION "
    "WHERE WINDOW".split()
)


@dataclass
class _BracketLevel:
    """What is known inside one pair of brackets: what stands before it, and how far its query is read."""

    opener: str = ""
    query: bool = False
    relations: bool = False


def check_relations(sql: SqlText, known: frozenset[int]) -> None:
    """Refuse a name that begins a relation at an offset which isn't `known`."""
    levels = [_BracketLevel()]
    around_relations: set[int] = set()
    for index, lexeme in enumerate(sql.lexemes):
        level = levels[-1]
        word = _word_at(sql, index)
        if lexeme.kind is Kind.SYMBOL and lexeme.text in ("(", "["):
            levels.append(_BracketLevel(_word_at(sql, index - 1), relations=index in around_relations))
        elif lexeme.kind is Kind.SYMBOL and lexeme.text in (")", "]"):
            levels.pop()
        elif lexeme.kind is Kind.SYMBOL and lexeme.text == "," and level.relations:
            around_relations |= _check_relation(sql, index + 1, known)
        elif word == "FROM" and not _belongs_to_function(sql, index, level):
            level.query = level.relations = True
            around_relations |= _check_relation(sql, index + 1, known)
        elif word == "JOIN":
            if not level.relations:
                raise _uncertain_table_error(sql, lexeme)
            around_relations |= _check_relation(sql, index + 1, known)
        elif word in _ENDS_RELATIONS or (word == "LATERAL" and _word_at(sql, index + 1) == "VIEW"):
            if word == "SELECT" and _symbol_at(sql, index - 1) == ",":
                raise _uncertain_table_error(sql, lexeme)
            level.query = level.query or word == "SELECT"
            level.relations = False


def _check_relation(sql: SqlText, index: int, known: frozenset[int]) -> set[int]:
    """Check the relation that begins here; the brackets around relations, which are no queries."""
    brackets: set[int] = set()
    while (lexeme := _lexeme_at(sql, index)) is not None:
        after = _lexeme_at(sql, index + 1)
        if _symbol_at(sql, index) == "(":
            if _word_at(sql, index + 1) in _BEGINS_QUERY and _symbol_at(sql, index + 2) != ".":
                break
            brackets.add(index)
        elif lexeme.word != "LATERAL" or _symbol_at(sql, index + 1) == ".":
            if not _is_relation(lexeme, after, known):
                raise _uncertain_table_error(sql, lexeme)
            break
        index += 1
    return brackets


def _is_relation(lexeme: Lexeme, after: Lexeme | None, known: frozenset[int]) -> bool:
    if not lexeme.is_name:
        return True  # no name, no table
    if lexeme.word == "VALUES":
        # `VALUES 1` lists rows, but `VALUES t` is a table called "values" with the alias t.
        return after is not None and not after.is_name and after.text != "."
    if lexeme.word in _STRUCTURE:
        return False
    return lexeme.start in known or (after is not None and after.text == "(")


def _belongs_to_function(sql: SqlText, index: int, level: _BracketLevel) -> bool:
    if _word_at(sql, index - 1) == "DISTINCT":
        negated = _word_at(sql, index - 2) == "NOT"
        return _word_at(sql, index - 3 if negated else index - 2) == "IS"
    return level.opener in _TAKES_FROM and not level.query


def _uncertain_table_error(sql: SqlText, lexeme: Lexeme) -> UnsupportedStatement:
    return UnsupportedStatement(
        f"it is not certain that {format_snippet(lexeme.text)} is a table of the lake",
        detail=f"{place(sql.text, lexeme.start)}.",
        hint="put names that are words of SQL into backticks, and rows of VALUES into brackets.",
    )


def _lexeme_at(sql: SqlText, index: int) -> Lexeme | None:
    return sql.lexemes[index] if 0 <= index < len(sql.lexemes) else None


def _word_at(sql: SqlText, index: int) -> str:
    lexeme = _lexeme_at(sql, index)
    return "" if lexeme is None or sql.follows_dot(index) else lexeme.word


def _symbol_at(sql: SqlText, index: int) -> str:
    lexeme = _lexeme_at(sql, index)
    return lexeme.text if lexeme is not None and lexeme.kind is Kind.SYMBOL else ""
