"""Names, SQL and requests from outside stay inside."""

from __future__ import annotations

import pytest

from anabranch.errors import SqlError, UnknownColumn, UnsupportedStatement
from anabranch.sql.expression import Expression
from anabranch.sql.query import parse_query
from anabranch.sql.sandbox import LEAVING_FUNCTIONS


@pytest.mark.parametrize("function", LEAVING_FUNCTIONS)
def test_a_function_that_leaves_the_lake_is_refused_however_it_is_written(function: str) -> None:
    for call in (
        function,
        function.upper(),
        f"`{function}`",
        f"system.builtin.{function}",
        f"{function} /* x */ ",
    ):
        for text in (
            f"SELECT {call}('a', 'b')",
            f"SELECT * FROM {call}('a')",
            f"SELECT 1 WHERE (SELECT {call}(a)) = 1",
        ):
            with pytest.raises(UnsupportedStatement, match=function):
                parse_query(text)
        with pytest.raises(UnsupportedStatement, match=function):
            Expression(f"{call}('a', 'b')")


def test_a_column_may_be_called_like_such_a_function() -> None:
    parse_query("SELECT reflect, t.secret FROM t")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT from_xml(a, 'b INT', map('rowValidationXSDPath', '/etc/passwd'))",
        "SELECT from_xml(a, concat('b', ' INT'), m)",
        "SELECT schema_of_xml(a, map('rowValidationXSDPath', '/etc/passwd'))",
    ],
)
def test_options_that_can_name_a_file_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedStatement, match="options"):
        parse_query(text)


def test_xml_without_options_is_fine() -> None:
    parse_query("SELECT from_xml(a, concat('b', ' INT')), schema_of_xml('<a/>') FROM t")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM parquet.`/etc`",
        "SELECT * FROM csv.`file:///etc/passwd`",
        "SELECT * FROM delta.`s3://x/y`",
        "SELECT * FROM json.`C:\\x`",
        "SELECT * FROM `/etc/passwd`",
        "SELECT * FROM spark_catalog.main.orders",
        "SELECT * FROM a.b.c.d",
        "SELECT * FROM orders VERSION AS OF 3",
        "SELECT * FROM orders TIMESTAMP AS OF '2020-01-01'",
        "SELECT * FROM orders FOR VERSION AS OF 3",
        "WITH a AS (SELECT 1) SELECT * FROM a VERSION AS OF 3",
        "SELECT TRANSFORM(a) USING 'cat' AS (b) FROM t",
        "SELECT a FROM t WHERE b USING 'cat'",
        "FROM t MAP a USING 'cat' AS b",
        "FROM t REDUCE a USING 'cat' AS b",
        "SELECT a INTO b FROM t",
        "SELECT * FROM IDENTIFIER('a' || 'b')",
        "SELECT IDENTIFIER('a') FROM t",
        "SELECT `identifier`('a') FROM t",
        "SELECT session.x",
        "SELECT system.session.x",
        "SELECT ?",
        "SELECT a FROM t WHERE b = :c",
        "TABLE t",
        "SELECT * FROM (TABLE t)",
        "SELECT 1 WHERE a IN (TABLE t)",
        "SELECT * FROM a UNION TABLE t",
        "SELECT * FROM TABLE(t)",
        "SELECT * FROM f(TABLE(t))",
        "SELECT * FROM f(TABLE t)",
        "SELECT * FROM STREAM t",
        "SELECT * FROM STREAM(t)",
        "FROM t |> WHERE a",
    ],
)
def test_ways_out_of_the_lake_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedStatement):
        parse_query(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM FROM t",
        "SELECT a FROM t, FROM u",
        "SELECT * FROM VALUES t",
        "SELECT * FROM VALUES . t",
        "SELECT * FROM VALUES (1) AS a(b), SELECT t",
        "SELECT * FROM VALUES (1) AS a(b), TABLESAMPLE t",
        "SELECT * FROM (SELECT)",
        "SELECT * FROM (SELECT a JOIN b ON 1 = 1)",
        "SELECT * FROM LATERAL . t",
        "SELECT * FROM (LATERAL a) x",
        "SELECT * FROM explode(array(1)) AS JOIN (x)",
        "SELECT * FROM t AS left JOIN u",
        "SELECT 1, JOIN x",
        "SELECT * FROM t, SELECT",
    ],
)
def test_words_of_sql_can_not_smuggle_in_a_table_of_their_name(text: str) -> None:
    """Spark reads each of these as naming a table that the parser didn't see, or may do so."""
    with pytest.raises(SqlError):
        parse_query(text)


def test_something_in_the_query_may_be_called_session() -> None:
    parse_query("SELECT session.x FROM t AS session")


def test_names_with_two_underscores_are_no_columns_of_a_row() -> None:
    for text in ("__file", "t.__position = 1", "`__file`"):
        with pytest.raises(UnknownColumn):
            Expression(text)
