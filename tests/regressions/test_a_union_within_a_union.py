"""A union without columns in a union failed with a ClassCastException where Spark generates code for both.

So did changes of TPC-DS's queries 40 and 49, on sessions as users have them: the one of most tests generates
no code.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from anabranch.engine.spark.engine import SparkEngine
from anabranch.events import ignore_event

AS_USERS_HAVE_IT = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.shuffle.partitions": "2",
}
BOTH_ENDS = "SELECT 1 AS e UNION ALL SELECT -1"
TEXT = f"""
    SELECT DISTINCT id FROM (
        SELECT /*+ BROADCAST(a) */ a.id, e FROM {{a}} AS a JOIN ({BOTH_ENDS}) ON TRUE
        UNION ALL SELECT id, 0 FROM {{b}})
"""


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[SparkEngine]:
    before = {key: spark.conf.get(key) for key in AS_USERS_HAVE_IT}
    for key, value in AS_USERS_HAVE_IT.items():
        spark.conf.set(key, value)
    yield SparkEngine(spark, zone="UTC", observer=ignore_event)
    for key, value in before.items():
        assert value is not None
        spark.conf.set(key, value)


def test_tasks_can_read_a_union_within_a_union(engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [0, 1]}), tmp_path / "rows.parquet")
    frame = engine.session.read.parquet((tmp_path / "rows.parquet").as_uri())
    rows = engine.run_query(TEXT, {"a": frame, "b": frame}).collect()
    assert sorted(row.id for row in rows) == [0, 1]
