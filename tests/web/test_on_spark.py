"""The service over a lake on Spark: it schedules, refreshes by hand and explains from its own threads."""

from __future__ import annotations

import threading

from tests.web.conftest import PATIENCE


def until(look) -> bool:
    pause = threading.Event()
    for _ in range(int(10 * PATIENCE)):
        if look():
            return True
        pause.wait(0.1)
    return False


def test_a_lake_on_spark_is_served(started, spark_lake):
    lake = spark_lake
    lake.create_table("orders", "id BIGINT, region STRING, amount DECIMAL(12,2)")
    lake.insert("orders", [(1, "north", 10), (2, "south", 20)])
    lake.create_stream_table(
        "totals", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region", schedule="1s"
    )
    service = started(lake, grace=60)
    service.timeout = 120
    lake.insert("orders", [(3, "north", 5)])
    rows = "/api/v1/tables/totals/rows"
    assert until(lambda: ["north", "15.00"] in service.get(rows).json()["rows"])
    explained = service.get("/api/v1/stream-tables/totals/explain").json()
    assert explained["incremental"] is True
    action = service.post("/api/v1/stream-tables/totals/refresh", json={"full": True}).json()["action"]
    assert until(lambda: service.get(f"/api/v1/actions/{action}").json()["state"] != "running")
    assert service.get(f"/api/v1/actions/{action}").json()["result"]["action"] == "FULL"
