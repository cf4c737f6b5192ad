"""A second opinion on where a query names tables, taken from its lexemes alone.

Most words of SQL are no reserved words for Spark: it reads `FROM from t` as a table called "from". If
the parser saw another relation than Spark will, the text would name a table that was never replaced.
So each name after FROM, JOIN or a comma between relations must be one that the parser saw there too.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import UnsupportedStatement
from anabranch.sql.lexical import Kind, SqlText, place
from anabranch.sql.parse import shown

_TAKES_FROM = frozenset("EXTRACT TRIM SUBSTRING SUBSTR OVERLAY POSITION".split())
_ENDS_RELATIONS = frozenset(
    "SELECT WHERE GROUP HAVING WINDOW QUALIFY ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET UNION EXCEPT "
    "INTERSECT MINUS VALUES".split()
)


@dataclass
class _Level:
    """What is known inside one pair of brackets."""

    opener: str = ""
    query: bool = False
    relations: bool = False


def check_relations(sql: SqlText, known: frozenset[int]) -> None:
    """Refuse a name that begins a relation at an offset which isn't `known`."""
    levels = [_Level()]
    for index, lexeme in enumerate(sql.lexemes):
        if sql.follows_dot(index):
            continue
        level = levels[-1]
        word = lexeme.word
        if lexeme.text in ("(", "[") and lexeme.kind is Kind.SYMBOL:
            levels.append(_Level(sql.lexemes[index - 1].word if index else ""))
        elif lexeme.text in (")", "]") and lexeme.kind is Kind.SYMBOL:
            levels.pop()
        elif word == "FROM" and not _belongs_to_function(sql, index, level):
            level.query = level.relations = True
            _check_next(sql, index + 1, known)
        elif word == "JOIN" or (lexeme.text == "," and level.relations):
            _check_next(sql, index + 1, known)
        elif word in _ENDS_RELATIONS or (word == "LATERAL" and _word(sql, index + 1) == "VIEW"):
            level.query = level.query or word == "SELECT"
            level.relations = False


def _belongs_to_function(sql: SqlText, index: int, level: _Level) -> bool:
    if _word(sql, index - 1) == "DISTINCT" and _word(sql, index - 2) in ("IS", "NOT"):
        return True
    return level.opener in _TAKES_FROM and not level.query


def _check_next(sql: SqlText, index: int, known: frozenset[int]) -> None:
    index += _word(sql, index) == "LATERAL"
    if index >= len(sql.lexemes) or _word(sql, index) == "VALUES":
        return
    lexeme = sql.lexemes[index]
    called = index + 1 < len(sql.lexemes) and sql.lexemes[index + 1].text == "("
    if lexeme.is_name and not called and lexeme.start not in known:
        raise UnsupportedStatement(
            f"it is not certain that {shown(lexeme.text)} is a table of the lake",
            detail=f"{place(sql.text, lexeme.start)}.",
            hint="put names that are words of SQL into backticks.",
        )


def _word(sql: SqlText, index: int) -> str:
    return sql.lexemes[index].word if 0 <= index < len(sql.lexemes) else ""
