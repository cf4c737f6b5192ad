"""Subqueries, by hand-written rows: NULLs, empty sets, counts of nothing."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import Aggregate, Distinct, Join, walk
from anabranch.errors import InvalidQuery, UnknownColumnInQuery
from tests.unit.lower.databases import database, lowered, rows, table

DB = database(t="1 10 x, 2 20 y, 3 30 z, - 40 -", u="1 100, 2 200, 2 201, - 300", v="1 10, 2 99")
NO_NULL = database(t="1 10 x, 2 20 y, 3 30 z, - 40 -", u="1 100, 2 200")
NOTHING = database(t="1 10 x, - 40 -")


def test_not_in_over_a_set_with_a_null_is_never_true() -> None:
    assert rows("SELECT b FROM t WHERE a NOT IN (SELECT a FROM u)", DB) == {}
    assert rows("SELECT b FROM t WHERE a NOT IN (SELECT a FROM u)", NO_NULL) == table("30")


def test_not_in_over_nothing_is_true_even_for_null() -> None:
    assert rows("SELECT b FROM t WHERE a NOT IN (SELECT a FROM u)", NOTHING) == table("10", "40")


def test_not_in_of_several_columns_asks_whether_one_of_them_differs() -> None:
    assert rows("SELECT b FROM t WHERE (a, b) NOT IN (SELECT a, c FROM v)", DB) == table("20", "30", "40")
    some = database(t="1 10 x, 2 20 y, 2 30 z, - 40 -", v="1 -, - 20")
    assert rows("SELECT b FROM t WHERE (a, b) NOT IN (SELECT a, c FROM v)", some) == table("30")


def test_exists_does_not_care_what_is_selected() -> None:
    assert rows("SELECT b FROM t WHERE EXISTS (SELECT NULL FROM u WHERE u.a = t.a)", DB) == table("10", "20")
    assert rows("SELECT b FROM t WHERE EXISTS (SELECT * FROM u LIMIT 1) AND a = 1", DB) == table("10")


def test_exists_of_an_aggregate_without_keys_is_always_true() -> None:
    assert rows("SELECT b FROM t WHERE EXISTS (SELECT max(c) FROM u WHERE u.a = t.a)", NOTHING) == table(
        "10", "40"
    )


def test_in_as_a_value_is_never_null_as_in_spark() -> None:
    found = rows("SELECT b, a IN (SELECT a FROM u) AS x, a NOT IN (SELECT a FROM u) AS y FROM t", DB)
    assert found == {(10, True, False): 1, (20, True, False): 1, (30, False, False): 1, (40, False, False): 1}


def test_not_moves_through_and_or_to_the_in() -> None:
    assert rows("SELECT b FROM t WHERE NOT (a IN (SELECT a FROM u) OR b = 99)", DB) == {}
    assert rows("SELECT b FROM t WHERE (a IN (SELECT a FROM u)) = FALSE", DB) == {}
    assert rows("SELECT b FROM t WHERE NOT (NOT (a IN (SELECT a FROM u)))", DB) == table("10", "20")


def test_a_correlated_count_of_nothing_is_zero_not_null() -> None:
    found = rows("SELECT b, (SELECT count(*) FROM u WHERE u.a = t.a) AS n FROM t", DB)
    assert found == table("10 1", "20 2", "30 0", "40 0")


def test_an_expression_over_a_count_of_nothing_is_computed_from_zero() -> None:
    value = "CASE WHEN count(*) = 0 THEN -1 ELSE sum(c) END"
    query = f"SELECT b, (SELECT {value} FROM u WHERE u.a {{}} t.a) AS n FROM t"
    assert rows(query.format("="), DB) == table("10 100", "20 401", "30 -1", "40 -1")
    assert rows(query.format("<"), DB) == table("10 -1", "20 100", "30 501", "40 -1")


def test_having_judges_the_empty_group_too() -> None:
    query = "SELECT b, (SELECT count(*) FROM u WHERE u.a = t.a HAVING count(*) {}) AS n FROM t"
    assert rows(query.format("> 1"), DB) == table("10 -", "20 2", "30 -", "40 -")
    assert rows(query.format("< 1"), DB) == table("10 -", "20 -", "30 0", "40 0")


def test_a_grouped_subquery_of_nothing_is_null() -> None:
    found = rows("SELECT b, (SELECT count(*) FROM u WHERE u.a = t.a GROUP BY u.a) AS n FROM t", DB)
    assert found == table("10 1", "20 2", "30 -", "40 -")


def test_a_scalar_subquery_with_several_rows_is_an_error_only_where_a_row_asks() -> None:
    query = "SELECT b, (SELECT c FROM u WHERE u.a = t.a) AS c FROM t WHERE b <> {}"
    assert rows(query.format(20), DB) == table("10 100", "30 -", "40 -")
    with pytest.raises(ArithmeticError, match="more than one row"):
        rows(query.format(10), DB)


def test_a_scalar_subquery_of_nothing_is_null() -> None:
    assert rows("SELECT b, (SELECT c FROM u) AS c FROM t", NOTHING) == table("10 -", "40 -")


def test_a_subquery_may_reach_past_the_next_query() -> None:
    query = """
        SELECT b FROM t WHERE EXISTS (
          SELECT 1 FROM u WHERE u.a = t.a AND NOT EXISTS (SELECT 1 FROM v WHERE v.a = u.a AND v.c = t.b))
    """
    assert rows(query, DB) == table("20")


def test_a_subquery_may_cut_and_number_its_rows_per_row_outside() -> None:
    found = rows("SELECT b, (SELECT c FROM u WHERE u.a = t.a ORDER BY c DESC LIMIT 1) AS c FROM t", DB)
    assert found == table("10 100", "20 201", "30 -", "40 -")
    numbered = "SELECT row_number() OVER (ORDER BY c) AS r FROM u WHERE u.a = t.a"
    numbered = f"SELECT b, (SELECT max(q.r) FROM ({numbered}) AS q) AS r FROM t"
    assert rows(numbered, DB) == table("10 1", "20 2", "30 -", "40 -")


def test_an_outer_join_inside_is_done_per_row_outside() -> None:
    inner = "SELECT count(*) FROM u LEFT JOIN v ON u.a = v.a AND v.c = t.b WHERE v.a IS NULL"
    query = f"SELECT b, ({inner}) AS n FROM t"
    assert rows(query, DB) == table("10 3", "20 4", "30 4", "40 4")


def test_a_cte_inside_may_read_the_query_around() -> None:
    query = "SELECT b, (WITH q AS (SELECT c FROM u WHERE u.a = t.a) SELECT count(*) FROM q) AS n FROM t"
    assert rows(query, DB) == table("10 1", "20 2", "30 0", "40 0")


def test_a_subquery_in_having_sees_the_groups_keys_only() -> None:
    query = "SELECT a FROM t GROUP BY a HAVING EXISTS (SELECT 1 FROM u WHERE u.a = t.{})"
    assert rows(query.format("a"), DB) == table("1", "2")
    with pytest.raises(InvalidQuery, match="neither grouped nor aggregated"):
        lowered(query.format("b"))


def test_what_neither_query_has_is_unknown() -> None:
    with pytest.raises(UnknownColumnInQuery):
        lowered("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.nope)")


def test_equality_on_keys_of_one_type_needs_no_domain() -> None:
    plan = lowered("SELECT a, (SELECT sum(c) FROM u WHERE u.a = t.a) AS x FROM t").plan
    assert not any(isinstance(node, Distinct) for node in walk(plan))
    assert [len(node.keys) for node in walk(plan) if isinstance(node, Aggregate)] == [1]


def test_equality_across_types_groups_by_what_is_asked_for() -> None:
    # '1' and '01' are both equal to 1: grouping by the text would give a row outside two partners.
    plan = lowered("SELECT a, (SELECT count(*) FROM w WHERE w.s = t.a) AS x FROM t").plan
    assert any(isinstance(node, Distinct) for node in walk(plan))


def test_whether_any_row_exists_is_all_that_an_uncorrelated_exists_depends_on() -> None:
    plan = lowered("SELECT a FROM t WHERE EXISTS (SELECT * FROM u)").plan
    join = next(node for node in walk(plan) if isinstance(node, Join))
    assert isinstance(join.right, Distinct)
    assert len(join.right.names) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE a IN (SELECT a, c FROM u)",
        "SELECT a FROM t WHERE (a, b) IN (SELECT a FROM u)",
        "SELECT (SELECT a, c FROM u) AS x FROM t",
    ],
)
def test_the_number_of_columns_must_fit(text: str) -> None:
    with pytest.raises(InvalidQuery):
        lowered(text)
