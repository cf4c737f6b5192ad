"""`auto` learned from the refreshes of a dropped stream table whose name a new one has."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import text

import anabranch as ab
from tests.engines.lakes import duck_lake

QUERY = "SELECT id % 3 AS part, sum(amount) AS total FROM orders GROUP BY id % 3"
ROUNDS = 6


def test_a_table_of_a_dropped_ones_name_learns_only_from_its_own_refreshes(tmp_path: Path) -> None:
    with duck_lake(tmp_path) as lake:
        lake.create_table("orders", "id INT, amount INT")
        lake.insert("orders", [{"id": number, "amount": 1} for number in range(100)])
        lake.create_stream_table("totals", QUERY, schedule=None)
        _refresh_often(lake)
        with lake._context.catalog.database.begin_write() as connection:
            connection.execute(
                text(
                    "UPDATE anabranch_history SET micros = "
                    "CASE action WHEN 'DIFFERENTIAL' THEN 100000000 ELSE 1000 END"
                )
            )
        assert _refresh_after_an_insert(lake) == "FULL"
        lake.drop_stream_table("totals")
        lake.create_stream_table("totals", QUERY, schedule=None)
        assert _refresh_after_an_insert(lake) == "DIFFERENTIAL"


def _refresh_often(lake: ab.Lake) -> None:
    for _ in range(ROUNDS):
        _refresh_after_an_insert(lake)


def _refresh_after_an_insert(lake: ab.Lake) -> str:
    lake.insert("orders", [{"id": 1, "amount": 1}])
    return lake.refresh_stream_table("totals").action
