"""Small builders for the queries we write ourselves around the user's text.

Names are quoted, so nothing depends on words of SQL; the user's text goes in as it is, between
parentheses; braces in names are doubled, as the result is a template.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from anabranch.schema import Column
from anabranch.sql.ddl import render_type
from anabranch.sql.template import escape


def quoted_name(text: str) -> exp.Identifier:
    """A quoted name."""
    return exp.to_identifier(escape(text), quoted=True)


def column(text: str, of: str | None = None) -> exp.Expr:
    """A column, of a relation or of the only one there is."""
    return exp.Column(this=quoted_name(text), table=None if of is None else quoted_name(of))


def all_columns(of: str) -> exp.Expr:
    """All columns of a relation."""
    return exp.Column(this=exp.Star(), table=quoted_name(of))


def verbatim(template: str) -> exp.Expr:
    """A piece of a template, put in as it is."""
    return exp.Var(this=template)


def number(value: int) -> exp.Expr:
    """An INT."""
    return exp.Literal.number(value)


def with_alias(value: exp.Expr, text: str) -> exp.Expr:
    """`value AS name`."""
    return exp.Alias(this=value, alias=quoted_name(text))


def relation(template: str, alias: str) -> exp.Expr:
    """A placeholder, or a query in parentheses, under an alias."""
    return exp.Alias(this=verbatim(template), alias=quoted_name(alias))


def as_subquery(query: exp.Expr, alias: str) -> exp.Expr:
    """A query of ours as a relation."""
    return relation(f"({render(query)})", alias)


def typed_null(of: Column) -> exp.Expr:
    """NULL in the type of a column."""
    return verbatim(f"CAST(NULL AS {render_type(of.type)})")


def case_when(cases: Iterable[tuple[exp.Expr, exp.Expr]]) -> exp.Expr:
    """`CASE WHEN … THEN … END`."""
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in cases])


def in_list(value: exp.Expr, numbers: Iterable[int]) -> exp.Expr:
    """`value IN (0, 2)`."""
    return exp.In(this=value, expressions=[number(n) for n in numbers])


def is_not_null(value: exp.Expr) -> exp.Expr:
    """`value IS NOT NULL`."""
    return exp.Not(this=exp.Is(this=value, expression=exp.Null()))


def render(query: exp.Expr) -> str:
    """The text, the same for the same tree."""
    return query.sql(dialect="spark")
