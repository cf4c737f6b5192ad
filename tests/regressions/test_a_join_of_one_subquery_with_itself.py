"""A query that joins a subquery of several tables with itself could not be refreshed: a ValueError.

Computed at both ends of the interval, the subquery's rows carry their end in a column, which both sides of
the join had under one name.
"""

from __future__ import annotations

import pytest

import anabranch as ab
from tests.large_tables import tables_are_large

TEXTS = (
    "WITH x AS (SELECT s.k, s.a, t.b FROM s JOIN t ON s.k = t.k) "
    "SELECT p.a, q.b FROM x AS p LEFT JOIN x AS q ON p.k = q.k",
    "WITH x AS (SELECT s.k, s.a, t.b FROM s JOIN t ON s.k = t.k) "
    "SELECT p.a FROM x AS p WHERE NOT EXISTS (SELECT 1 FROM x AS q WHERE p.k = q.k AND q.b > p.b)",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_subquery_can_be_joined_with_itself(duck_lake: ab.Lake, text: str) -> None:
    duck_lake.set("driver_rows", 0)
    duck_lake.create_table("s", "k INT, a INT")
    duck_lake.create_table("t", "k INT, b INT")
    duck_lake.insert("s", [(number % 50, number) for number in range(200)])
    duck_lake.insert("t", [(number % 50, number) for number in range(100)])
    with tables_are_large(True):
        duck_lake.create_stream_table("kept", text, refresh_mode="differential")
        for number in range(3):
            with duck_lake.transaction() as tx:
                tx.insert("s", [(number, -number)])
                tx.insert("t", [(number + 1, 1000 + number), (None, 1)])
                tx.delete("s", where=f"a = {10 + number}")
            assert duck_lake.refresh_stream_table("kept").action == "DIFFERENTIAL"
            assert duck_lake.verify("kept").ok
