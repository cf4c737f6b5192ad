"""One scalar expression, kept as the text it was written in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from anabranch.errors import InvalidValue, UnknownColumn, UnsupportedStatement
from anabranch.names import HIDDEN_PREFIX, TableName
from anabranch.sql.lexer import SqlText, lex
from anabranch.sql.parse import format_snippet, parse_expression
from anabranch.sql.sandbox import check_sandbox
from anabranch.sql.template import Placeholders, render_template

GENERATORS = frozenset(
    "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple "
    "variant_explode variant_explode_outer".split()
)
"""Functions that make several rows of one: in a row's new value they would multiply the row."""

_ROW_HINT = "use a subquery: (SELECT max(x) FROM …)."


@dataclass(frozen=True)
class Expression:
    """The text of one scalar expression over the columns of a row.

    It is whole: it parses alone, its brackets are balanced and it holds no comment, so between
    parentheses it can't reach past them. It gives one value per row: no aggregate, window or generator.
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidValue(
                f"an expression must be SQL text, not {type(self.text).__name__}",
                hint=f'for example "{ascii(self.text)[:40]}".',
            )
        sql = lex(self.text)
        check_sandbox(sql)
        _check_names(sql)
        tree = parse_expression(self.text)
        render_template(sql, tree, Placeholders())
        for node in _nodes_outside_subqueries(tree):
            if isinstance(node, exp.AggFunc | exp.Window) or _is_generator(node):
                raise UnsupportedStatement(
                    "an expression over one row can't hold an aggregate, a window function or a generator",
                    detail=f"in {format_snippet(self.text)}.",
                    hint=_ROW_HINT,
                )

    def template(self, placeholders: Placeholders, visible: Iterable[TableName] = ()) -> str:
        """The expression in parentheses, with placeholders for the tables of its subqueries.

        `visible` are the tables whose columns it may name together with their namespace.
        """
        tree = parse_expression(self.text)
        return "(" + render_template(lex(self.text), tree, placeholders, visible) + ")"

    def mentions(self, name: str) -> bool:
        """Whether a name occurs anywhere in it."""
        return any(
            lexeme.is_name and lexeme.name.lower() == name.lower() for lexeme in lex(self.text).lexemes
        )


def _check_names(sql: SqlText) -> None:
    for lexeme in sql.lexemes:
        if lexeme.is_name and lexeme.name.startswith(HIDDEN_PREFIX):
            raise UnknownColumn(
                f"there is no column {format_snippet(lexeme.name)}",
                detail="names with two underscores are kept.",
            )


def _nodes_outside_subqueries(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes that are evaluated for the row itself, not inside a subquery."""
    pending: list[exp.Expr] = [tree]
    while pending:
        node = pending.pop()
        if not isinstance(node, exp.Query):
            yield node
            pending.extend(node.iter_expressions())


def _is_generator(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in GENERATORS
    return isinstance(node, exp.Func) and any(name.lower() in GENERATORS for name in node.sql_names())
