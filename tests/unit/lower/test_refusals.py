"""Everything refused has its code, its place and a hint, and comes quickly."""

from __future__ import annotations

import time

import pytest

from anabranch.errors import (
    AnabranchError,
    InvalidName,
    NotIncremental,
    NotOneStatement,
    SqlSyntax,
    SqlTooLarge,
    UnsupportedStatement,
)
from anabranch.names import TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import lower
from anabranch.sql.lower.functions import AGGREGATES, GENERATORS, NOT_YET, SCALARS, UNSTABLE, WINDOWS
from tests.unit.lower.databases import lowered

SCHEMAS = {TableName.parse("e"): parse_schema("d DATE, ts TIMESTAMP, s STRING, x DOUBLE")}


ARGUMENTS = {"aes_encrypt": "s, s", "randstr": "5", "shuffle": "array(1)", "uniform": "1, 2"}


@pytest.mark.parametrize("name", sorted(UNSTABLE))
def test_functions_without_a_stable_value_are_refused(name: str) -> None:
    call = f"{name}({ARGUMENTS.get(name, '')})"
    with pytest.raises(NotIncremental) as caught:
        lowered(f"SELECT a,\n  {call} AS x FROM t")
    assert str(caught.value.detail).startswith(f'line 2, column 3, in "{call}": its value')
    assert caught.value.hint == f"remove {name}(), or create it with refresh_mode = full."


@pytest.mark.parametrize(
    "expression",
    [
        "current_date",
        "CURRENT_TIMESTAMP",
        "unix_timestamp()",
        "DATE 'today'",
        "TIMESTAMP 'now'",
        "CAST('yesterday' AS DATE)",
        "'now'::timestamp",
        "to_date(' TODAY ')",
        "d = 'tomorrow'",
        "transform(array(1), x -> rand())",
        "CASE WHEN s = 'x' THEN x ELSE rand() END",
        "sum(x) FILTER (WHERE rand() > 0.5)",
    ],
)
def test_the_clock_and_chance_are_found_wherever_they_hide(expression: str) -> None:
    with pytest.raises(NotIncremental):
        lower(f"SELECT {expression} AS r FROM e", SCHEMAS)


def test_a_column_called_like_a_function_is_a_column() -> None:
    schemas = {TableName.parse("e"): parse_schema("current_date DATE, user STRING")}
    assert lower("SELECT current_date, user FROM e", schemas).columns == ("current_date", "user")


def test_text_that_only_looks_like_a_time_is_text() -> None:
    assert lower("SELECT s FROM e WHERE s = 'today' OR d = DATE 'epoch'", SCHEMAS).columns == ("s",)


def test_a_function_that_is_not_sparks_is_refused() -> None:
    with pytest.raises(NotIncremental, match=r"my_function\(\)"):
        lowered("SELECT my_function(a) AS x FROM t")


def test_sparks_functions_are_sorted_without_overlap() -> None:
    kinds = [AGGREGATES, WINDOWS, GENERATORS, frozenset(UNSTABLE), frozenset(NOT_YET), SCALARS]
    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT java_method('java.lang.System', 'exit', 1) AS x", UnsupportedStatement),
        ("SELECT a FROM csv.`x.csv`", InvalidName),
        ("SELECT a FROM t VERSION AS OF 1", AnabranchError),
        ("SELECT a FROM t TABLESAMPLE (1 PERCENT)", NotIncremental),
        ("SELECT a FROM (SELECT a FROM t) TABLESAMPLE (1 ROWS)", NotIncremental),
        ("SELECT * FROM t PIVOT (sum(b) FOR s IN ('x'))", NotIncremental),
        ("SELECT * FROM sql_keywords()", NotIncremental),
        ("SELECT a FROM t; SELECT a FROM t", NotOneStatement),
        ("", NotOneStatement),
        ("DROP TABLE t", UnsupportedStatement),
        ("SELECT a FROM", SqlSyntax),
        ("SELECT a FROM t WHERE", SqlSyntax),
        ("SELECT a FROM t ORDER BY", SqlSyntax),
        ("SELECT default.upper(s) AS x FROM t", UnsupportedStatement),
    ],
)
def test_what_is_no_query_of_the_lake_is_refused(text: str, kind: type[AnabranchError]) -> None:
    with pytest.raises(kind):
        lowered(text)


HUGE = {
    "10,000 brackets": "SELECT " + "(" * 10_000 + "a" + ")" * 10_000 + " AS x FROM t",
    "a megabyte": "SELECT a FROM t WHERE " + " OR ".join(["a = 1"] * 120_000),
    "500 joins": "SELECT x0.a FROM t AS x0 "
    + " ".join(f"JOIN t AS x{i} ON x{i}.a = x{i - 1}.a" for i in range(1, 501)),
    "500 branches": " UNION ALL ".join(["SELECT a FROM t"] * 500),
    "a list of 6,000": f"SELECT a FROM t WHERE a IN ({', '.join(map(str, range(6_000)))})",
    "CTEs that double": "WITH q0 AS (SELECT a FROM t), "
    + ", ".join(f"q{i} AS (SELECT x.a FROM q{i - 1} AS x, q{i - 1} AS y)" for i in range(1, 40))
    + " SELECT a FROM q39",
    "a cube of 20": "SELECT count(*) AS n FROM t GROUP BY CUBE ("
    + ", ".join(f"a + {i}" for i in range(20))
    + ")",
}


@pytest.mark.parametrize("name", sorted(HUGE))
def test_what_is_too_large_is_refused_within_two_seconds(name: str) -> None:
    begin = time.process_time()
    with pytest.raises(SqlTooLarge):
        lowered(HUGE[name])
    assert time.process_time() - begin < 2


def test_at_the_edge_of_the_limits_it_still_works() -> None:
    joins = " ".join(f"JOIN t AS x{i} ON x{i}.a = x{i - 1}.a" for i in range(1, 100))
    assert lowered(f"SELECT x0.a FROM t AS x0 {joins}").columns == ("a",)
    with pytest.raises(SqlTooLarge):
        lowered(f"SELECT x0.a FROM t AS x0 {joins} JOIN u ON u.a = x0.a")
    assert lowered(f"SELECT a FROM t WHERE a IN ({', '.join(map(str, range(5_000)))})").columns == ("a",)
    assert lowered("SELECT " + "(" * 190 + "a" + ")" * 190 + " AS x FROM t").columns == ("x",)


def test_subqueries_nested_and_correlated_with_everything_around_them_stay_affordable() -> None:
    inner = "SELECT 1 FROM u AS x20 WHERE x20.a = t.a"
    for level in range(19, 0, -1):
        inner = f"SELECT 1 FROM u AS x{level} WHERE x{level}.a = t.b AND EXISTS ({inner})"
    begin = time.process_time()
    assert lowered(f"SELECT a FROM t WHERE EXISTS ({inner})").columns == ("a",)
    assert time.process_time() - begin < 5
