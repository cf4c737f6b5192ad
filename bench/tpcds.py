"""Spark alone keeps the 99 queries of TPC-DS while a thousandth of the rows of every fact table changes.

As in `shares`, a differential refresh is held against the better of two that compute from nothing: our own
full refresh, and plain Spark over compacted Parquet files.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import anabranch as ab
from bench import duckdb_peer
from bench.harness import Report, Size
from bench.shares import SPARK_ONLY, Workload, choose_course, mean_speedup, measure_workload, share_table
from bench.tpch import open_generated_lake, stream_name
from tests.rounded_rows import sort_rounded
from tests.tpcds.data import QUERIES, generate, load
from tests.tpcds.rounds import FACTS, change_facts
from tests.tpcds.schemas import SCHEMAS
from tests.tpch.rounds import apply_round

SHARE = 0.001


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    texts = {name: text for name, text in QUERIES.items() if name in size.queries or not size.queries}
    place = folder / f"tpcds-{size.scale:g}"
    with open_generated_lake(place, size.scale, generate, load, **SPARK_ONLY) as lake:
        workload = Workload(texts, [str(table) for table in SCHEMAS], change_fact_tables)
        rows = measure_workload(lake, workload, [SHARE], choose_course(size))
        wrong = [name for name in texts if not has_rows_of_full_refresh(lake, name)]
    verdict = f"wrong: {', '.join(wrong)}" if wrong else "all results are those of the full refresh"
    document = {
        "scale": size.scale,
        "share": SHARE,
        "geometric_mean": mean_speedup(rows, SHARE),
        "geometric_mean_where_changed": mean_speedup(rows, SHARE, changed=True),
        "wrong": wrong,
        "rows": [asdict(row) for row in rows],
    }
    return Report(f"{share_table(rows)}\n{verdict}", {"tpcds": document})


def change_fact_tables(lake: ab.Lake, number: int, share: float) -> int:
    """A share of the rows of every fact table changes in one transaction; how many rows go or come."""
    with duckdb_peer.open_connection(lake, FACTS) as connection:
        drawn = change_facts(connection, number, share)
    apply_round(lake, drawn)
    return drawn.rows


def has_rows_of_full_refresh(lake: ab.Lake, query: str) -> bool:
    """Whether the differential stream table holds what the full one does, to the last digits of doubles."""
    kept, full = (sort_rounded(lake.arrow(stream_name(query, mode))) for mode in ("differential", "full"))
    return kept.equals(full)
