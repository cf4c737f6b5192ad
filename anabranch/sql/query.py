"""A query as Spark will run it: the user's own text, with placeholders for the tables it reads."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from anabranch.errors import UnsupportedStatement
from anabranch.names import TableName
from anabranch.sql.lexer import SqlText, lex
from anabranch.sql.parse import format_snippet, one_statement, parse_lexemes
from anabranch.sql.sandbox import check_sandbox
from anabranch.sql.template import Placeholders, render_template


@dataclass(frozen=True)
class Query:
    """`template` with each placeholder of `tables` in it.

    Formatted by Python's rules (`{t0}` is a relation, `{{` a brace) it is a query for Spark, whose
    own meaning of the text is the only one there is. Comments are blanked.
    """

    template: str
    tables: tuple[tuple[str, TableName], ...] = ()

    @property
    def reads(self) -> tuple[TableName, ...]:
        """The tables it reads, in the order of first use, each once."""
        return tuple(table for _, table in self.tables)


def parse_query(text: str) -> Query:
    """The query in a text: SELECT, WITH, VALUES, FROM … SELECT; anything else is refused.

    >>> query = parse_query("SELECT id FROM sales.orders")
    >>> query.template, query.tables
    ('SELECT id FROM {t0} AS `orders`', (('t0', TableName(namespace='sales', table='orders')),))
    """
    return parse_query_lexemes(one_statement(lex(text)))


def parse_query_lexemes(sql: SqlText) -> Query:
    """The query in lexed text that holds nothing else."""
    placeholders = Placeholders()
    template = query_template(sql, placeholders)
    return Query(template, placeholders.bindings)


def query_template(sql: SqlText, placeholders: Placeholders) -> str:
    """The template of a query whose tables join those of others."""
    check_sandbox(sql)
    tree = parse_lexemes(sql)
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery | exp.Values):
        raise UnsupportedStatement(f"{format_snippet(sql.text)} is not a query", hint="write a SELECT.")
    return render_template(sql, tree, placeholders)
