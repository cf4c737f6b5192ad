"""An expression is one value of one row, kept in the words it was written in."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidValue, SqlError, UnknownColumn, UnsupportedStatement
from anabranch.names import TableName
from anabranch.sql.expression import GENERATORS, Expression
from anabranch.sql.template import Placeholders


@pytest.mark.parametrize(
    "text",
    [
        "a % b",
        "a DIV b",
        "transform(xs, x -> x + 1)",
        "aggregate(xs, 0, (acc, x) -> acc + x)",
        "m['k'] + a[0] + element_at(xs, 1)",
        "d + INTERVAL 1 DAY",
        "d + INTERVAL '1 02:03:04' DAY TO SECOND",
        "DATE '2020-01-01'",
        "TIMESTAMP_NTZ '2020-01-01 00:00:00'",
        "a::int",
        "try_cast(a AS DECIMAL(10, 2))",
        "a <=> b",
        "a RLIKE '^\\\\w+\\n'",
        "r'\\d' || \"x\" || 'it''s'",
        "1L + 2S + 3Y + 1.5BD + 1e3 + 1.5D",
        "date_add(d, 3)",
        "datediff(d, e)",
        "trunc(d, 'MM')",
        "to_date(x, 'yyyy')",
        "array(1, 2)",
        "named_struct('a', 1)",
        "`a b`.`c``d`",
        "overlay(s PLACING 'x' FROM 2 FOR 1)",
        "greatest(a, b)",
        "grouping",
    ],
)
def test_an_expression_keeps_its_words(text: str) -> None:
    assert Expression(text).template(Placeholders()) == f"({text})"


def test_braces_are_doubled() -> None:
    assert Expression("'{}'").template(Placeholders()).format() == "('{}')"


def test_tables_of_subqueries_become_placeholders() -> None:
    placeholders = Placeholders()
    first = Expression("(SELECT max(x) FROM u WHERE u.id = orders.id)").template(placeholders)
    second = Expression("a IN (SELECT b FROM sales.v) OR EXISTS (SELECT 1 FROM U)").template(placeholders)
    assert first == "((SELECT max(x) FROM {t0} AS `u` WHERE u.id = orders.id))"
    assert second == "(a IN (SELECT b FROM {t1} AS `v`) OR EXISTS (SELECT 1 FROM {t0} AS `U`))"
    assert placeholders.bindings == (("t0", TableName("main", "u")), ("t1", TableName("sales", "v")))


def test_columns_of_the_row_may_name_their_namespace() -> None:
    orders = TableName("sales", "orders")
    assert Expression("sales.orders.a + b.c.d").template(Placeholders(), [orders]) == "(orders.a + b.c.d)"


@pytest.mark.parametrize(
    "text", ["max(a)", "1 + count(*)", "row_number() OVER (ORDER BY a)", "sum(a) OVER ()", "collect_list(a)"]
)
def test_aggregates_and_windows_have_no_value_for_one_row(text: str) -> None:
    with pytest.raises(UnsupportedStatement, match="aggregate"):
        Expression(text)


@pytest.mark.parametrize("function", sorted(GENERATORS))
def test_generators_would_multiply_the_row(function: str) -> None:
    arguments = "a, b" if function in ("stack", "json_tuple") else "a"
    with pytest.raises(UnsupportedStatement, match="generator"):
        Expression(f"{function}({arguments})")


def test_inside_a_subquery_both_are_fine() -> None:
    Expression("(SELECT max(x) FROM u)")
    Expression("a IN (SELECT explode(xs) FROM u)")


@pytest.mark.parametrize("value", [5, None, 1.5, b"a", ["a"]])
def test_a_value_that_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(InvalidValue):
        Expression(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["__file", "t.__position", "`__x`", "(SELECT __file FROM t)"])
def test_hidden_columns_are_unknown(text: str) -> None:
    with pytest.raises(UnknownColumn):
        Expression(text)


def test_what_leaves_the_lake_is_refused_here_too() -> None:
    for text in ("reflect('a', 'b')", "(SELECT 1 FROM parquet.`/x`)", "session.x", "a = :b", "a = ?"):
        with pytest.raises(SqlError):
            Expression(text)


def test_an_expression_knows_the_names_in_it() -> None:
    expression = Expression("Gone AND `x y` = 'z'")
    assert expression.mentions("gone")
    assert expression.mentions("X Y")
    assert not expression.mentions("z")
