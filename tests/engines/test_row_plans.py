"""What the lake asks about rows besides queries is answered alike by every engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anabranch.engine.base import Engine, Frame
from anabranch.engine.row_plans import (
    count_differences,
    exact_columns,
    locate_rows,
    net_changes,
    repeat_with_change_type,
    rows_after_rewrite,
    rows_with_keys,
)
from anabranch.events import ignore_event
from anabranch.names import FILE, POSITION, WEIGHT
from anabranch.schema import Schema
from anabranch.sql.ddl import parse_schema
from tests.engines.duck import DuckEngine

PLAIN = parse_schema("id BIGINT, name STRING")
MAPS = parse_schema("id BIGINT, tags MAP<STRING, INT>, deep STRUCT<inner: MAP<STRING, ARRAY<INT>>, n: INT>")
TYPES = {
    "id": pa.int64(),
    "name": pa.string(),
    "tags": pa.map_(pa.string(), pa.int32()),
    "deep": pa.struct([("inner", pa.map_(pa.string(), pa.list_(pa.int32()))), ("n", pa.int32())]),
    WEIGHT: pa.int64(),
    FILE: pa.string(),
    POSITION: pa.int64(),
}


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Both engines."""
    if request.param == "duckdb":
        return DuckEngine()
    from anabranch.engine.spark.engine import SparkEngine

    return SparkEngine(request.getfixturevalue("spark"), zone="UTC", observer=ignore_event)


@dataclass(frozen=True)
class File:
    """A Parquet file, without position deletes."""

    path: str
    deletes: tuple[str, ...] = ()


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Writes rows into a file: `write(columns, row, …)`."""

    def write_file(columns: Sequence[str], *rows: tuple[Any, ...]) -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        values = list(zip(*rows, strict=True)) or [()] * len(columns)
        arrays = [pa.array(column, TYPES[name]) for name, column in zip(columns, values, strict=True)]
        pq.write_table(pa.table(arrays, names=list(columns)), path)
        return path.as_uri()

    return write_file


def scan(engine: Engine, schema: Schema, *paths: str) -> Frame:
    return engine.scan([File(path) for path in paths], schema)


def found(frame: Frame) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(repr, row)) for row in frame.collect())


def shown(*rows: tuple[Any, ...]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(repr, row)) for row in rows)


def test_equal_rows_of_a_change_are_added_up_and_those_of_weight_zero_are_gone(
    engine: Engine, write: Any
) -> None:
    came = write(PLAIN.names, (1, "a"), (1, "a"), (2, None), (3, "c"))
    went = write(PLAIN.names, (3, "c"))
    weighted = write([*PLAIN.names, WEIGHT], (2, None, 1), (1, "a", -1), (4, "d", -2))
    changes = engine.scan_changes([File(came)], [File(went)], [weighted], PLAIN)
    assert found(net_changes(engine, changes, PLAIN, "_weight")) == shown(
        (1, "a", 1), (2, None, 2), (4, "d", -2)
    )


def test_maps_are_equal_by_what_they_hold_and_keep_their_nulls(engine: Engine, write: Any) -> None:
    tags = [("a", None), ("b", 2)]
    deep = {"inner": [("x", [1, None])], "n": None}
    came = write(
        MAPS.names, (1, tags, deep), (1, tags, deep), (2, None, None), (3, [], {"inner": None, "n": 1})
    )
    went = write(MAPS.names, (3, [], {"inner": None, "n": 1}))
    changes = engine.scan_changes([File(came)], [File(went)], [], MAPS)
    net = engine.collect(net_changes(engine, changes, MAPS)) or net_changes(engine, changes, MAPS).toArrow()
    rows = sorted(net.to_pylist(maps_as_pydicts="strict"), key=lambda row: row["id"])
    assert rows == [
        {"id": 1, "tags": {"a": None, "b": 2}, "deep": {"inner": {"x": [1, None]}, "n": None}, WEIGHT: 2},
        {"id": 2, "tags": None, "deep": None, WEIGHT: 1},
    ]


@pytest.mark.spark
def test_maps_in_another_order_are_the_same_maps_on_spark(spark: Any, write: Any) -> None:
    from anabranch.engine.spark.engine import SparkEngine

    engine = SparkEngine(spark, zone="UTC", observer=ignore_event)
    schema = parse_schema("id BIGINT, tags MAP<STRING, INT>")
    one, other = (
        write(schema.names, (1, [("a", 1), ("b", 2)])),
        write(schema.names, (1, [("b", 2), ("a", 1)])),
    )
    assert count_differences(
        engine, scan(engine, schema, one), scan(engine, schema, other), schema.columns
    ) == (0, 0)


def test_differences_are_counted_as_bags(engine: Engine, write: Any) -> None:
    left = write(PLAIN.names, (1, "a"), (1, "a"), (1, "a"), (2, None))
    right = write(PLAIN.names, (1, "a"), (2, None), (3, None), (4, "d"))
    sides = [scan(engine, PLAIN, path) for path in (left, right)]
    assert count_differences(engine, *sides, PLAIN.columns) == (2, 2)
    assert count_differences(engine, sides[0], sides[0], PLAIN.columns) == (0, 0)


def test_without_comparable_columns_only_the_numbers_of_rows_are_compared(engine: Engine, write: Any) -> None:
    schema = parse_schema("x DOUBLE")
    assert not exact_columns(schema)
    some, nothing = engine.run_query("SELECT CAST(1 AS DOUBLE) AS x", {}), engine.scan([], schema)
    assert count_differences(engine, some, nothing, exact_columns(schema)) == (1, 0)
    assert count_differences(engine, nothing, nothing, exact_columns(schema)) == (0, 0)


def test_as_many_equal_rows_are_located_as_the_weight_says(engine: Engine, write: Any) -> None:
    stored = [write(PLAIN.names, (1, None), (2, "b"), (1, None)), write(PLAIN.names, (1, None), (3, "c"))]
    change = write([*PLAIN.names, WEIGHT], (1, None, -2), (2, "b", 1), (3, "c", -1), (9, "z", -1))
    located = locate_rows(engine, [change], [File(path) for path in stored], PLAIN).collect()
    places = sorted((row[FILE].split("/")[-1], row[POSITION]) for row in located)
    names = [path.split("/")[-1] for path in stored]
    assert places == [(names[0], 0), (names[0], 2), (names[1], 1)]


def test_rows_with_maps_are_located_too(engine: Engine, write: Any) -> None:
    schema = parse_schema("id BIGINT, tags MAP<STRING, INT>")
    stored = write(schema.names, (1, [("a", None)]), (1, None))
    change = write([*schema.names, WEIGHT], (1, [("a", None)], -1))
    located = locate_rows(engine, [change], [File(stored)], schema).collect()
    assert [row[POSITION] for row in located] == [0]


def test_rows_match_by_all_keys_and_null_matches_nothing(engine: Engine, write: Any) -> None:
    stored = engine.scan([File(write(PLAIN.names, (1, "a"), (1, "b"), (2, None)))], PLAIN, positions=True)
    incoming = scan(engine, PLAIN, write(PLAIN.names, (1, "b"), (1, "b"), (2, None), (7, "x")))
    rows = rows_with_keys(engine, stored, incoming, (*PLAIN.names, FILE, POSITION), PLAIN.names).collect()
    assert [(row["id"], row["name"], row[POSITION]) for row in rows] == [(1, "b", 1)]


def test_people_see_a_row_per_occurrence(engine: Engine, write: Any) -> None:
    change = write([*PLAIN.names, WEIGHT], (1, "a", 2), (2, None, -1), (2, None, -1))
    net = net_changes(engine, engine.scan_changes([], [], [change], PLAIN), PLAIN, "_weight")
    assert found(repeat_with_change_type(engine, net, PLAIN.names, "_weight")) == shown(
        (1, "a", "insert"), (1, "a", "insert"), (2, None, "delete"), (2, None, "delete")
    )


@pytest.mark.parametrize("touches", [True, False])
@pytest.mark.parametrize("changes", [True, False])
def test_a_rewrite_leaves_out_positions_and_adds_rows(
    engine: Engine, write: Any, touches: bool, changes: bool
) -> None:
    touched = [File(write(PLAIN.names, (1, "a"), (2, "b"), (3, None)))] if touches else []
    change = write([*PLAIN.names, WEIGHT], (4, "d", 2), (2, "b", -1))
    rows = rows_after_rewrite(
        engine, touched, [change] if changes else [], PLAIN, lambda _: pa.array([1]).to_numpy()
    )
    left = [(1, "a"), (3, None)] if touches else []
    added = [(4, "d"), (4, "d")] if changes else []
    assert found(rows) == shown(*left, *added)
