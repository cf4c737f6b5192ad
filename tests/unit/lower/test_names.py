"""Which column a name stands for, and what the result's columns are called."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import walk
from anabranch.errors import AmbiguousColumn, InvalidName, InvalidOutput, UnknownColumnInQuery, UnknownTable
from anabranch.names import TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import lower
from tests.unit.lower.databases import database, lowered, rows, table

DB = database(t="1 10 x, 1 20 y, 2 30 -, - 40 z", u="1 100, 2 200, 2 201, - 300")


def test_names_ignore_case_and_keep_the_case_they_are_written_in() -> None:
    assert lowered("SELECT A, T.B FROM T").columns == ("A", "B")


def test_a_star_takes_the_names_of_the_table() -> None:
    assert lowered("SELECT * FROM t").columns == ("a", "b", "s")


def test_a_star_can_leave_columns_out() -> None:
    assert lowered("SELECT * EXCEPT (b) FROM t").columns == ("a", "s")
    assert lowered("SELECT t.* EXCEPT (t.a), c FROM t JOIN u ON t.a = u.a").columns == ("b", "s", "c")


def test_a_table_is_known_by_its_namespace_too() -> None:
    schemas = {TableName.parse("sales.orders"): parse_schema("id INT")}
    assert lower("SELECT sales.orders.id FROM sales.orders", schemas).columns == ("id",)
    with pytest.raises(UnknownColumnInQuery):
        lower("SELECT sales.orders.id FROM sales.orders AS o", schemas)


def test_an_unknown_column_is_refused_with_its_place_and_the_columns_there_are() -> None:
    with pytest.raises(UnknownColumnInQuery) as caught:
        lowered("SELECT a,\n  nope FROM t")
    assert caught.value.detail == 'line 2, column 3, in "nope".'
    assert caught.value.hint == "the columns here are t.a, t.b, t.s."


def test_an_ambiguous_column_is_refused_with_its_candidates() -> None:
    with pytest.raises(AmbiguousColumn) as caught:
        lowered("SELECT a FROM t JOIN u ON t.a = u.a")
    assert caught.value.detail == "line 1, column 8: it could be t.a or u.a."


def test_an_alias_hides_the_name_of_its_table() -> None:
    with pytest.raises(UnknownColumnInQuery):
        lowered("SELECT t.a FROM t AS x")


def test_an_unknown_table_is_refused_with_its_place() -> None:
    with pytest.raises(UnknownTable) as caught:
        lowered("SELECT a FROM nowhere")
    assert caught.value.detail == "line 1, column 15."


def test_a_name_of_both_a_relation_and_a_struct_is_refused() -> None:
    schemas = {TableName.parse("c"): parse_schema("id INT, c STRUCT<id: INT>")}
    with pytest.raises(AmbiguousColumn, match="two ways"):
        lower("SELECT c.id FROM c", schemas)
    assert lower("SELECT z.id, z.c.id AS inner_id FROM c AS z", schemas).columns == ("id", "inner_id")


def test_a_column_without_fields_may_share_its_name_with_a_relation() -> None:
    schemas = {TableName.parse("region"): parse_schema("region STRING, id INT")}
    assert lower("SELECT region.id, region.region FROM region", schemas).columns == ("id", "region")


def test_a_column_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidOutput, match="column 2 of the result has no name") as caught:
        lowered("SELECT a, a + 1 FROM t")
    assert caught.value.detail == 'line 1, column 11, in "a + 1".'


def test_a_name_twice_in_the_result_is_refused_whatever_its_case() -> None:
    with pytest.raises(InvalidOutput, match='called "A"'):
        lowered("SELECT a, b AS A FROM t")


def test_a_name_that_is_no_identifier_is_refused_at_the_top_and_only_there() -> None:
    with pytest.raises(InvalidName):
        lowered("SELECT a AS `a b` FROM t")
    assert rows("SELECT q.`a b` AS x FROM (SELECT a AS `a b` FROM t) AS q WHERE q.`a b` = 2", DB) == table(
        "2"
    )


def test_an_item_can_be_named_by_later_items_unless_a_column_has_that_name() -> None:
    assert rows("SELECT a + 1 AS p, p * 2 AS q FROM t WHERE a = 2", DB) == table("3 6")
    assert rows("SELECT a + 1 AS b, b + 1 AS q FROM t WHERE a = 2", DB) == table("3 31")


def test_an_item_that_names_large_items_again_and_again_stays_small() -> None:
    chain = ", ".join(f"c{i - 1} + c{i - 1} AS c{i}" for i in range(1, 40))
    found = rows(f"SELECT q.c39 FROM (SELECT a AS c0, {chain} FROM t WHERE a = 1) AS q", DB)
    assert found == {(2**39,): 2}


def test_group_by_prefers_a_column_to_an_item() -> None:
    assert rows("SELECT -b AS b, count(*) AS n FROM t GROUP BY b", DB) == table(
        "-10 1", "-20 1", "-30 1", "-40 1"
    )


def test_having_prefers_a_grouped_column_to_an_item() -> None:
    assert rows("SELECT a + 1 AS a, count(*) AS n FROM t GROUP BY a HAVING a > 1", DB) == table("3 1")


def test_having_takes_an_item_where_the_column_of_that_name_is_not_grouped() -> None:
    assert rows("SELECT a, sum(b) AS b FROM t GROUP BY a HAVING b > 35", DB) == table("- 40")


def test_order_by_prefers_an_item_to_a_column() -> None:
    assert rows("SELECT -b AS b FROM t ORDER BY b LIMIT 1", DB) == table("-40")


def test_every_column_of_every_occurrence_has_a_name_of_its_own() -> None:
    plan = lowered("SELECT x.a, y.a AS b FROM t AS x JOIN t AS y ON x.a = y.b").plan
    names = [name for node in walk(plan) if not node.inputs for name in node.names]
    assert names == ["a", "a_2", "b_2"]


def test_columns_keep_clear_of_the_names_of_lambdas() -> None:
    schemas = {TableName.parse("c"): parse_schema("x INT, arr ARRAY<INT>")}
    plan = lower("SELECT transform(arr, x -> x + c.x) AS y FROM c", schemas).plan
    assert all(name != "x" for node in walk(plan) for name in node.names)
