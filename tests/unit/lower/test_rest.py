"""Order and limit, set operations, CTEs, views, laterals, generators, rows."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import Aggregate, Generate, Project, Scan, Top, Values, walk
from anabranch.algebra.scalar import Ref
from anabranch.errors import InvalidQuery, NotIncremental, UnknownColumnInQuery, UnknownTable
from anabranch.names import TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import LoweredQuery, lower
from tests.unit.lower.databases import SCHEMAS, database, lowered, rows, table

DB = database(t="1 10 x, 1 10 x, 2 20 y, - 30 -", u="1 100, 2 200, 2 200")
LISTS = {
    TableName.parse("c"): parse_schema(
        "id INT, arr ARRAY<INT>, m MAP<STRING, INT>, st ARRAY<STRUCT<p: INT, q: INT>>"
    )
}


# -- order ----------------------------------------------------------------------------------------


def test_limit_takes_the_first_rows_and_breaks_ties_by_all_columns() -> None:
    assert rows("SELECT a, b FROM t ORDER BY a DESC LIMIT 2", DB) == table("2 20", "1 10")
    top = next(
        node for node in walk(lowered("SELECT a, b FROM t ORDER BY a LIMIT 2").plan) if isinstance(node, Top)
    )
    assert len(top.order) == 2


def test_offset_skips() -> None:
    assert rows("SELECT a, b FROM t ORDER BY b LIMIT 2 OFFSET 1", DB) == table("1 10", "2 20")
    assert rows("SELECT a, b FROM t ORDER BY b OFFSET 3", DB) == table("- 30")


def test_order_by_may_use_columns_that_are_not_selected() -> None:
    assert rows("SELECT s FROM t ORDER BY b DESC, a LIMIT 2", DB) == table("-", "y")


def test_an_order_without_a_limit_is_dropped_with_a_notice() -> None:
    found = lowered("SELECT a FROM t ORDER BY b")
    assert found.notices == ("ORDER BY at the end is dropped: a table has no order",)
    assert not any(isinstance(node, Top) for node in walk(found.plan))


def test_an_order_inside_is_dropped_silently() -> None:
    assert lowered("SELECT q.a FROM (SELECT a FROM t ORDER BY b) AS q").notices == ()


@pytest.mark.parametrize("tail", ["LIMIT 5", "OFFSET 5", "SORT BY a LIMIT 5"])
def test_a_limit_without_an_order_is_refused(tail: str) -> None:
    with pytest.raises(NotIncremental, match="without ORDER BY") as caught:
        lowered(f"SELECT a FROM t {tail}")
    assert caught.value.hint == "add ORDER BY, or create it with refresh_mode = full."


@pytest.mark.parametrize("tail", ["LIMIT 5", "ORDER BY n LIMIT 5", "ORDER BY min(b) LIMIT 1"])
@pytest.mark.parametrize(
    "query", ["SELECT count(*) AS n FROM t", "SELECT max(b) AS n FROM t HAVING count(*) > 1"]
)
def test_a_limit_of_a_single_row_changes_nothing(query: str, tail: str) -> None:
    found = lowered(f"{query} {tail}")
    assert found.plan == lowered(query).plan
    assert (found.settled, found.notices) == (True, ())


def test_a_single_row_may_be_cut_without_an_order() -> None:
    assert rows("SELECT count(*) AS n FROM t LIMIT 1", DB) == table("4")
    assert rows("SELECT count(*) AS n FROM t LIMIT 0", DB) == {}
    assert rows("SELECT count(*) AS n FROM t OFFSET 1", DB) == {}
    assert rows("SELECT * FROM (SELECT max(a) AS m FROM t) AS p, (SELECT 1 AS n) AS q LIMIT 9", DB) == table(
        "2 1"
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, count(*) AS n FROM t GROUP BY a",
        "SELECT count(*) AS n FROM t UNION ALL SELECT 1",
        "SELECT m FROM (SELECT max(a) AS m FROM t) AS p FULL JOIN (SELECT min(a) AS n FROM t) AS q ON m = n",
        "SELECT p.m FROM (SELECT max(a) AS m FROM t) AS p LEFT JOIN u ON u.a = p.m",
        "SELECT count(*) AS n FROM t GROUP BY GROUPING SETS ((), ())",
    ],
)
def test_what_may_have_a_second_row_is_not_cut_without_an_order(query: str) -> None:
    with pytest.raises(NotIncremental, match="without ORDER BY"):
        lowered(f"{query} LIMIT 5")


@pytest.mark.parametrize("tail", ["ORDER BY 3 LIMIT 1", "ORDER BY a LIMIT 1.5", "ORDER BY a LIMIT -1"])
def test_orders_and_limits_that_mean_nothing_are_refused(tail: str) -> None:
    with pytest.raises(InvalidQuery):
        lowered(f"SELECT a, b FROM t {tail}")


def test_a_limit_is_a_constant() -> None:
    with pytest.raises(UnknownColumnInQuery):
        lowered("SELECT a, b FROM t ORDER BY a LIMIT a")


# -- set operations, CTEs, views ------------------------------------------------------------------


def test_set_operations_compare_nulls_as_equal() -> None:
    other = database(t="- 1 x, 1 1 x", u="- 1, - 2")
    assert rows("SELECT a FROM t INTERSECT SELECT a FROM u", other) == table("-")
    assert rows("SELECT a FROM u EXCEPT ALL SELECT a FROM t", other) == table("-")


def test_set_operations_need_as_many_columns_on_both_sides() -> None:
    with pytest.raises(InvalidQuery, match="part 2 of UNION has 2 columns"):
        lowered("SELECT a FROM t UNION SELECT a, c FROM u")


def test_a_cte_used_twice_is_one_subplan() -> None:
    plan = lowered(
        "WITH q AS (SELECT a, sum(b) AS x FROM t GROUP BY a) SELECT p.a FROM q AS p JOIN q AS r ON p.a = r.x"
    ).plan
    grouped = [node for node in walk(plan) if isinstance(node, Aggregate)]
    assert len(grouped) == 2
    assert len(set(grouped)) == 1


def test_an_inner_cte_hides_an_outer_one_and_a_cte_hides_a_table() -> None:
    inner = "WITH q AS (SELECT 2 AS x) SELECT x FROM q"
    text = f"WITH q AS (SELECT 1 AS x), r AS ({inner}) SELECT q.x AS p, r.x FROM q, r"
    assert rows(text, DB) == table("1 2")
    assert rows("WITH t AS (SELECT a + 1 AS a FROM t WHERE a = 2) SELECT a FROM t", DB) == table("3")


def test_a_cte_sees_those_before_it_only() -> None:
    with pytest.raises(UnknownTable):
        lowered("WITH p AS (SELECT x FROM q), q AS (SELECT 1 AS x) SELECT x FROM p")


def _with_views(text: str, **views: str) -> LoweredQuery:
    return lower(text, SCHEMAS, {TableName.parse(name): view for name, view in views.items()})


def test_a_view_is_its_query_and_is_lowered_once() -> None:
    found = _with_views(
        "SELECT p.x FROM sums AS p JOIN big ON p.x = big.x",
        sums="SELECT a, sum(b) AS x FROM t GROUP BY a",
        big="SELECT x FROM sums WHERE x > 1",
    )
    assert found.tables == {TableName.parse("t")}
    assert len({node for node in walk(found.plan) if isinstance(node, Aggregate)}) == 1


def test_a_view_that_reads_itself_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="reads itself") as caught:
        _with_views("SELECT x FROM p", p="SELECT x FROM q", q="SELECT x FROM p")
    assert caught.value.detail == 'in the view "q", line 1, column 15: p -> q -> p.'


def test_an_error_in_a_view_says_so() -> None:
    with pytest.raises(UnknownColumnInQuery) as caught:
        _with_views("SELECT x FROM p", p="SELECT nope AS x FROM t")
    assert str(caught.value.detail).startswith('in the view "p", line 1, column 8')


# -- laterals and generators ----------------------------------------------------------------------


def _generate(text: str) -> Generate:
    return next(node for node in walk(lower(text, LISTS).plan) if isinstance(node, Generate))


def test_explode_makes_rows_of_lists_and_maps() -> None:
    for text, function, width, outer in (
        ("SELECT id, explode(arr) AS x FROM c", "explode", 1, False),
        ("SELECT id, explode(m) FROM c", "explode", 2, False),
        ("SELECT id, posexplode_outer(arr) AS (p, x) FROM c", "posexplode", 2, True),
        ("SELECT id, e.x FROM c LATERAL VIEW OUTER explode(arr) e AS x", "explode", 1, True),
        ("SELECT id, e.p FROM c LATERAL VIEW inline(st) e", "inline", 2, False),
        ("SELECT id, e.x FROM c, LATERAL explode(c.arr) AS e(x)", "explode", 1, False),
    ):
        node = _generate(text)
        assert (node.function, len(node.columns), node.outer) == (function, width, outer)


def test_a_function_behind_left_join_lateral_is_refused_as_spark_loses_rows() -> None:
    with pytest.raises(NotIncremental, match="LEFT JOIN LATERAL"):
        lower("SELECT id, e.x FROM c LEFT JOIN LATERAL explode(c.arr) AS e(x)", LISTS)


def test_generated_columns_have_sparks_names() -> None:
    assert lower("SELECT id, explode(m) FROM c", LISTS).columns == ("id", "key", "value")
    assert lower("SELECT posexplode(arr) FROM c", LISTS).columns == ("pos", "col")
    assert lower("SELECT * FROM c LATERAL VIEW inline(st) e", LISTS).columns[-2:] == ("p", "q")


def test_a_generator_that_cannot_be_named_or_stands_elsewhere_is_refused() -> None:
    for text in (
        "SELECT explode(filter(arr, x -> x > 1)) FROM c",
        "SELECT explode(arr) + 1 AS x FROM c",
        "SELECT explode(arr) AS x, explode(arr) AS y FROM c",
        "SELECT id FROM c WHERE explode(arr) = 1",
    ):
        with pytest.raises(InvalidQuery):
            lower(text, LISTS)


def test_stack_makes_rows_of_values() -> None:
    assert rows("SELECT a, stack(2, b, -b) AS x FROM t WHERE a = 2", DB) == table("2 20", "2 -20")
    assert rows("SELECT e.p, e.q FROM t LATERAL VIEW stack(2, a, b, 7) e AS p, q WHERE a = 2", DB) == table(
        "2 20", "7 -"
    )


def test_a_lateral_subquery_is_computed_for_each_row_before_it() -> None:
    found = rows("SELECT t.b, l.n FROM t, LATERAL (SELECT count(*) AS n FROM u WHERE u.a = t.a) AS l", DB)
    assert found == {(10, 1): 2, (20, 2): 1, (30, 0): 1}
    found = rows(
        "SELECT t.b, l.c FROM t LEFT JOIN LATERAL (SELECT c FROM u WHERE u.a > t.a) AS l ON l.c < 0", DB
    )
    assert found == {(10, None): 2, (20, None): 1, (30, None): 1}


# -- rows -----------------------------------------------------------------------------------------


def test_values_are_rows() -> None:
    assert rows("SELECT * FROM (VALUES (1, 'x'), (2, NULL)) AS v(n, s)", DB) == table("1 x", "2 -")
    assert lowered("SELECT * FROM VALUES 1, 2").columns == ("col1",)
    with pytest.raises(InvalidQuery, match="row 2 of VALUES has 1 values"):
        lowered("SELECT * FROM VALUES (1, 2), (3)")


def test_a_small_range_is_rows_and_a_large_one_is_refused() -> None:
    assert rows("SELECT id FROM range(2, 9, 3)", DB) == table("2", "5", "8")
    with pytest.raises(NotIncremental, match=r"range\(\)"):
        lowered("SELECT id FROM range(1001)")


def test_without_from_there_is_one_row() -> None:
    assert rows("SELECT 1 AS x", DB) == table("1")
    assert rows("SELECT 1 AS x WHERE FALSE", DB) == {}


# -- width ----------------------------------------------------------------------------------------


def test_nothing_is_read_that_nobody_needs() -> None:
    scans = [
        node.names
        for node in walk(lowered("SELECT count(*) AS n FROM t JOIN u ON t.a = u.a").plan)
        if isinstance(node, Scan)
    ]
    assert scans == [("a",), ("a_2",)]


def test_distinct_and_set_operations_keep_whole_rows() -> None:
    assert rows("SELECT q.a FROM (SELECT DISTINCT a, b FROM t) AS q", DB) == table("1", "2", "-")
    assert rows("SELECT q.a FROM (SELECT a, b FROM t EXCEPT ALL SELECT a, c FROM u) AS q", DB) == {
        (1,): 2, (2,): 1, (None,): 1
    }  # fmt: skip


def test_a_union_is_pruned_by_position() -> None:
    union = "SELECT a, b FROM t UNION ALL SELECT c, a FROM u"
    assert rows(f"SELECT q.b FROM ({union}) AS q WHERE q.a > 1", DB) == {(20,): 1, (1,): 1, (2,): 2}


def test_a_projection_that_changes_nothing_is_left_out() -> None:
    plan = lowered("SELECT q.x FROM (SELECT a AS x FROM t) AS q").plan
    assert isinstance(plan, Project)
    assert plan.items[0][1] == Ref("x")
    assert not any(isinstance(node, Values) for node in walk(plan))
