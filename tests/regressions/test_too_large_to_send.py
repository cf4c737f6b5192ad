"""A table that Spark was told to send around and couldn't failed the refresh, and nothing said why.

It is short of memory like any other: the refresh runs again and lets Spark decide.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.errors import EngineMemory

LIMIT = "spark.sql.maxBroadcastTableSize"


@pytest.mark.spark
def test_what_is_too_large_to_send_is_a_lack_of_memory(place: Path, spark: SparkSession) -> None:
    with ab.connect(place, spark=spark) as lake:
        few = spark.range(1000)
        joined = spark.range(10).join(F.broadcast(few), "id")
        spark.conf.set(LIMIT, "100b")
        try:
            with pytest.raises(EngineMemory) as raised:
                lake._context.engine.collect(joined)
        finally:
            spark.conf.unset(LIMIT)
        assert "broadcast" in str(raised.value.detail)
