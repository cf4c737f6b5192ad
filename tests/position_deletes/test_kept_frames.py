"""Frames of files are made once for as long as there is room, and no statement reads one twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.bounded_cache import Cache
from anabranch.engine.spark.engine import SparkEngine
from anabranch.events import ignore_event
from anabranch.sql.ddl import parse_schema

SCHEMA = parse_schema("a BIGINT, b BIGINT")


@dataclass(frozen=True)
class File:
    """A Parquet file."""

    path: str
    deletes: tuple[str, ...] = ()


@pytest.fixture
def engine(spark: SparkSession) -> SparkEngine:
    return SparkEngine(spark, zone="UTC", observer=ignore_event)


@pytest.fixture
def files(tmp_path: Path) -> Sequence[File]:
    pq.write_table(pa.table({"a": [1, 2], "b": [3, 4]}), tmp_path / "rows.parquet")
    return [File((tmp_path / "rows.parquet").as_uri())]


def test_a_frame_is_given_again_under_the_same_name_only(engine: SparkEngine, files: Sequence[File]) -> None:
    first = engine.scan(files, SCHEMA, keep_as="UNTIL")
    assert engine.scan(files, SCHEMA, keep_as="UNTIL") is first
    narrow = parse_schema("a BIGINT")
    others = [
        engine.scan(files, SCHEMA, keep_as="SINCE"),
        engine.scan(files, SCHEMA),
        engine.scan(files, narrow, keep_as="UNTIL"),
        engine.scan(files, SCHEMA, positions=True, keep_as="UNTIL"),
        engine.scan([*files, *files], SCHEMA, keep_as="UNTIL"),
    ]
    assert not any(other is first for other in others)
    assert [sorted(row.a for row in other.collect()) for other in others] == [[1, 2]] * 4 + [[1, 1, 2, 2]]


def test_no_more_frames_are_kept_than_there_is_room_for(
    engine: SparkEngine, files: Sequence[File], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine._files, "_frames", Cache(2))
    kept = {name: engine.scan(files, SCHEMA, keep_as=name) for name in "abc"}
    assert engine.scan(files, SCHEMA, keep_as="c") is kept["c"]
    assert engine.scan(files, SCHEMA, keep_as="b") is kept["b"]
    assert engine.scan(files, SCHEMA, keep_as="a") is not kept["a"]


def test_an_engine_that_stopped_keeps_no_frames(engine: SparkEngine, files: Sequence[File]) -> None:
    first = engine.scan(files, SCHEMA, keep_as="UNTIL")
    engine.stop()
    assert engine.scan(files, SCHEMA, keep_as="UNTIL") is not first


def test_no_statement_of_a_refresh_reads_a_frame_under_two_names(
    spark_lake: ab.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    joins = "t AS x JOIN t AS y ON x.a = y.b JOIN u ON u.a = x.a"
    text = f"SELECT x.a, y.b, (SELECT MAX(b) FROM t) AS m FROM {joins}"
    spark_lake.set("driver_rows", 0)
    for name in "tu":
        spark_lake.create_table(name, "a BIGINT, b BIGINT")
        spark_lake.insert(name, [(1, 1), (2, 2), (3, 1)])
    plain, read = SparkEngine.run_query, 0

    def run_query(engine: SparkEngine, template: str, relations: dict[str, object]) -> object:
        nonlocal read
        assert len({id(frame) for frame in relations.values()}) == len(relations)
        read += len(relations)
        return plain(engine, template, relations)

    monkeypatch.setattr(SparkEngine, "run_query", run_query)
    spark_lake.create_stream_table("s", text, refresh_mode="differential")
    for full in (False, True):
        spark_lake.insert("u", [(1, 1)])
        spark_lake.refresh_stream_table("s", full=full)
        assert spark_lake.verify("s").ok
    assert read > 10
