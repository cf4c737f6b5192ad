"""A table with every type, rows at the edges of each, and ways to read it back."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import anabranch as ab
from anabranch.names import TableName
from anabranch.read.scan_tables import list_live_files

UTC = dt.UTC


def _nines(digits: int, scale: int) -> list[Exact]:
    largest = Exact((0, (9,) * digits, -scale))
    return [largest, largest.copy_negate(), Exact((0, (1,), -scale)), Exact((0, (0,), -scale))]


def _instant(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


# Column: its type in DDL, and values at the edges of that type.
ATOMS: dict[str, tuple[str, list[Any]]] = {
    "flag": ("BOOLEAN", [True, False]),
    "tiny": ("TINYINT", [-128, 127, 0]),
    "small": ("SMALLINT", [-32768, 32767, 0]),
    "plain": ("INT", [-(2**31), 2**31 - 1, 0]),
    "big": ("BIGINT", [-(2**63), 2**63 - 1, 0]),
    "short_float": ("FLOAT", [1.5, -0.0, math.nan, math.inf, -math.inf, 1.401298464324817e-45]),
    "long_float": ("DOUBLE", [0.1, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308]),
    "dec1": ("DECIMAL(1,0)", _nines(1, 0)),
    "dec9": ("DECIMAL(9,2)", _nines(9, 2)),
    "dec18": ("DECIMAL(18,0)", _nines(18, 0)),
    "dec19": ("DECIMAL(19,18)", _nines(19, 18)),
    "dec38": ("DECIMAL(38,0)", _nines(38, 0)),
    "dec38s": ("DECIMAL(38,38)", _nines(38, 38)),
    "text": ("STRING", ["", " ", "a\0b", "ß😀\u0301", "line\nbreak\t'\"`\\", "x" * 3000]),
    "raw": ("BINARY", [b"", b"\x00\xff", bytes(range(256))]),
    "day": ("DATE", [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1969, 12, 31), dt.date(9999, 12, 31)]),
    "clock": ("TIME", [dt.time(0), dt.time(23, 59, 59, 999999), dt.time(12, 0, 0, 1)]),
    "instant": (
        "TIMESTAMP",
        [
            _instant(1, 1, 1),
            _instant(1582, 10, 10),
            _instant(1899, 12, 31, 23, 59, 59, 999999),
            _instant(1969, 12, 31, 23, 59, 59, 999999),
            _instant(2024, 2, 29, 12, 0, 0, 1),
            _instant(9999, 12, 31, 23, 59, 59, 999999),
        ],
    ),
    "local": (
        "TIMESTAMP_NTZ",
        [
            dt.datetime(1, 1, 1),  # noqa: DTZ001
            dt.datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
            dt.datetime(2024, 3, 31, 2, 30),  # noqa: DTZ001  (skipped by many clocks)
            dt.datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
        ],
    ),
}
NESTED: dict[str, tuple[str, list[Any]]] = {
    "numbers": ("ARRAY<TINYINT>", [[], [None], [1, None, -128]]),
    "deep_array": ("ARRAY<ARRAY<ARRAY<STRING>>>", [[], [[]], [[["a", None], []], None]]),
    "prices": ("MAP<STRING, DECIMAL(12,2)>", [[], [("a", Exact("1.50")), ("b", None)]]),
    "deep_map": (
        "MAP<INT, MAP<STRING, ARRAY<DOUBLE>>>",
        [[], [(1, [])], [(2, [("x", [0.5, None]), ("y", None)]), (3, None)]],
    ),
    "point": ("STRUCT<x: INT, y: SMALLINT>", [{"x": 1, "y": None}, {"x": None, "y": None}]),
    "deep_struct": (
        "STRUCT<a: STRUCT<b: STRUCT<c: TIMESTAMP, d: BINARY>>>",
        [{"a": None}, {"a": {"b": None}}, {"a": {"b": {"c": _instant(2024, 2, 29), "d": b"\x00"}}}],
    ),
    "mixed": (
        "ARRAY<STRUCT<m: MAP<STRING, ARRAY<DATE>>, t: TIMESTAMP_NTZ, n: ARRAY<TIME>>>",
        [
            [],
            [None],
            [{"m": [("d", [dt.date(2024, 2, 29), None])], "t": dt.datetime(1960, 1, 1), "n": []}],  # noqa: DTZ001
            [{"m": None, "t": None, "n": [dt.time(1, 2, 3, 4), None]}],
        ],
    ),
}
LISTS_OF_STRUCTS = ("mixed", "deep")
COLUMNS = ATOMS | NESTED
DDL = ", ".join(["id INT NOT NULL", "note INT", *(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())])


def rows(columns: dict[str, tuple[str, list[Any]]] = COLUMNS) -> list[dict[str, Any]]:
    """Every value in some row; NULL where a column has run out of values, and a row of NULLs."""
    height = max(len(values) for _, values in columns.values()) + 1
    return [
        {"id": i, "note": 0}
        | {name: values[i] if i < len(values) else None for name, (_, values) in columns.items()}
        for i in range(height)
    ]


def shown(value: Any) -> Any:
    """A value in which NaN equals itself, -0.0 differs from 0.0, and instants are in UTC."""
    match value:
        case float():
            return f"float {value!r}"
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case dict():
            return {key: shown(item) for key, item in value.items()}
        case list():
            return [shown(item) for item in value]
        case tuple():
            return tuple(shown(item) for item in value)
        case _:
            return value


def listed(table: pa.Table) -> list[Any]:
    """The rows of an Arrow table in the order of their ids, ready to be compared."""
    return shown(table.sort_by("id").to_pylist())


def by_spark(frame: Any) -> pa.Table:
    """The rows of a frame, without Python's own idea of time zones."""
    return frame.toArrow()


def by_pyiceberg(place: Path, name: str) -> pa.Table:
    """The rows as another Iceberg client reads them from the catalog, the metadata and the files."""
    catalog = SqlCatalog("anabranch", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}/tables")
    try:
        return catalog.load_table(("main", name)).scan().to_arrow()
    finally:
        catalog.engine.dispose()


def by_duckdb(lake: ab.Lake, name: str) -> pa.Table:
    """The rows as DuckDB reads them from the files that the metadata lists."""
    version = lake._context.catalog.lake_version().version(TableName.parse(name))
    paths = [file.path.removeprefix("file://") for file in list_live_files(lake._context, version)]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.read_parquet(paths).to_arrow_table()


def check_readings(lake: ab.Lake, place: Path, name: str, expected: list[dict[str, Any]]) -> None:
    """Whoever reads the table finds these rows."""
    wanted = shown(expected)
    assert listed(lake.arrow(name)) == wanted
    assert listed(by_spark(lake.table(name))) == wanted
    assert listed(by_duckdb(lake, name)) == wanted
    # pyiceberg shows a NULL list of structs as an empty one; the readers above tell them apart.
    flawed = [
        {key: value or [] if key in LISTS_OF_STRUCTS else value for key, value in row.items()}
        for row in wanted
    ]
    assert listed(by_pyiceberg(place, name)) == flawed
