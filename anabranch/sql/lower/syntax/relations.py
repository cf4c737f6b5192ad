"""FROM: tables, subqueries, joins, functions and rows, from left to right.

Spark folds everything to the left: in `a, b JOIN c ON …` the condition sees a, b and c.
"""

from __future__ import annotations

from anabranch.errors import NotIncremental
from anabranch.sql.lexer import place
from anabranch.sql.lower.syntax.reader import NOT_ALIASES, Reader
from anabranch.sql.lower.syntax.tree import (
    Alias,
    BracketedTable,
    DerivedTable,
    Expression,
    InlineTable,
    JoinedTable,
    JoinWord,
    LateralView,
    Relation,
    Row,
    TableFunction,
    TableRef,
)

_JOINS: tuple[tuple[tuple[str, ...], JoinWord], ...] = (
    (("JOIN",), "inner"),
    (("INNER", "JOIN"), "inner"),
    (("CROSS", "JOIN"), "cross"),
    (("LEFT", "JOIN"), "left"),
    (("LEFT", "OUTER", "JOIN"), "left"),
    (("RIGHT", "JOIN"), "right"),
    (("RIGHT", "OUTER", "JOIN"), "right"),
    (("FULL", "JOIN"), "full"),
    (("FULL", "OUTER", "JOIN"), "full"),
    (("LEFT", "SEMI", "JOIN"), "semi"),
    (("SEMI", "JOIN"), "semi"),
    (("LEFT", "ANTI", "JOIN"), "anti"),
    (("ANTI", "JOIN"), "anti"),
)


def relations(reader: Reader) -> Relation:
    """Everything behind FROM."""
    first = reader.at
    found = _join_chain(reader, first, _primary(reader))
    while reader.take(","):
        right = _primary(reader)
        found = JoinedTable(first, reader.at, found, right, "cross")
        found = _join_chain(reader, first, found)
    return found


def _join_chain(reader: Reader, first: int, left: Relation) -> Relation:
    """The relation with the joins behind it."""
    while True:
        if reader.word() in ("PIVOT", "UNPIVOT") and (
            reader.sign(1) == "(" or reader.word(1) in ("INCLUDE", "EXCLUDE")
        ):
            raise _not_yet_error(reader, reader.word(), "write it with CASE and GROUP BY, or with stack(…)")
        natural = reader.take("NATURAL")
        kind = _join_word(reader)
        if kind is None:
            if natural:
                raise reader.syntax_error("JOIN is expected here")
            return left
        right = _primary(reader)
        on: Expression | None = None
        using: tuple[str, ...] | None = None
        if not natural and reader.take("ON"):
            on = reader.expression()
        elif not natural and reader.take("USING"):
            using = reader.names()
        left = JoinedTable(first, reader.at, left, right, kind, on, using, natural)


def _join_word(reader: Reader) -> JoinWord | None:
    for words, kind in _JOINS:
        if reader.take(*words):
            return kind
    return None


def _primary(reader: Reader) -> Relation:
    first = reader.at
    lateral = reader.word() == "LATERAL" and reader.word(1) != "VIEW" and reader.take("LATERAL")
    if reader.sign() == "(":
        return _bracketed_relation(reader, first, lateral)
    if reader.word() == "VALUES" and not reader.is_name(1, NOT_ALIASES):
        reader.at += 1
        rows = inline_rows(reader)
        alias = table_alias(reader)
        return InlineTable(first, reader.at, rows, alias)
    if reader.is_name() and reader.sign(1) == "(":
        return _function(reader, first, lateral)
    if lateral:
        raise reader.syntax_error("a subquery or a function is expected behind LATERAL")
    parts = [reader.name()]
    while reader.take("."):
        parts.append(reader.any_name())
    _refuse_sample(reader)
    alias = table_alias(reader)
    return TableRef(first, reader.at, tuple(parts), alias)


def _bracketed_relation(reader: Reader, first: int, lateral: bool) -> Relation:
    if reader.opens_query():
        reader.expect("(")
        query = reader.query()
        reader.expect(")")
        _refuse_sample(reader)
        alias = table_alias(reader)
        return DerivedTable(first, reader.at, query, alias, lateral)
    reader.expect("(")
    inner = _join_chain(reader, reader.at, _primary(reader))
    reader.expect(")")
    _refuse_sample(reader)
    alias = table_alias(reader)
    return BracketedTable(first, reader.at, inner, alias)


def _function(reader: Reader, first: int, lateral: bool) -> Relation:
    name = reader.name().lower()
    reader.expect("(")
    args: tuple[Expression, ...] = ()
    if reader.sign() != ")":
        args = reader.expressions()
    reader.expect(")")
    alias = table_alias(reader)
    return TableFunction(first, reader.at, name, args, alias, lateral)


def table_alias(reader: Reader) -> Alias | None:
    """`[AS] name [(columns)]`, if it stands here."""
    first = reader.at
    if reader.take("AS"):
        name = reader.any_name()
    elif reader.is_name(besides=NOT_ALIASES):
        name = reader.step().name
    else:
        return None
    columns = reader.names() if reader.sign() == "(" else ()
    return Alias(first, reader.at, name, columns)


def inline_rows(reader: Reader) -> tuple[tuple[Expression, ...], ...]:
    """`(1, 2), (3, 4)` or `1, 2`, behind VALUES."""
    found: list[tuple[Expression, ...]] = []
    while True:
        row = reader.expression()
        is_row = isinstance(row, Row) and not any(item.aliases for item in row.items)
        found.append(tuple(item.value for item in row.items) if is_row and isinstance(row, Row) else (row,))
        if not reader.take(","):
            return tuple(found)


def lateral_views(reader: Reader) -> tuple[LateralView, ...]:
    """`LATERAL VIEW [OUTER] f(…) name [AS columns]`, as often as it stands here."""
    found: list[LateralView] = []
    while True:
        first = reader.at
        if not reader.take("LATERAL", "VIEW"):
            return tuple(found)
        outer = reader.take("OUTER")
        function = reader.name().lower()
        reader.expect("(")
        args: tuple[Expression, ...] = ()
        if reader.sign() != ")":
            args = reader.expressions()
        reader.expect(")")
        # The name may be left out: `LATERAL VIEW explode(x) AS y` names a column only.
        name = "" if reader.word() == "AS" else reader.name()
        columns: list[str] = []
        if reader.take("AS") or reader.is_name(besides=NOT_ALIASES):
            columns.append(reader.any_name())
            while reader.take(","):
                columns.append(reader.any_name())
        found.append(LateralView(first, reader.at, outer, function, args, name, tuple(columns)))


def _refuse_sample(reader: Reader) -> None:
    if reader.word() == "TABLESAMPLE" and reader.sign(1) == "(":
        raise NotIncremental(
            "TABLESAMPLE can't be maintained incrementally",
            detail=f"{_format_position(reader)}: it draws other rows on every refresh.",
            hint="filter by a hash of a key, xxhash64(id) % 100 = 0, or create it with refresh_mode = full.",
        )


def _not_yet_error(reader: Reader, what: str, hint: str) -> NotIncremental:
    return NotIncremental(
        f"{what} can't be maintained incrementally yet",
        detail=f"{_format_position(reader)}.",
        hint=f"{hint}, or create it with refresh_mode = full.",
    )


def _format_position(reader: Reader) -> str:
    lexeme = reader.peek()
    return place(reader.sql.text, lexeme.start if lexeme else len(reader.sql.text))
