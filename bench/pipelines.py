"""A graph of sixty tables over TPC-H's lines, against Spark Declarative Pipelines with the same queries.

Both run on one Spark Connect server, in turns, start-up excluded. Their materialized views are computed from
nothing in every run, over the same rows in plain Parquet files; ours are brought from the last state to the
next one. Each round adds a thousandth of the lines, to the lake and as one more file for them.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, handle_pipeline_events, start_run
from pyspark.sql import SparkSession

import anabranch as ab
from bench.harness import Report, Row, Size, compare, ratio_report
from tests.tpch.data import generate

WIDE = 20
SHARE = 1000
STEP = 7919
"""From where lines are added again: another place in every round."""
COMPARED = (3, 17)
"""The branches of which every row is compared; of all others their number."""
SCHEMA = "orderkey BIGINT, part BIGINT, quantity BIGINT, price BIGINT, flag STRING"


def pipeline_queries() -> dict[str, str]:
    """Twenty filters, twenty groupings of them, twenty choices among those."""
    found = {}
    for number in range(WIDE):
        found[f"part_{number}"] = (
            f"SELECT orderkey, part, quantity, price, flag FROM line WHERE part % {WIDE} = {number}"
        )
        found[f"grouped_{number}"] = (
            f"SELECT part, flag, COUNT(*) AS n, SUM(quantity) AS quantity, SUM(price) AS price "
            f"FROM part_{number} GROUP BY part, flag"
        )
        found[f"large_{number}"] = f"SELECT part, flag, price FROM grouped_{number} WHERE quantity > 500"
    return found


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    generate(folder / "data", size.scale)
    lines = pq.read_table(folder / "data" / "lineitem.parquet")
    lines = pa.table(
        {
            "orderkey": lines["l_orderkey"],
            "part": lines["l_partkey"],
            "quantity": lines["l_quantity"].cast(pa.decimal128(38, 2)).cast(pa.float64()).cast(pa.int64()),
            "price": lines["l_extendedprice"].cast(pa.float64()).cast(pa.int64(), safe=False),
            "flag": lines["l_returnflag"].cast(pa.string()),
        }
    )
    session = _start_session(folder)
    clock = ab.ManualClock()
    with ab.connect(folder / "lake", spark=session, clock=clock) as lake, warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        row = _measure_graph(lake, clock, session, folder, lines, size)
    return ratio_report("pipelines", [row], size)


def _start_session(folder: Path) -> Any:
    """A session on a Connect server of its own."""
    builder = SparkSession.builder.remote("local[*]")
    options = {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.memory": "6g",
        "spark.sql.shuffle.partitions": "8",
        "spark.buffer.pageSize": "2m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for key, value in options.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # Its server starts with these; then they are set on the session again, where most can't be.
        warnings.filterwarnings("ignore", "Failed to set")
        return builder.getOrCreate()


def _measure_graph(
    lake: ab.Lake, clock: ab.ManualClock, session: Any, folder: Path, lines: pa.Table, size: Size
) -> Row:
    bare = folder / "bare"
    bare.mkdir()
    pq.write_table(lines, bare / "0.parquet", compression="zstd")
    session.sql(f"CREATE TABLE line ({SCHEMA}) USING parquet LOCATION '{bare.as_uri()}'")
    lake.create_table("line", SCHEMA)
    lake.insert("line", lines)
    texts = pipeline_queries()
    lake.create_stream_tables(
        [{"name": name, "query": text, "schedule": "1m"} for name, text in texts.items()]
    )
    numbers = itertools.count(1)
    added = lines.num_rows // SHARE
    graphs: list[str] = []

    def change() -> None:
        number = next(numbers)
        some = lines.slice(number * STEP % (lines.num_rows - added), added)
        pq.write_table(some, bare / f"{number}.parquet", compression="zstd")
        session.sql("REFRESH TABLE line")
        lake.insert("line", some)
        graphs.append(_register_views(session, texts))

    def ours() -> None:
        clock.advance(3600)
        told = lake.tick()
        # A change of a few rows need not touch every branch.
        assert len(told.refreshed) + len(told.unchanged) == len(texts), told

    def theirs() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            events = start_run(
                session,
                graphs[-1],
                full_refresh=[],
                full_refresh_all=False,
                refresh=[],
                dry=False,
                storage=(folder / "storage").as_uri(),
            )
            handle_pipeline_events(events)

    row = compare(
        f"3 layers of 20 over {lines.num_rows:,} rows, 0.1 % added",
        "Spark Declarative Pipelines",
        ours=ours,
        theirs=theirs,
        aim=0.1,
        rounds=size.measured_rounds(5),
        warmup=1,
        before=change,
    )
    for name in texts:
        here, there = (frame.count() for frame in (lake.table(name), session.table(name)))
        assert here == there, f"{name} has {here} rows here, {there} there"
    for name in (f"{layer}_{number}" for layer in ("part", "grouped", "large") for number in COMPARED):
        mine, other = (
            frame.select(lake.table(name).columns) for frame in (lake.table(name), session.table(name))
        )
        differing = mine.exceptAll(other).count() + other.exceptAll(mine).count()
        assert not differing, f"{differing} rows of {name} are on one side only"
    return row


def _register_views(session: Any, texts: dict[str, str]) -> str:
    """Tell the server of all views, as part of a graph that can be run once; the graph's id."""
    graph = create_dataflow_graph(session, default_catalog=None, default_database="default", sql_conf={})
    views = ";\n".join(f"CREATE MATERIALIZED VIEW {name} AS {text}" for name, text in texts.items())
    SparkConnectGraphElementRegistry(session, graph).register_sql(views, Path("views.sql"))
    return graph
