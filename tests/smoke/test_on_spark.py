"""The shortest way through everything, on Spark: write, define, change, refresh, read, verify."""

from __future__ import annotations

import pytest

import anabranch as ab

pytestmark = pytest.mark.smoke


def test_a_stream_table_follows_its_source(spark_lake: ab.Lake) -> None:
    spark_lake.set("driver_rows", 0)
    spark_lake.create_table("orders", "id BIGINT, region STRING, amount DECIMAL(12,2)")
    spark_lake.insert("orders", [(1, "north", 5), (2, "south", 7)])
    spark_lake.create_stream_table(
        "totals",
        "SELECT region, SUM(amount) AS total FROM orders GROUP BY region",
        refresh_mode="differential",
    )
    spark_lake.update("orders", {"amount": "amount * 2"}, where="id = 1")
    spark_lake.insert("orders", [(3, "west", 1)])
    assert spark_lake.refresh_stream_table("totals").action == "DIFFERENTIAL"
    found = {row.region: int(row.total) for row in spark_lake.table("totals").collect()}
    assert found == {"north": 10, "south": 7, "west": 1}
    assert spark_lake.verify("totals").ok
