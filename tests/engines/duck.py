"""An engine for tests: DuckDB runs the statements, Arrow reads and writes the files, at once and in memory.

What Spark takes seconds for takes milliseconds here, on the same lake, with the same refreshes. Not for tests
of what a query means: only Spark says that. A lake is made and read by one kind of engine, since types of
results differ (`sum(DECIMAL(12,2))` is a DECIMAL(38,2) here).
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Row

from anabranch.engine.base import Checksum, Stored
from anabranch.errors import AnabranchError, EngineFailed, InvalidQuery, InvalidValue, SqlSyntax
from anabranch.names import HIDDEN_PREFIX
from anabranch.render.dialect import DUCKDB, Dialect
from anabranch.schema import Atomic, Column, Schema, has_floats
from anabranch.storage.files import FILE, POSITION, WEIGHT, added_rows
from anabranch.storage.rows import rows_to_arrow
from anabranch.storage.scan import declared_rows
from anabranch.storage.types import from_arrow, stored_arrow, to_arrow, to_iceberg
from tests.engines.statements import MACROS, relation_name, statement

INSERT, DELETE, UPDATE = 1, 2, 3
_ACTION, _QUERY_WEIGHT, _NEW, _PICK = "__action", "__w", "__new_", "__pick_"
_CHANGE = [(WEIGHT, pa.int64()), (FILE, pa.string()), (POSITION, pa.int64())]


@dataclass(frozen=True, eq=False)
class DuckFrame:
    """Rows, computed already, with as much of Spark's DataFrame as tests read results by."""

    arrow: pa.Table

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.arrow.column_names)

    def collect(self) -> list[Row]:
        """The rows."""
        made = Row(*self.columns)
        columns = [column.to_pylist(maps_as_pydicts="strict") for column in self.arrow.columns]
        return [made(*values) for values in zip(*columns, strict=True)]

    def first(self) -> Row | None:
        """One row, if there is any."""
        return next(iter(self.collect()), None)

    def show(self) -> None:
        """Print the rows as Spark does."""
        columns = [
            [name, *("NULL" if value is None else str(value) for value in column.to_pylist())]
            for name, column in zip(self.columns, self.arrow.columns, strict=True)
        ]
        widths = [max(3, *map(len, column)) for column in columns]
        rule = "+" + "+".join("-" * width for width in widths) + "+"
        head, *rows = (
            "|" + "|".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) + "|"
            for row in zip(*columns, strict=True)
        )
        print("\n".join([rule, head, rule, *rows, rule]))

    def limit(self, rows: int) -> DuckFrame:
        """No more rows than that."""
        return DuckFrame(self.arrow.slice(0, rows))

    def count(self) -> int:
        """How many rows there are."""
        return int(self.arrow.num_rows)

    def toArrow(self) -> pa.Table:
        """The rows as Arrow data."""
        return self.arrow

    def toPandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return self.arrow.to_pandas()


class DuckEngine:
    """Everything that a lake asks of Spark. Frames are computed when they are made.

    With the dialect SPARK, plans are translated like people's texts: slower, but then both know the same
    functions.
    """

    def __init__(self, *, zone: str = "UTC", dialect: Dialect = DUCKDB) -> None:
        self._zone = zone
        self._dialect = dialect
        self.statements = 0

    @property
    def dialect(self) -> Dialect:
        """The SQL in which it is handed plans."""
        return self._dialect

    def stop(self) -> None:
        """Nothing is held."""

    # -- frames -------------------------------------------------------------------------------

    def owns(self, value: object) -> bool:
        """Whether a value is a frame; Arrow data isn't: it goes the way it goes with Spark."""
        return isinstance(value, DuckFrame)

    def from_arrow(self, table: pa.Table, like: DuckFrame | None = None) -> DuckFrame:
        """Arrow data as a frame."""
        return DuckFrame(table)

    def collected(self, frame: DuckFrame) -> pa.Table:
        """The rows of a frame, which are computed already."""
        return frame.arrow

    def schema_of(self, frame: DuckFrame, *, hidden: bool = False) -> Schema:
        """The schema of a frame; all of it may be NULL."""
        return Schema(
            tuple(
                Column(field.name, _type_of(field), hidden=hidden and field.name.startswith(HIDDEN_PREFIX))
                for field in frame.arrow.schema
            )
        )

    def types_of(self, frame: DuckFrame) -> Mapping[str, str]:
        """The types of a frame's columns, as Spark names them."""
        return {
            field.name: "void" if pa.types.is_null(field.type) else _spark_name(field)
            for field in frame.arrow.schema
        }

    def checksum(self, frame: DuckFrame, schema: Schema) -> Checksum:
        """How many rows, and a number that is the same for the same rows in any order; no floats in it."""
        exact = [frame.arrow.column(c.name).to_pylist() for c in schema if not has_floats(c.type)]
        total = sum(zlib.crc32(repr(row).encode()) for row in zip(*exact, strict=True))
        return Checksum(frame.arrow.num_rows, str(total))

    def difference(self, left: DuckFrame, right: DuckFrame, schema: Schema) -> tuple[int, int]:
        """How many rows, as bags, are only in the left frame, and how many only in the right."""
        sides = [
            _weighted(frame.arrow.select(schema.names), sign) for frame, sign in ((left, 1), (right, -1))
        ]
        weights = self._net(_together(sides), WEIGHT).column(WEIGHT).to_numpy()
        return int(weights[weights > 0].sum()), int(-weights[weights < 0].sum())

    def scan(self, files: Sequence[Stored], schema: Schema, *, positions: bool = False) -> DuckFrame:
        """The rows of files; with `positions` also `__file` and `__position`."""
        declared = to_arrow(schema)
        parts = [_placed(declared_rows(_read(file.path), declared), file.path) for file in files]
        parts = [_unmarked(rows, file) for rows, file in zip(parts, files, strict=True)]
        if not positions:
            parts = [rows.drop_columns([FILE, POSITION]) for rows in parts]
        else:
            declared = pa.schema([*declared, *(pa.field(*column) for column in _CHANGE[1:])])
        return DuckFrame(pa.concat_tables(parts) if parts else declared.empty_table())

    def query(self, template: str, relations: Mapping[str, DuckFrame]) -> DuckFrame:
        """Run a statement in which `{placeholder}` stands for a relation."""
        self.statements += 1
        text = statement(template, frozenset(relations))
        return DuckFrame(_run(text, {relation_name(key): frame.arrow for key, frame in relations.items()}))

    # -- changes ------------------------------------------------------------------------------

    def weighted(
        self, plus: Sequence[Stored], minus: Sequence[Stored], weighted: Sequence[str], schema: Schema
    ) -> DuckFrame:
        """Rows with their net weight in `_weight`, none of it zero: equal rows are added up."""
        rows = self.change(plus, minus, weighted, schema).arrow
        return DuckFrame(self._net(rows.rename_columns([*schema.names, "_weight"]), "_weight"))

    def change(
        self, plus: Sequence[Stored], minus: Sequence[Stored], weighted: Sequence[str], schema: Schema
    ) -> DuckFrame:
        """The same rows with their weight in `__weight`."""
        parts = [_weighted(self.scan(plus, schema).arrow, 1), _weighted(self.scan(minus, schema).arrow, -1)]
        parts.append(_changes(weighted, schema).select([*schema.names, WEIGHT]))
        return DuckFrame(self._net(pa.concat_tables(parts), WEIGHT))

    def _net(self, rows: pa.Table, weight: str) -> pa.Table:
        total = f'CAST(sum("{weight}") AS BIGINT)'
        text = f'SELECT * REPLACE ({total} AS "{weight}") FROM rows GROUP BY ALL HAVING sum("{weight}") <> 0'
        return _run(text, {"rows": rows})

    def to_change(self, frame: DuckFrame, schema: Schema, table: str) -> DuckFrame:
        """A query's weighted rows (`__w`; without it, each counts one) in a table's columns."""
        rows = frame.arrow
        if _QUERY_WEIGHT in rows.column_names:
            weight = rows.column(_QUERY_WEIGHT).cast(pa.int64())
        else:
            weight = pa.array(np.ones(rows.num_rows, dtype=np.int64))
        fitting = rows_to_arrow(
            rows.select(schema.names), schema, zone=self._zone, table=table, incoming=True
        )
        return DuckFrame(fitting.append_column(WEIGHT, weight))

    def located(self, changes: Sequence[str], live: Sequence[Stored], schema: Schema) -> DuckFrame:
        """File and position of the stored rows that change files take away."""
        same = " AND ".join(
            f"stored.{_quoted(name)} IS NOT DISTINCT FROM gone.{_quoted(name)}" for name in schema.names
        )
        keys = ", ".join(f"stored.{_quoted(name)}" for name in schema.names)
        text = f"""
            SELECT {FILE}, {POSITION} FROM (
                SELECT stored.{FILE}, stored.{POSITION}, gone.{WEIGHT}, row_number() OVER (
                    PARTITION BY {keys} ORDER BY stored.{FILE}, stored.{POSITION}) AS number
                FROM stored JOIN gone ON {same} WHERE gone.{WEIGHT} < 0
            ) WHERE number <= -{WEIGHT}"""
        stored = self.scan(live, schema, positions=True).arrow
        gone = _changes(changes, schema).select([*schema.names, WEIGHT])
        return DuckFrame(_run(text, {"stored": stored, "gone": gone}))

    def matchable(self, stored: DuckFrame, incoming: DuckFrame, keys: Sequence[str]) -> DuckFrame:
        """The stored rows that agree in all keys with a row of a small frame."""
        same = " AND ".join(f"stored.{_quoted(key)} = incoming.{_quoted(key)}" for key in keys)
        text = f"SELECT stored.* FROM stored SEMI JOIN incoming ON {same}"
        return DuckFrame(_run(text, {"stored": stored.arrow, "incoming": incoming.arrow}))

    def spelled(self, weighted: DuckFrame) -> DuckFrame:
        """The same for people: `_change_type` says insert or delete, a row per occurrence."""
        weights = weighted.arrow.column("_weight").to_numpy()
        kinds = pa.array(np.where(weights > 0, "insert", "delete"), pa.string())
        rows = weighted.arrow.drop_columns(["_weight"]).append_column("_change_type", kinds)
        return DuckFrame(rows.take(pa.array(np.repeat(np.arange(len(weights)), np.abs(weights)))))

    def row_changes(self, frame: DuckFrame, schema: Schema, table: str) -> DuckFrame:
        """From actions per row to weighted rows: an update is one row out and one row in."""
        rows = frame.arrow
        goes = rows.filter(pc.is_in(rows.column(_ACTION), pa.array([DELETE, UPDATE], pa.int32())))
        comes = rows.filter(pc.is_in(rows.column(_ACTION), pa.array([INSERT, UPDATE], pa.int32())))
        old = declared_rows(goes, to_arrow(schema)).append_column(
            WEIGHT, pa.array(np.full(goes.num_rows, -1, dtype=np.int64))
        )
        for name in (FILE, POSITION):
            old = old.append_column(name, goes.column(name))
        values = [self._new_values(comes, i, column, table) for i, column in enumerate(schema)]
        new = pa.table(values, schema=to_arrow(schema))
        new = _weighted(rows_to_arrow(new, schema, zone=self._zone, table=table), 1)
        for name, kind in _CHANGE[1:]:
            new = new.append_column(name, pa.nulls(new.num_rows, kind))
        return DuckFrame(_together([old, new]))

    def _new_values(self, rows: pa.Table, i: int, column: Column, table: str) -> pa.ChunkedArray:
        """The new values of a column: one candidate, or several of which a number picks one."""
        one = Schema((Column(column.name, column.type),))

        def fitting(name: str) -> pa.ChunkedArray:
            given = pa.table([rows.column(name)], names=[column.name])
            return rows_to_arrow(given, one, zone=self._zone, table=table).column(0)

        if f"{_PICK}{i}" not in rows.column_names:
            return fitting(f"{_NEW}{i}")
        candidates = [fitting(name) for name in rows.column_names if name.startswith(f"{_NEW}{i}_")]
        return pc.choose(rows.column(f"{_PICK}{i}").cast(pa.int64()), *candidates)

    def rewritten(
        self, touched: Sequence[Stored], changes: Sequence[str], gone: Sequence[str], schema: Schema
    ) -> DuckFrame:
        """The rows of touched files but those at the positions in `gone`, and those that changes add."""
        rows = self.scan(touched, schema, positions=True).arrow
        taken = _changes(gone, schema).select([FILE, POSITION]).drop_null()
        kept = _run(
            f"FROM stored ANTI JOIN taken USING ({FILE}, {POSITION})", {"stored": rows, "taken": taken}
        )
        added = added_rows(_changes(changes, schema)).select(schema.names)
        return DuckFrame(_together([added, kept.select(schema.names)]))

    # -- writing ------------------------------------------------------------------------------

    def conform(
        self, frame: DuckFrame, schema: Schema, table: str, *, by_position: bool = False
    ) -> DuckFrame:
        """A frame in a table's columns, under the rules of INSERT; NULLs in NOT NULL columns fail."""
        rows = frame.arrow
        if by_position:
            if rows.num_columns != len(schema):
                raise InvalidQuery(f'"{table}" has {len(schema)} columns, the query gives {rows.num_columns}')
            rows = rows.rename_columns(schema.names)
        return DuckFrame(rows_to_arrow(rows, schema, zone=self._zone, table=table))

    def renamed(self, frame: DuckFrame, columns: Sequence[str], table: str) -> DuckFrame:
        """A frame whose columns get these names, in order."""
        given = frame.arrow.num_columns
        if given != len(columns):
            raise InvalidQuery(f'{len(columns)} columns of "{table}" are named, the query gives {given}')
        return DuckFrame(frame.arrow.rename_columns(list(columns)))

    def kept(self, frame: DuckFrame, folder: str, *, few: bool) -> DuckFrame:
        """The rows of a frame, which are computed already; many are written, so that they can be counted."""
        if not few:
            self.write(frame, folder, None, {})
        return frame

    def write(
        self, frame: DuckFrame, folder: str, schema: Schema | None, field_ids: Mapping[str, int]
    ) -> None:
        """Write a frame as one Parquet file into a new folder (`schema` None: as it is)."""
        rows = frame.arrow
        if schema is not None:
            rows = rows_to_arrow(rows.select(schema.names), schema, zone=self._zone, table="")
            stored = stored_arrow(to_iceberg(schema))
            rows = rows.cast(pa.schema([_identified(field, field_ids.get(field.name)) for field in stored]))
        place = Path(_local(folder))
        place.mkdir(parents=True)
        pq.write_table(rows, place / "part-0.parquet", compression="zstd", store_decimal_as_integer=True)


# -- files ----------------------------------------------------------------------------------------


def _local(uri: str) -> str:
    assert uri.startswith("file://"), "this engine works on local lakes only"
    return uri.removeprefix("file://")


def _read(path: str, columns: list[str] | None = None) -> pa.Table:
    try:
        with pa.OSFile(_local(path)) as stream:
            return pq.ParquetFile(stream).read(columns=columns, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise EngineFailed("DuckDB failed", detail=str(error).partition("\n")[0][:600]) from error


def _placed(rows: pa.Table, path: str) -> pa.Table:
    rows = rows.append_column(FILE, pa.array([path] * rows.num_rows, pa.string()))
    return rows.append_column(POSITION, pa.array(np.arange(rows.num_rows, dtype=np.int64)))


def _unmarked(rows: pa.Table, file: Stored) -> pa.Table:
    """The rows of a file that no delete file marks."""
    if not file.deletes:
        return rows
    marks = pa.concat_tables([_read(path, ["file_path", "pos"]) for path in file.deletes])
    gone = marks.filter(pc.equal(marks["file_path"], file.path))["pos"].combine_chunks()
    return rows.filter(pc.invert(pc.is_in(rows[POSITION], gone)))


def _changes(paths: Sequence[str], schema: Schema) -> pa.Table:
    declared = pa.schema([*to_arrow(schema), *(pa.field(*column) for column in _CHANGE)])
    parts = [declared_rows(_read(path), declared) for path in paths]
    return pa.concat_tables(parts) if parts else declared.empty_table()


def _identified(field: pa.Field, field_id: int | None) -> pa.Field:
    return field.with_metadata(None if field_id is None else {"PARQUET:field_id": str(field_id)})


def _weighted(rows: pa.Table, weight: int) -> pa.Table:
    return rows.append_column(WEIGHT, pa.array(np.full(rows.num_rows, weight, dtype=np.int64)))


def _together(parts: Sequence[pa.Table]) -> pa.Table:
    """Rows of tables whose types are the same but for what their lists call an element."""
    return pa.concat_tables([parts[0], *(part.cast(parts[0].schema) for part in parts[1:])])


# -- types ----------------------------------------------------------------------------------------


def _type_of(field: pa.Field) -> Any:
    if pa.types.is_null(field.type):
        return Atomic("void")
    return from_arrow(pa.schema([pa.field("value", field.type)])).columns[0].type


def _spark_name(field: pa.Field) -> str:
    return str(_type_of(field)).lower().replace(", ", ",").replace(": ", ":")


_ARROW = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "hugeint": pa.int64(),  # what sums of integers are; in Spark, BIGINT
    "float": pa.float32(),
    "double": pa.float64(),
    "varchar": pa.string(),
    "blob": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    "null": pa.null(),
}


def _arrow_type(kind: Any) -> pa.DataType:
    if kind.id == "decimal":
        return pa.decimal128(*(number for _, number in kind.children))
    if kind.id == "list":
        return pa.list_(pa.field("element", _arrow_type(kind.children[0][1])))
    if kind.id == "map":
        return pa.map_(*(_arrow_type(part) for _, part in kind.children))
    if kind.id == "struct":
        return pa.struct([pa.field(name, _arrow_type(part)) for name, part in kind.children])
    if kind.id not in _ARROW:
        raise InvalidQuery(f"a result of type {kind} can't be kept here")
    return _ARROW[kind.id]


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_nested(kind):
        values = [_nested(value, kind) for value in values]
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise InvalidValue("a value doesn't fit", detail=str(error)) from error


def _nested(value: Any, kind: pa.DataType) -> Any:
    """A value as Arrow takes it: a map as pairs."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        return [(_nested(key, kind.key_type), _nested(item, kind.item_type)) for key, item in value.items()]
    if pa.types.is_list(kind):
        return [_nested(item, kind.value_type) for item in value]
    return {field.name: _nested(value[field.name], field.type) for field in kind}


# -- DuckDB ---------------------------------------------------------------------------------------

_lock = threading.Lock()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One empty database for all lakes of a process: statements read what they are given, nothing else."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    for macro in MACROS:
        connection.execute(macro)
    return connection


def _run(text: str, relations: Mapping[str, pa.Table]) -> pa.Table:
    """A statement's rows. They are few: as Python values they are here sooner than as Arrow data."""
    with _lock:
        cursor = _database().cursor()
    try:
        with _translated():
            # Moved to other rows than it was written for, an expression could fail where it doesn't in Spark.
            cursor.execute("PRAGMA disable_optimizer")
            for name, table in relations.items():
                cursor.register(name, table)
            cursor.execute(text)
            names = [column[0] for column in cursor.description]
            kinds = [_arrow_type(column[1]) for column in cursor.description]
            rows = cursor.fetchall()
    finally:
        cursor.close()
    values = list(zip(*rows, strict=True)) if rows else [()] * len(kinds)
    arrays = [_column(column, kind) for column, kind in zip(values, kinds, strict=True)]
    return pa.Table.from_arrays(arrays, names=names)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _translated() -> Iterator[None]:
    """DuckDB's errors as ours, of the kind that Spark's become."""
    try:
        yield
    except duckdb.Error as error:
        raise _ours(error) from error


def _ours(error: duckdb.Error) -> AnabranchError:
    detail = str(error).partition("\n")[0][:600]
    match error:
        case duckdb.ParserException():
            return SqlSyntax("DuckDB can't read the statement", detail=detail)
        case duckdb.ConversionException() | duckdb.OutOfRangeException():
            return InvalidValue("a value doesn't fit", detail=detail)
        case duckdb.BinderException() | duckdb.CatalogException() | duckdb.NotImplementedException():
            return InvalidQuery("DuckDB refuses the statement", detail=detail)
        case _:
            return EngineFailed("DuckDB failed", detail=detail)
