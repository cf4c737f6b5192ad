"""Rows that were looked up, and a filter on them that was a look-up of its own: planning a change failed."""

from __future__ import annotations

from tests.equivalence.duck_texts import lowered
from tests.equivalence.test_steps_without_an_engine import assert_steps_are_known

TABLES = {"r": "k INT, name STRING", "s": "k INT, a INT, name STRING"}
TEXT = """
    SELECT x.name FROM r AS x
    LEFT JOIN (SELECT a % 2 AS odd, k FROM s WHERE a < 1 GROUP BY a % 2, k) AS q ON x.k = q.k
    WHERE length(x.name) IS NOT NULL
    EXCEPT ALL SELECT upper(name) FROM s
"""


def test_the_same_rows_can_be_looked_up_and_filtered() -> None:
    assert assert_steps_are_known(lowered(TEXT, TABLES).plan) > 0
