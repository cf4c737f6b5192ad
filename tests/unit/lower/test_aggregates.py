"""Groups, by hand-written rows."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import Aggregate, AggregateCall, walk
from anabranch.algebra.scalar import TRUE, Literal, Ref
from anabranch.errors import InvalidQuery, NotIncremental, SqlTooLarge
from tests.unit.lower.databases import database, lowered, rows, table

DB = database(t="1 10 x, 1 10 x, 2 - y, - 30 -, - 5 -")
EMPTY = database()


def calls(text: str) -> list[AggregateCall]:
    """The aggregates of the topmost grouping."""
    node = next(node for node in walk(lowered(text).plan) if isinstance(node, Aggregate))
    return [call for _, call in node.calls]


def test_nulls_are_one_group_and_do_not_count() -> None:
    found = rows("SELECT a, count(*) AS n, count(b) AS m, sum(b) AS x FROM t GROUP BY a", DB)
    assert found == table("1 2 2 20", "2 1 0 -", "- 2 2 35")


def test_without_keys_there_is_one_row_even_of_nothing() -> None:
    assert rows("SELECT count(*) AS n, sum(a) AS x FROM t", EMPTY) == table("0 -")
    assert rows("SELECT a, count(*) AS n FROM t GROUP BY a", EMPTY) == {}


def test_having_alone_makes_a_group() -> None:
    assert rows("SELECT 1 AS x FROM t HAVING count(*) > 4", DB) == table("1")
    assert rows("SELECT 1 AS x FROM t HAVING count(*) > 4", EMPTY) == {}


def test_a_key_is_recognised_however_it_is_written() -> None:
    assert rows("SELECT 1 + t.a + 1 AS x FROM t GROUP BY a + 1", DB) == table("3", "4", "-")
    assert rows("SELECT b + a AS x FROM t GROUP BY a + b", DB) == table("11", "-")


def test_equal_aggregates_are_computed_once() -> None:
    assert len(calls("SELECT sum(b) AS x, sum(t.b) + 1 AS y FROM t HAVING sum(b) > 0")) == 1


def test_count_of_a_constant_counts_rows() -> None:
    assert calls("SELECT count(1) AS n FROM t") == [AggregateCall("count")]
    assert calls("SELECT count(NULL) AS n FROM t") == [AggregateCall("count", (Literal(None),))]


def test_special_syntax_becomes_arguments() -> None:
    assert calls("SELECT first(a IGNORE NULLS) AS x FROM t") == [AggregateCall("first", (Ref("a"), TRUE))]
    found = calls("SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY a DESC) AS x FROM t")
    assert [(call.function, str(call.args[1].value)) for call in found] == [("percentile", "0.75")]


def test_aggregates_that_depend_on_an_order_come_with_a_notice() -> None:
    assert "collect_list() depends on an order" in lowered("SELECT collect_list(a) AS x FROM t").notices[0]
    assert lowered("SELECT sum(a) AS x FROM t").notices == ()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, b FROM t GROUP BY a",
        "SELECT * FROM t GROUP BY a",
        "SELECT a FROM t WHERE sum(b) > 1",
        "SELECT sum(sum(b)) AS x FROM t",
        "SELECT a FROM t HAVING a > 1",
        "SELECT a, count(*) AS n FROM t GROUP BY 2",
        "SELECT a FROM t GROUP BY 7",
        "SELECT sum(*) AS x FROM t",
        "SELECT a, grouping(a) AS g FROM t GROUP BY a",
        "SELECT a + sum(b) AS x FROM t GROUP BY ALL",
        "SELECT upper(DISTINCT s) AS x FROM t",
    ],
)
def test_what_makes_no_sense_in_groups_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuery):
        lowered(text)


def test_an_order_inside_an_aggregate_is_refused() -> None:
    with pytest.raises(NotIncremental, match="WITHIN GROUP"):
        lowered("SELECT listagg(s, ',') WITHIN GROUP (ORDER BY a) AS x FROM t")


# -- grouping sets --------------------------------------------------------------------------------


def test_a_rollup_has_a_row_per_level_and_tells_its_nulls_apart() -> None:
    found = rows("SELECT a, grouping(a) AS g, count(*) AS n FROM t GROUP BY ROLLUP (a)", DB)
    assert found == table("1 0 2", "2 0 1", "- 0 2", "- 1 5")


def test_a_cube_numbers_its_sets() -> None:
    found = rows("SELECT a, s, grouping_id() AS g, count(*) AS n FROM t WHERE a = 1 GROUP BY CUBE (a, s)", DB)
    assert found == table("1 x 0 2", "1 - 1 2", "- x 2 2", "- - 3 2")


def test_aggregates_see_keys_as_they_were() -> None:
    assert rows("SELECT a, sum(a) AS x FROM t GROUP BY GROUPING SETS ((a), ())", DB) == table(
        "1 2", "2 2", "- -", "- 4"
    )


def test_a_set_twice_gives_its_rows_twice() -> None:
    assert rows("SELECT a FROM t WHERE a = 2 GROUP BY GROUPING SETS ((a), (a))", DB) == {(2,): 2}


def test_sets_of_nothing_are_nothing_except_the_empty_set_alone() -> None:
    assert rows("SELECT a, count(*) AS n FROM t GROUP BY GROUPING SETS ((a), ())", EMPTY) == {}
    assert rows("SELECT count(*) AS n FROM t GROUP BY GROUPING SETS ((), ())", EMPTY) == {}
    assert rows("SELECT count(*) AS n FROM t GROUP BY GROUPING SETS (())", EMPTY) == table("0")


def test_keys_and_sets_multiply() -> None:
    one = rows("SELECT a, b, s, count(*) AS n FROM t GROUP BY a, ROLLUP (b, s)", DB)
    other = rows("SELECT a, b, s, count(*) AS n FROM t GROUP BY GROUPING SETS ((a, b, s), (a, b), (a))", DB)
    assert one == other


def test_the_older_spellings_mean_the_same() -> None:
    assert rows("SELECT a, s, count(*) AS n FROM t GROUP BY a, s WITH CUBE", DB) == rows(
        "SELECT a, s, count(*) AS n FROM t GROUP BY CUBE (a, s)", DB
    )
    assert rows("SELECT a, s, count(*) AS n FROM t GROUP BY a, s GROUPING SETS ((a), (s))", DB) == rows(
        "SELECT a, s, count(*) AS n FROM t GROUP BY GROUPING SETS ((a), (s))", DB
    )


def test_too_many_sets_are_refused() -> None:
    keys = ", ".join(f"a + {i}" for i in range(8))
    with pytest.raises(SqlTooLarge, match="grouping sets"):
        lowered(f"SELECT count(*) AS n FROM t GROUP BY CUBE ({keys})")


def test_a_group_without_keys_and_aggregates_still_has_a_column() -> None:
    text = "SELECT 1 AS x FROM t HAVING 1 = 1"
    assert len(calls(text)) == 1
    assert rows(text, EMPTY) == table("1")
