"""Windows: partitions, ties, frames."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import Window, WindowCall, walk
from anabranch.errors import InvalidQuery, NotIncremental
from tests.unit.lower.databases import database, lowered, rows, table

DB = database(t="1 10 x, 1 10 x, 1 20 y, 2 20 y, - - -")


def windows(text: str) -> list[list[WindowCall]]:
    """The calls of each Window node, the topmost first."""
    nodes = [node for node in walk(lowered(text).plan) if isinstance(node, Window)]
    return [[call for _, call in node.calls] for node in nodes]


def order(call: WindowCall) -> str:
    """The columns of a call's order."""
    return " ".join(
        str(getattr(key.scalar, "name", "?")) + ("-" if key.descending else "") for key in call.order
    )


def test_nulls_are_a_partition_and_come_first() -> None:
    found = rows("SELECT a, b, rank() OVER (ORDER BY b) AS r FROM t", DB)
    assert found == {(None, None, 1): 1, (1, 10, 2): 2, (1, 20, 4): 1, (2, 20, 4): 1}


def test_qualify_filters_by_a_window_or_by_an_item() -> None:
    assert rows(
        "SELECT a, b FROM t QUALIFY dense_rank() OVER (PARTITION BY a ORDER BY b DESC) = 1", DB
    ) == table("1 20", "2 20", "- -")
    assert rows("SELECT a, rank() OVER (ORDER BY a DESC) AS r FROM t QUALIFY r = 1", DB) == table("2 1")


def test_windows_see_groups_after_having() -> None:
    found = rows("SELECT a, rank() OVER (ORDER BY sum(b) DESC) AS r FROM t GROUP BY a HAVING sum(b) > 0", DB)
    assert found == table("1 1", "2 2")


def test_one_window_node_per_partition() -> None:
    found = windows(
        """
        SELECT sum(a) OVER (PARTITION BY s) AS x, max(b) OVER (PARTITION BY s) AS y, count(*) OVER () AS z
        FROM t
        """
    )
    assert [[call.function for call in calls] for calls in found] == [["count"], ["sum", "max"]]


def test_functions_of_single_rows_get_all_columns_as_further_keys() -> None:
    for function in ("row_number()", "lag(b)", "ntile(2)"):
        text = f"SELECT {function} OVER (PARTITION BY s ORDER BY b DESC) AS x FROM t"
        assert order(windows(text)[0][0]) == "b- a"
        assert "rows that tie" in lowered(text).notices[0]


def test_ranks_and_ranges_need_no_further_keys() -> None:
    for call in (
        "rank() OVER (ORDER BY b)",
        "sum(a) OVER (ORDER BY b)",
        "sum(a) OVER (ORDER BY b RANGE 1 PRECEDING)",
    ):
        text = f"SELECT {call} AS x FROM t"
        assert order(windows(text)[0][0]) == "b"
        assert lowered(text).notices == ()


def test_running_rows_get_further_keys_unless_the_frame_is_everything() -> None:
    running = windows("SELECT sum(a) OVER (ORDER BY b ROWS UNBOUNDED PRECEDING) AS x FROM t")[0][0]
    assert (order(running), running.frame) == ("b a s", "ROWS UNBOUNDED PRECEDING")
    whole = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    assert order(windows(f"SELECT sum(a) OVER (ORDER BY b {whole}) AS x FROM t")[0][0]) == "b"


def test_the_first_of_an_unordered_partition_is_the_least() -> None:
    call = windows("SELECT first_value(a) OVER (PARTITION BY s) AS x FROM t")[0][0]
    assert (order(call), call.frame) == ("a b", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")


def test_further_keys_never_take_apart_rows_that_tie_in_a_range() -> None:
    text = "SELECT last_value(a) OVER (ORDER BY b) AS x, first_value(a) OVER (ORDER BY b) AS y FROM t"
    last, first = windows(text)[0]
    assert (order(last), order(first)) == ("b", "b a s")
    assert any("last_value() may choose" in notice for notice in lowered(text).notices)


def test_a_filter_over_a_window_is_a_case() -> None:
    found = rows("SELECT a, count(*) FILTER (WHERE b > 10) OVER (PARTITION BY a) AS n FROM t", DB)
    assert found == {(1, 1): 3, (2, 1): 1, (None, 0): 1}


def test_named_windows_may_name_each_other() -> None:
    named = windows("SELECT sum(a) OVER v AS x FROM t WINDOW w AS (PARTITION BY s), v AS w")
    assert named == windows("SELECT sum(a) OVER (PARTITION BY s) AS x FROM t")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT row_number() OVER (PARTITION BY a) AS x FROM t",
        "SELECT row_number() AS x FROM t",
        "SELECT a FROM t WHERE rank() OVER (ORDER BY a) = 1",
        "SELECT sum(rank() OVER (ORDER BY a)) OVER () AS x FROM t",
        "SELECT count(DISTINCT a) OVER () AS x FROM t",
        "SELECT upper(s) OVER () AS x FROM t",
        "SELECT sum(a) OVER nowhere AS x FROM t",
    ],
)
def test_windows_that_spark_refuses_are_refused(text: str) -> None:
    with pytest.raises(InvalidQuery):
        lowered(text)


def test_windows_that_skip_nulls_are_not_maintained_yet() -> None:
    with pytest.raises(NotIncremental):
        lowered("SELECT lag(a) IGNORE NULLS OVER (ORDER BY b) AS x FROM t")
