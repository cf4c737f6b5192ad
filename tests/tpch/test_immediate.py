"""All 22 queries, maintained by the writer in its own commit: immediate = differential = full, on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from tests.streams.shop import rows
from tests.tpch.data import load
from tests.tpch.rounds import apply_round, contents_of, every_table
from tests.tpch.test_maintained import QUERIES, ROUNDS

pytestmark = pytest.mark.slow


@pytest.mark.timeout(3 * 3600)
@pytest.mark.filterwarnings("ignore::anabranch.Notice")
def test_after_mixed_rounds_immediate_is_differential_is_full(
    tpch: Path, spark: SparkSession, place: Path
) -> None:
    with ab.connect(place, spark=spark) as lake:
        load(lake, tpch)
        for mode in ("immediate", "differential"):
            for name, query in QUERIES.items():
                lake.create_stream_table(f"{mode}_{name}", query, refresh_mode=mode, schedule=None)
        for number in range(ROUNDS):
            lsn = apply_round(lake, every_table(contents_of(lake), number))
            for name in QUERIES:
                newest = lake.refresh_history(f"immediate_{name}", 1)[0]
                assert (newest.action, set(newest.until.values())) == ("IMMEDIATE", {lsn}), name
                assert lake.refresh_stream_table(f"differential_{name}").action == "DIFFERENTIAL", name
                assert lake.verify(f"immediate_{name}").ok, name
                assert rows(lake, f"immediate_{name}") == rows(lake, f"differential_{name}"), name
