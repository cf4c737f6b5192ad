"""Spark alone keeps the 22 queries of TPC-H while a thousandth of every table changes at once.

As in `shares`, a differential refresh is held against the better of two that compute from nothing: our own
full refresh, and plain Spark over compacted Parquet files.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from bench.every import SHARE
from bench.harness import Report, Size
from bench.refresh_modes import check_rows
from bench.shares import (
    MODES,
    SPARK_ONLY,
    Workload,
    choose_course,
    mean_speedup,
    measure_workload,
    share_table,
)
from bench.tpch import open_tpch_lake, read_queries
from bench.tpch_changes import change_every_table
from tests.tpch.rounds import KEYS


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    with open_tpch_lake(folder, size.scale, **SPARK_ONLY) as lake:
        workload = Workload(read_queries(size.queries), KEYS, change_every_table)
        rows = measure_workload(lake, workload, [SHARE], choose_course(size))
        for name in workload.texts:
            check_rows(lake, name, MODES)
        print("  all results are those of the full refresh", flush=True)
    document = {
        "scale": size.scale,
        "share": SHARE,
        "geometric_mean": mean_speedup(rows, SHARE),
        "rows": [asdict(row) for row in rows],
    }
    return Report(share_table(rows), {"every_on_spark": document})
