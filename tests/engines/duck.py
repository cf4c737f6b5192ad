"""An engine for tests: DuckDB runs the statements, Arrow reads and writes the files, at once and in memory.

What Spark takes seconds for takes milliseconds here, on the same lake, with the same refreshes. Not for tests
of what a query means: only Spark says that. A lake is made and read by one kind of engine, since types of
results differ (`sum(DECIMAL(12,2))` is a DECIMAL(38,2) here).
"""

from __future__ import annotations

import threading
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

from anabranch.engine.base import FileWithDeletes, ReadPositions, check_column_count
from anabranch.engine.render.dialect import DUCKDB, Dialect
from anabranch.errors import AnabranchError, EngineFailed, InvalidQuery, InvalidValue, SqlSyntax
from anabranch.iceberg.input_rows import rows_to_arrow
from anabranch.iceberg.read_rows import to_declared_columns
from anabranch.iceberg.type_mapping import from_arrow, stored_arrow_schema, to_arrow, to_iceberg
from anabranch.names import FILE, HIDDEN_PREFIX, POSITION, WEIGHT
from anabranch.schema import Atomic, Column, Schema
from tests.engines.statements import MACROS, relation_name, statement

INSERT, DELETE, UPDATE = 1, 2, 3
_ACTION, _NEW, _PICK = "__action", "__new_", "__pick_"
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

    def __init__(self, *, zone: str = "UTC", dialect: Dialect = DUCKDB, optimise: bool = False) -> None:
        self._zone = zone
        self._dialect = dialect
        self._optimise = optimise
        self.statements = 0

    @property
    def dialect(self) -> Dialect:
        """The SQL in which it is handed plans."""
        return self._dialect

    def stop(self) -> None:
        """Nothing is held."""

    # -- frames -------------------------------------------------------------------------------

    def is_own_frame(self, value: object) -> bool:
        """Whether a value is a frame; Arrow data isn't: it goes the way it goes with Spark."""
        return isinstance(value, DuckFrame)

    def from_arrow(self, table: pa.Table, like: DuckFrame | None = None) -> DuckFrame:
        """Arrow data as a frame."""
        return DuckFrame(table)

    def collect(self, frame: DuckFrame) -> pa.Table:
        """The rows of a frame, which are computed already."""
        return frame.arrow

    def schema_of(self, frame: DuckFrame, *, hidden: bool = False) -> Schema:
        """The schema of a frame; all of it may be NULL."""
        return Schema(
            tuple(
                Column(
                    field.name, _declared_type(field), hidden=hidden and field.name.startswith(HIDDEN_PREFIX)
                )
                for field in frame.arrow.schema
            )
        )

    def types_of(self, frame: DuckFrame) -> Mapping[str, str]:
        """The types of a frame's columns, as Spark names them."""
        return {
            field.name: "void" if pa.types.is_null(field.type) else _spark_type_name(field)
            for field in frame.arrow.schema
        }

    def scan(
        self,
        files: Sequence[FileWithDeletes],
        schema: Schema,
        *,
        positions: bool = False,
        deleted: ReadPositions | None = None,
        all_deleted: ReadPositions | None = None,
        keep_as: str | None = None,
    ) -> DuckFrame:
        """The rows of files; with `positions` also `__file` and `__position`."""
        declared = to_arrow(schema)
        parts = [
            _add_positions(to_declared_columns(_read_parquet(file.path), declared), file.path)
            for file in files
        ]
        gone = [_read_deletes(file) if all_deleted is None else all_deleted(file) for file in files]
        parts = [_drop_positions(rows, places) for rows, places in zip(parts, gone, strict=True)]
        if not positions:
            parts = [rows.drop_columns([FILE, POSITION]) for rows in parts]
        else:
            declared = pa.schema([*declared, *(pa.field(*column) for column in _CHANGE[1:])])
        return DuckFrame(pa.concat_tables(parts) if parts else declared.empty_table())

    def run_query(self, template: str, relations: Mapping[str, DuckFrame]) -> DuckFrame:
        """Run a statement in which `{placeholder}` stands for a relation."""
        self.statements += 1
        text = statement(template, frozenset(relations))
        named = {relation_name(key): frame.arrow for key, frame in relations.items()}
        return DuckFrame(_run_statement(text, named, optimise=self._optimise))

    # -- changes ------------------------------------------------------------------------------

    def scan_changes(
        self,
        plus: Sequence[FileWithDeletes],
        minus: Sequence[FileWithDeletes],
        weighted: Sequence[str],
        schema: Schema,
    ) -> DuckFrame:
        """The rows of files with their weight in `__weight`: +1, -1, or what change files say."""
        parts = [
            _add_weight(self.scan(plus, schema).arrow, 1),
            _add_weight(self.scan(minus, schema).arrow, -1),
        ]
        parts.append(_read_change_files(weighted, schema).select([*schema.names, WEIGHT]))
        return DuckFrame(pa.concat_tables(parts))

    def change_from_query(self, frame: DuckFrame, schema: Schema, table: str) -> DuckFrame:
        """A query's weighted rows (`__weight`; without it, each counts one) in a table's columns."""
        rows = frame.arrow
        if WEIGHT in rows.column_names:
            weight = rows.column(WEIGHT).cast(pa.int64())
        else:
            weight = pa.array(np.ones(rows.num_rows, dtype=np.int64))
        fitting = rows_to_arrow(
            rows.select(schema.names), schema, zone=self._zone, table=table, incoming=True
        )
        return DuckFrame(fitting.append_column(WEIGHT, weight))

    def change_from_actions(self, frame: DuckFrame, schema: Schema, table: str) -> DuckFrame:
        """From actions per row to weighted rows: an update is one row out and one row in."""
        rows = frame.arrow
        goes = rows.filter(pc.is_in(rows.column(_ACTION), pa.array([DELETE, UPDATE], pa.int32())))
        comes = rows.filter(pc.is_in(rows.column(_ACTION), pa.array([INSERT, UPDATE], pa.int32())))
        old = to_declared_columns(goes, to_arrow(schema)).append_column(
            WEIGHT, pa.array(np.full(goes.num_rows, -1, dtype=np.int64))
        )
        for name in (FILE, POSITION):
            old = old.append_column(name, goes.column(name))
        values = [self._new_values(comes, i, column, table) for i, column in enumerate(schema)]
        new = pa.table(values, schema=to_arrow(schema))
        new = _add_weight(rows_to_arrow(new, schema, zone=self._zone, table=table), 1)
        for name, kind in _CHANGE[1:]:
            new = new.append_column(name, pa.nulls(new.num_rows, kind))
        return DuckFrame(_concat_rows([old, new]))

    def _new_values(self, rows: pa.Table, i: int, column: Column, table: str) -> pa.ChunkedArray:
        """The new values of a column: one candidate, or several of which a number picks one."""
        one = Schema((Column(column.name, column.type),))

        def cast_candidate(name: str) -> pa.ChunkedArray:
            given = pa.table([rows.column(name)], names=[column.name])
            return rows_to_arrow(given, one, zone=self._zone, table=table).column(0)

        if f"{_PICK}{i}" not in rows.column_names:
            return cast_candidate(f"{_NEW}{i}")
        candidates = [cast_candidate(name) for name in rows.column_names if name.startswith(f"{_NEW}{i}_")]
        return pc.choose(rows.column(f"{_PICK}{i}").cast(pa.int64()), *candidates)

    # -- writing ------------------------------------------------------------------------------

    def conform(
        self, frame: DuckFrame, schema: Schema, table: str, *, columns: Sequence[str] | None = None
    ) -> DuckFrame:
        """A frame in a table's columns, under the rules of INSERT; NULLs in NOT NULL columns fail."""
        rows = frame.arrow
        if columns is not None:
            check_column_count(rows.num_columns, columns, schema, table)
            rows = rows.rename_columns(list(columns))
        return DuckFrame(rows_to_arrow(rows, schema, zone=self._zone, table=table))

    def materialise(self, frame: DuckFrame, folder: str) -> DuckFrame:
        """The rows of a frame, which are computed already; they are written, so that they can be counted."""
        self.write(frame, folder, None, {})
        return frame

    def write(
        self, frame: DuckFrame, folder: str, schema: Schema | None, field_ids: Mapping[str, int]
    ) -> None:
        """Write a frame as one Parquet file into a new folder (`schema` None: as it is)."""
        rows = frame.arrow
        if schema is not None:
            rows = rows_to_arrow(rows.select(schema.names), schema, zone=self._zone, table="")
            stored = stored_arrow_schema(to_iceberg(schema))
            rows = rows.cast(
                pa.schema([_with_field_id(field, field_ids.get(field.name)) for field in stored])
            )
        place = Path(_local_path(folder))
        place.mkdir(parents=True)
        pq.write_table(rows, place / "part-0.parquet", compression="zstd", store_decimal_as_integer=True)


# -- files ----------------------------------------------------------------------------------------


def _local_path(uri: str) -> str:
    assert uri.startswith("file://"), "this engine works on local lakes only"
    return uri.removeprefix("file://")


def _read_parquet(path: str, columns: list[str] | None = None) -> pa.Table:
    try:
        with pa.OSFile(_local_path(path)) as stream:
            return pq.ParquetFile(stream).read(columns=columns, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise EngineFailed("DuckDB failed", detail=str(error).partition("\n")[0][:600]) from error


def _add_positions(rows: pa.Table, path: str) -> pa.Table:
    rows = rows.append_column(FILE, pa.array([path] * rows.num_rows, pa.string()))
    return rows.append_column(POSITION, pa.array(np.arange(rows.num_rows, dtype=np.int64)))


def _read_deletes(file: FileWithDeletes) -> Any:
    """The positions that a file's delete files list."""
    if not file.deletes:
        return []
    marks = pa.concat_tables([_read_parquet(path, ["file_path", "pos"]) for path in file.deletes])
    return marks.filter(pc.equal(marks["file_path"], file.path))["pos"].combine_chunks()


def _drop_positions(rows: pa.Table, gone: Any) -> pa.Table:
    if not len(gone):
        return rows
    return rows.filter(pc.invert(pc.is_in(rows[POSITION], pa.array(gone, pa.int64()))))


def _read_change_files(paths: Sequence[str], schema: Schema) -> pa.Table:
    declared = pa.schema([*to_arrow(schema), *(pa.field(*column) for column in _CHANGE)])
    parts = [to_declared_columns(_read_parquet(path), declared) for path in paths]
    return pa.concat_tables(parts) if parts else declared.empty_table()


def _with_field_id(field: pa.Field, field_id: int | None) -> pa.Field:
    return field.with_metadata(None if field_id is None else {"PARQUET:field_id": str(field_id)})


def _add_weight(rows: pa.Table, weight: int) -> pa.Table:
    return rows.append_column(WEIGHT, pa.array(np.full(rows.num_rows, weight, dtype=np.int64)))


def _concat_rows(parts: Sequence[pa.Table]) -> pa.Table:
    """Rows of tables whose types are the same but for what their lists call an element."""
    return pa.concat_tables([parts[0], *(part.cast(parts[0].schema) for part in parts[1:])])


# -- types ----------------------------------------------------------------------------------------


def _declared_type(field: pa.Field) -> Any:
    if pa.types.is_null(field.type):
        return Atomic("void")
    return from_arrow(pa.schema([pa.field("value", field.type)])).columns[0].type


def _spark_type_name(field: pa.Field) -> str:
    return str(_declared_type(field)).lower().replace(", ", ",").replace(": ", ":")


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


def _arrow_column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_nested(kind):
        values = [_convert_nested(value, kind) for value in values]
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise InvalidValue("a value doesn't fit", detail=str(error)) from error


def _convert_nested(value: Any, kind: pa.DataType) -> Any:
    """A value as Arrow takes it: a map as pairs."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        return [
            (_convert_nested(key, kind.key_type), _convert_nested(item, kind.item_type))
            for key, item in value.items()
        ]
    if pa.types.is_list(kind):
        return [_convert_nested(item, kind.value_type) for item in value]
    return {field.name: _convert_nested(value[field.name], field.type) for field in kind}


# -- DuckDB ---------------------------------------------------------------------------------------

_lock = threading.Lock()


@cache
def _open_database() -> duckdb.DuckDBPyConnection:
    """One empty database for all lakes of a process: statements read what they are given, nothing else."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    for macro in MACROS:
        connection.execute(macro)
    return connection


def _run_statement(text: str, relations: Mapping[str, pa.Table], *, optimise: bool = False) -> pa.Table:
    """A statement's rows. They are few: as Python values they are here sooner than as Arrow data."""
    with _lock:
        cursor = _open_database().cursor()
    try:
        with _translate_errors():
            # Moved to other rows than it was written for, an expression could fail where it doesn't in Spark.
            cursor.execute("PRAGMA enable_optimizer" if optimise else "PRAGMA disable_optimizer")
            for name, table in relations.items():
                cursor.register(name, table)
            cursor.execute(text)
            names = [column[0] for column in cursor.description]
            kinds = [_arrow_type(column[1]) for column in cursor.description]
            rows = cursor.fetchall()
    finally:
        cursor.close()
    values = list(zip(*rows, strict=True)) if rows else [()] * len(kinds)
    arrays = [_arrow_column(column, kind) for column, kind in zip(values, kinds, strict=True)]
    return pa.Table.from_arrays(arrays, names=names)


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _translate_errors() -> Iterator[None]:
    """DuckDB's errors as ours, of the kind that Spark's become."""
    try:
        yield
    except duckdb.Error as error:
        raise _to_anabranch_error(error) from error


def _to_anabranch_error(error: duckdb.Error) -> AnabranchError:
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
