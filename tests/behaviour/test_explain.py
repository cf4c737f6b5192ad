"""What `lake.explain` tells about a query, on Spark."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.errors import AnabranchError, SqlSyntax, UnknownStreamTable, UnknownTable, UnsupportedStatement

AVERAGES = """
SELECT c.region, avg(o.amount) AS average
FROM orders o JOIN customers c ON o.customer = c.id
GROUP BY c.region
ORDER BY average
"""


def shop(lake: ab.Lake) -> ab.Lake:
    lake.create_table("orders", "id BIGINT, customer BIGINT, amount DECIMAL(12,2), weight DOUBLE")
    lake.create_table("customers", "id BIGINT, region STRING")
    lake.create_table("result", "id INT")
    return lake


def test_a_grouped_join_shows_its_state_its_hidden_columns_and_the_sql_of_its_change(spark_lake) -> None:
    lake = shop(spark_lake)
    found = lake.explain(AVERAGES)
    assert found.incremental
    assert found.sources == ("customers", "orders")
    (result,) = found.parts
    choices = [str(one.choice) for one in result.tree]
    assert "stored state: adds the change to stored counts and sums" in choices
    assert "bilinear: each change meets matching rows of the other side" in choices
    assert [column.holds for column in result.hidden] == ["count(amount)", "sum(amount)", "count(*)"]
    text = str(found)
    tree = text[: text.index("SQL of the change")]
    assert max(map(len, tree.splitlines())) <= 120
    assert "ORDER BY at the end is dropped" in text
    for leaf in ("{change of orders}", "{change of customers}", "{orders at since}", "{stored rows}"):
        assert leaf in text
    assert "leaf_" not in text
    *steps, (last, _) = result.statements
    assert not last
    assert all(f"  -- {name}\n  WITH p0 AS (" in text for name, _ in steps)

    floating = lake.explain("SELECT customer, sum(weight) AS kg FROM orders GROUP BY customer")
    notes = [one.choice.note for one in floating.parts[-1].tree if one.choice is not None]
    assert any("sum(weight) of type double is floating point" in note for note in notes)

    top = lake.explain(
        "SELECT customer, sum(amount) AS total FROM orders GROUP BY customer ORDER BY total, customer LIMIT 3"
    )
    assert [part.table for part in top.parts] == ["result_2__state", "result_2"]
    assert "State that nobody sees, result_2__state" in str(top)


def test_rand_is_explained_as_not_incremental_with_its_code_and_a_hint(spark_lake) -> None:
    lake = shop(spark_lake)
    found = lake.explain("SELECT id, rand() AS chance FROM orders")
    assert not found.incremental
    assert found.refusal is not None
    assert (found.refusal.code, found.sources, found.parts) == ("AB203", ("orders",), ())
    text = str(found)
    assert "Not maintained incrementally\n  AB203 " in text
    assert "line 1, column 12" in text
    assert "Hint: " in text


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("orders", UnknownStreamTable),
        ("SELECT FROM WHERE", SqlSyntax),
        ("DROP TABLE orders", UnsupportedStatement),
        ("SELECT * FROM nowhere", UnknownTable),
        (None, SqlSyntax),
    ],
)
def test_what_is_no_query_gives_the_usual_error_and_starts_no_spark(lake, query, error) -> None:
    with pytest.raises(error) as caught:
        shop(lake).explain(query)
    assert isinstance(caught.value, AnabranchError)
    assert not lake._context.engine.is_started
