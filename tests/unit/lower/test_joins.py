"""Joins, by hand-written rows."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import Filter, Join, Scan, walk
from anabranch.algebra.scalar import TRUE
from anabranch.errors import AmbiguousColumn, InvalidQuery, NotIncremental, UnknownColumnInQuery
from tests.unit.lower.databases import database, lowered, rows, table

DB = database(t="1 10 x, 1 10 x, 2 20 y, - 30 z", u="1 100, 1 101, 3 300, - 400", v="1 100, 9 300")


def test_a_null_key_meets_nothing_and_duplicates_multiply() -> None:
    assert rows("SELECT t.a, u.c FROM t JOIN u ON t.a = u.a", DB) == {(1, 100): 2, (1, 101): 2}


def test_a_left_join_keeps_rows_without_a_partner() -> None:
    found = rows("SELECT t.a, u.c FROM t LEFT JOIN u ON t.a = u.a WHERE t.b > 10", DB)
    assert found == table("2 -", "- -")


def test_a_right_join_keeps_the_other_side() -> None:
    assert rows("SELECT t.b, u.a FROM t RIGHT JOIN u ON t.a = u.a AND t.b > 10", DB) == {
        (None, 1): 2,
        (None, 3): 1,
        (None, None): 1,
    }


def test_a_full_join_keeps_both() -> None:
    found = rows("SELECT t.b, u.c FROM t FULL JOIN u ON t.a = u.a AND u.c = 100", DB)
    assert found == {
        (10, 100): 2,
        (20, None): 1,
        (30, None): 1,
        (None, 101): 1,
        (None, 300): 1,
        (None, 400): 1,
    }


def test_semi_and_anti_joins_keep_the_left_sides_duplicates() -> None:
    assert rows("SELECT * FROM t LEFT SEMI JOIN u ON t.a = u.a", DB) == {(1, 10, "x"): 2}
    assert rows("SELECT b FROM t LEFT ANTI JOIN u ON t.a = u.a", DB) == table("20", "30")


def test_using_merges_its_columns_and_puts_them_first() -> None:
    lowered_ = lowered("SELECT * FROM t JOIN u USING (a)")
    assert lowered_.columns == ("a", "b", "s", "c")


def test_using_takes_the_key_from_the_side_that_has_it() -> None:
    assert rows("SELECT a, c FROM t RIGHT JOIN u USING (a) WHERE b IS NULL", DB) == table("3 300", "- 400")
    assert rows("SELECT a, t.a AS ta, u.a AS ua FROM t FULL JOIN u USING (a) WHERE a > 1", DB) == table(
        "2 2 -", "3 - 3"
    )


def test_the_other_sides_key_is_reachable_by_its_relation_only() -> None:
    assert lowered("SELECT u.* FROM t JOIN u USING (a)").columns == ("a", "c")
    with pytest.raises(UnknownColumnInQuery):
        lowered("SELECT u.a FROM t LEFT SEMI JOIN u USING (a)")


def test_natural_joins_on_what_is_common_and_crosses_where_nothing_is() -> None:
    assert rows("SELECT a, c FROM u NATURAL JOIN v", DB) == table("1 100")
    assert rows("SELECT count(*) AS n FROM t NATURAL JOIN (SELECT 1 AS q) AS z", DB) == table("4")


def test_using_an_unknown_or_ambiguous_column_is_refused() -> None:
    with pytest.raises(UnknownColumnInQuery):
        lowered("SELECT 1 AS x FROM t JOIN u USING (b)")
    with pytest.raises(AmbiguousColumn):
        lowered("SELECT 1 AS x FROM (t JOIN u ON TRUE) JOIN v USING (a)")


def test_a_condition_sees_everything_to_its_left() -> None:
    found = rows(
        "SELECT t.b, v.c FROM t, u LEFT JOIN v ON t.a = v.a AND u.c = v.c WHERE t.a = 1 AND u.a = 1", DB
    )
    assert found == {(10, 100): 2, (10, None): 2}


def test_comma_joins_become_joins_on_their_equalities() -> None:
    plan = lowered("SELECT t.b FROM t, v, u WHERE t.a = u.a AND u.c = v.c AND t.b > 1").plan
    joins = [node for node in walk(plan) if isinstance(node, Join)]
    assert len(joins) == 2
    assert all(join.on != TRUE for join in joins)
    assert [type(node.input) for node in walk(plan) if isinstance(node, Filter)] == [Scan]


def test_an_equality_that_all_alternatives_share_is_a_key() -> None:
    plan = lowered("SELECT t.b FROM t, u WHERE (t.a = u.a AND u.c = 1) OR (t.a = u.a AND t.b = 2)").plan
    assert any(isinstance(node, Join) and node.on != TRUE for node in walk(plan))


def test_a_subquery_in_on_may_look_at_one_side_of_an_outer_join() -> None:
    query = "SELECT t.b, u.c FROM t LEFT JOIN u ON t.a = u.a AND {} WHERE t.a = 1"
    assert rows(query.format("u.c IN (SELECT c FROM v)"), DB) == {(10, 100): 2}
    assert rows(query.format("t.b IN (SELECT c FROM v)"), DB) == {(10, None): 2}
    with pytest.raises(NotIncremental, match="both sides"):
        lowered(query.format("EXISTS (SELECT 1 FROM v WHERE v.a = t.a AND v.c = u.c)"))


def test_a_relation_can_get_other_column_names() -> None:
    assert rows("SELECT x.q FROM (t JOIN v ON t.a = v.a) AS x(p, q, r, k, l)", DB) == {(10,): 2}
    with pytest.raises(InvalidQuery, match="2 names for 3 columns"):
        lowered("SELECT 1 AS x FROM t AS x(p, q)")
