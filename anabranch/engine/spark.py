"""The Spark engine: the only file that imports pyspark, and only its public API.

Everything here also works over Spark Connect: no JVM objects, no RDDs, no SparkContext.
"""

from __future__ import annotations

import logging
import re
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from anabranch.engine.base import Checksum, Frame, Stored
from anabranch.engine.contract import CONTRACT, OWN_SESSION, QUIET_CONTRACT, UTC
from anabranch.engine.java import check_java
from anabranch.errors import (
    AnabranchError,
    EngineFailed,
    EngineMemory,
    InvalidQuery,
    InvalidValue,
    Notice,
    NullNotAllowed,
    SqlSyntax,
    UnknownColumn,
)
from anabranch.events import Event, Observer
from anabranch.paths import same_path
from anabranch.render.dialect import SPARK
from anabranch.schema import Array, Column, Map, Schema, Struct, Type, can_store, has_floats, has_map

INSERT, DELETE, UPDATE = 1, 2, 3
_WEIGHT, _FILE, _POSITION, _ACTION = "__weight", "__file", "__position", "__action"
_QUERY_WEIGHT = "__w"
_DELETED_IN, _DELETED_AT = "file_path", "pos"
_NUMBER, _PLACE = "__number", "__place"
_NEW, _PICK = "__new_", "__pick_"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_NOT_NULL_MARK = "anabranch NOT NULL: "

# Types that come back from Arrow as they went.
_HELD = (
    NumericType,
    StringType,
    BooleanType,
    BinaryType,
    DateType,
    TimestampType,
    TimestampNTZType,
    NullType,
)
_CHECKED = (ArrayType, MapType, StructType, BinaryType, TimeType, TimestampType, TimestampNTZType)
_BAD_VALUE = re.compile(
    r"^(CAST_|NUMERIC_|ARITHMETIC_OVERFLOW|INVALID_COLUMN_OR_FIELD_DATA_TYPE|DATETIME_OVERFLOW"
    r"|NULLABLE_COLUMN_OR_FIELD|INCOMPATIBLE_DATA)"
)


_NO_MEMORY = ("UNABLE_TO_ACQUIRE_MEMORY", "HASH_MAP_CANNOT_GROW", "AGGREGATE_OUT_OF_MEMORY")
_TOO_LARGE_TO_SEND = re.compile("Not enough memory to build and broadcast|Cannot broadcast the table")
"""It has no condition by which it could be told."""


class SparkEngine:
    """Runs on the session it is given, or starts a local one when it is first needed."""

    dialect = SPARK

    def __init__(
        self,
        session: SparkSession | None,
        *,
        zone: str,
        observer: Observer,
        options: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._given = session
        self._options = options
        self._zone = zone
        self._observer = observer
        self._lock = threading.Lock()
        self._ready: SparkSession | None = None
        self._own = False
        self._statements = 0

    @property
    def statements(self) -> int:
        """How many statements Spark has run for this lake."""
        return self._statements

    def _count(self) -> None:
        with self._lock:
            self._statements += 1

    @property
    def session(self) -> SparkSession:
        """The session, started and set up."""
        with self._lock:
            if self._ready is None:
                self._ready = self._prepared(self._given or self._start())
            return self._ready

    @property
    def started(self) -> bool:
        """Whether anything has needed Spark yet."""
        return self._ready is not None

    def _start(self) -> SparkSession:
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        check_java()
        self._observer(Event("spark_starting"))
        builder = SparkSession.builder.appName("anabranch").master("local[*]")
        quiet = Path(str(resources.files("anabranch.engine") / "log4j2.properties")).as_uri()
        given = self._options.get(_JAVA_OPTIONS, "")
        options = {
            **OWN_SESSION,
            "spark.sql.warehouse.dir": tempfile.gettempdir() + "/anabranch-spark",
            **self._options,
            _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={quiet} {given}".strip(),
        }
        for key, value in options.items():
            builder = builder.config(key, value)
        with translated():
            session = builder.getOrCreate()
        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._own = True
        self._observer(Event("spark_started"))
        return session

    def _prepared(self, session: SparkSession) -> SparkSession:
        changed = []
        with translated():
            for key, value in {**CONTRACT, **QUIET_CONTRACT}.items():
                if session.conf.get(key) != value:
                    session.conf.set(key, value)
                    changed.append(key)
            zone = session.conf.get("spark.sql.session.timeZone")
            if zone != self._zone and not ({zone, self._zone} <= UTC):
                session.conf.set("spark.sql.session.timeZone", self._zone)
                changed.append("spark.sql.session.timeZone")
        told = [key for key in changed if key not in QUIET_CONTRACT]
        if self._given is not None and told:
            warnings.warn(
                Notice(
                    "set on the Spark session, because they decide what a query means: " + ", ".join(told)
                ),
                stacklevel=2,
            )
        return session

    def stop(self) -> None:
        """End the session if it was started here."""
        with self._lock:
            if self._own and self._ready is not None:
                self._ready.stop()
            self._ready = None
            self._own = False

    # -- frames -------------------------------------------------------------------------------

    def owns(self, value: object) -> bool:
        """Whether a value is a Spark DataFrame, classic or Connect."""
        return isinstance(value, DataFrame)

    def schema_of(self, frame: Frame, *, hidden: bool = False) -> Schema:
        """The schema of a frame; unnamed or unsupported columns are errors."""
        with translated():
            return Schema.from_json(frame.schema.jsonValue(), hidden=hidden)

    def types_of(self, frame: Frame) -> Mapping[str, str]:
        """The types of a frame's columns, as Spark names them."""
        with translated():
            return {field.name: field.dataType.simpleString() for field in frame.schema.fields}

    def checksum(self, frame: Frame, schema: Schema) -> Checksum:
        """How many rows a frame has, and a number that is the same for the same rows in any order.

        Floating point is left out: what is added up in another order differs in the last digits.
        """
        with translated():
            exact = [_comparable(F.col(_quoted(c.name)), c.type) for c in schema if not has_floats(c.type)]
            hashed = F.xxhash64(*exact) if exact else F.lit(0)
            total = F.sum(hashed.cast("decimal(38,0)")).cast("string")
            self._count()
            row = frame.agg(F.count(F.lit(1)).alias("n"), total.alias("s")).collect()[0]
            return Checksum(row["n"], row["s"])

    def difference(self, left: Frame, right: Frame, schema: Schema) -> tuple[int, int]:
        """How many rows, as bags, are only in the left frame, and how many only in the right."""
        with translated():
            names = self._columns(schema)
            weighted = [
                frame.select(*names, F.lit(weight).cast("bigint").alias(_WEIGHT))
                for frame, weight in ((left, 1), (right, -1))
            ]
            net = self._net(weighted[0].unionAll(weighted[1]), schema, _WEIGHT)
            weight = F.col(_WEIGHT)
            self._count()
            row = net.agg(
                F.sum(F.when(weight > 0, weight)).alias("l"), F.sum(F.when(weight < 0, -weight)).alias("r")
            ).collect()[0]
            return row["l"] or 0, row["r"] or 0

    def from_arrow(self, table: Any, like: Frame | None = None) -> Frame:
        """Arrow data as a frame; `like`: in the types of another one, which it was collected from."""
        with translated():
            naive = {f.name for f in table.schema if pa.types.is_timestamp(f.type) and f.type.tz is None}
            if like is not None:
                schema = like.schema
            elif naive or not table.num_rows:
                schema = self._taken_as(table, naive)
            else:
                schema = None
            return self.session.createDataFrame(table, schema)

    def _taken_as(self, table: Any, naive: set[str]) -> StructType:
        """The types that Spark takes Arrow data for.

        Left to itself, it takes a timestamp without a zone for one in the session's; and over Connect it
        knows no types without rows.
        """
        row = pa.table([pa.nulls(1, field.type) for field in table.schema], names=table.column_names)
        return StructType(
            [
                StructField(field.name, TimestampNTZType()) if field.name in naive else field
                for field in self.session.createDataFrame(row).schema.fields
            ]
        )

    def collected(self, frame: Frame) -> Any | None:
        """The rows of a frame as Arrow data, computed now; None if they are too many, or wouldn't come back
        as they went."""
        with translated():
            if not all(isinstance(field.dataType, _HELD) for field in frame.schema.fields):
                return None
            self._count()
            try:
                return frame.toArrow()
            except PySparkException as error:
                # More than was thought, and more than a driver takes: Spark stops it by itself.
                if "maxResultSize" not in str(error):
                    raise
                return None

    def scan(self, files: Sequence[Stored], schema: Schema, *, positions: bool = False) -> Frame:
        """The rows of files; with `positions` also `__file` and `__position`."""
        whole = [file.path for file in files if not file.deletes]
        if len(whole) == len(files):
            return self._scan(whole, schema, positions=positions)
        with translated():
            marked: dict[tuple[str, ...], list[str]] = {}
            for file in files:
                if file.deletes:
                    marked.setdefault(file.deletes, []).append(file.path)
            parts = [self._scan(whole, schema, positions=positions)] if whole else []
            parts += [
                self._unmarked(paths, deletes, schema, positions=positions)
                for deletes, paths in marked.items()
            ]
            return reduce(DataFrame.unionAll, parts)

    def _unmarked(
        self, paths: Sequence[str], deletes: Sequence[str], schema: Schema, *, positions: bool
    ) -> DataFrame:
        """The rows of files that delete files don't mark.

        There are few marks beside the rows: they are sent to where the rows are. A row is looked up by its
        position alone, and only where that is marked in some file it matters in which: so that part must
        not be an equation, or Spark would look up both. Should it show a path that nobody asked for, a
        marked row would come back; then it fails.
        """
        rows = self._scan(paths, schema, positions=True)
        numbers = {path: number for number, path in enumerate(sorted(paths))}
        known = pa.table({_DELETED_IN: list(numbers), _NUMBER: pa.array(numbers.values(), pa.int64())})
        kind = StructType([StructField(_DELETED_IN, StringType()), StructField(_DELETED_AT, LongType())])
        marks = self._parquet(deletes, kind).join(F.broadcast(self.from_arrow(known)), _DELETED_IN)
        marks = marks.select(_NUMBER, F.col(_DELETED_AT).alias(_PLACE))
        shown = [
            (spelling, numbers[same_path(path)])
            for path in rows.inputFiles()
            for spelling in _spellings(path)
            if same_path(path) in numbers
        ]
        unknown = F.raise_error(F.concat(F.lit("a file that was not asked for: "), F.col(_FILE)))
        spelled = F.create_map(*[F.lit(part) for pair in sorted(shown) for part in pair])
        number = F.coalesce(F.try_element_at(spelled, F.col(_FILE)), unknown.cast("int"))
        same_file = (number <= F.col(_NUMBER)) & (number >= F.col(_NUMBER))
        same_row = (F.col(_POSITION) == F.col(_PLACE)) & same_file
        kept = rows.join(F.broadcast(marks), same_row, "left_anti")
        return kept if positions else kept.select(*self._columns(schema))

    def _scan(self, paths: Sequence[str], schema: Schema, *, positions: bool) -> DataFrame:
        frame = self._parquet(paths, spark_schema(schema))
        if not positions:
            return frame
        if not paths:
            return frame.withColumns(
                {_FILE: F.lit(None).cast("string"), _POSITION: F.lit(None).cast("bigint")}
            )
        return frame.select(
            *[F.col(_quoted(name)) for name in schema.names],
            F.col("_metadata.file_path").alias(_FILE),
            F.col("_metadata.row_index").alias(_POSITION),
        )

    def _columns(self, schema: Schema) -> list[SparkColumn]:
        self.session  # noqa: B018  (classic Spark can't name a column before it runs)
        return [F.col(_quoted(name)) for name in schema.names]

    def _parquet(self, paths: Sequence[str], schema: StructType) -> DataFrame:
        with translated():
            if not paths:
                return self._nothing(schema)
            return self.session.read.schema(schema).parquet(*paths)

    def _nothing(self, schema: StructType) -> DataFrame:
        """No rows, and Spark sees it: what is joined to them needn't be read. No worker starts, either."""
        session = self.session  # before any column: without one there are none
        columns = [F.lit(None).cast(field.dataType).alias(field.name) for field in schema.fields]
        return session.range(0).select(*columns).filter(F.lit(False))

    def query(self, template: str, relations: Mapping[str, Frame]) -> Frame:
        """Run a statement in which `{placeholder}` stands for a relation."""
        with translated():
            if not relations:
                return self.session.sql(template.replace("{{", "{").replace("}}", "}"))
            frame = self.session.sql(template, **relations)
            frame.schema  # noqa: B018  (Connect analyses only when asked; errors belong here)
            return frame

    # -- changes ------------------------------------------------------------------------------

    def weighted(
        self, plus: Sequence[Stored], minus: Sequence[Stored], weighted: Sequence[str], schema: Schema
    ) -> Frame:
        """Rows with their net weight in `_weight`, none of it zero: equal rows are added up."""
        return self._net(self._together(plus, minus, weighted, schema, "_weight"), schema, "_weight")

    def change(
        self, plus: Sequence[Stored], minus: Sequence[Stored], weighted: Sequence[str], schema: Schema
    ) -> Frame:
        """The same rows with their weight in `__weight`; added up only where some may cancel."""
        together = self._together(plus, minus, weighted, schema, _WEIGHT)
        return self._net(together, schema, _WEIGHT) if minus or weighted else together

    def _together(
        self,
        plus: Sequence[Stored],
        minus: Sequence[Stored],
        weighted: Sequence[str],
        schema: Schema,
        name: str,
    ) -> DataFrame:
        names = self._columns(schema)
        parts: list[DataFrame] = []
        for files, weight in ((plus, 1), (minus, -1)):
            if files:
                rows = self.scan(files, schema)
                parts.append(rows.select(*names, F.lit(weight).cast("bigint").alias(name)))
        if weighted:
            parts.append(self._changes(weighted, schema).select(*names, F.col(_WEIGHT).alias(name)))
        with translated():
            if not parts:
                fields = [*spark_schema(schema).fields, StructField(name, LongType())]
                return self._nothing(StructType(fields))
            return reduce(DataFrame.unionAll, parts)

    def _net(self, rows: DataFrame, schema: Schema, name: str) -> DataFrame:
        with translated():
            total = F.sum(name).alias(name)
            maps = [column for column in schema if has_map(column.type)]
            if not maps:
                net = rows.groupBy(*self._columns(schema)).agg(total)
            else:
                # Grouped by a map, Spark makes zeros of the NULLs in it (its sorting of maps does).
                keys = [
                    _comparable(F.col(_quoted(c.name)), c.type).alias(f"__key_{i}")
                    for i, c in enumerate(schema)
                ]
                firsts = [F.first(F.col(_quoted(c.name))).alias(c.name) for c in schema]
                net = rows.groupBy(*keys).agg(*firsts, total).select(*schema.names, name)
            return net.filter(F.col(name) != 0)

    def to_change(self, frame: Frame, schema: Schema, table: str) -> Frame:
        """A query's weighted rows (`__w`; without it, each counts one) in a table's columns."""
        with translated(table=table, schema=schema):
            weight = F.col(_QUERY_WEIGHT) if _QUERY_WEIGHT in frame.columns else F.lit(1)
            columns = [
                F.col(_quoted(field.name)).cast(field.dataType).alias(field.name)
                for field in spark_schema(schema).fields
            ]
            return frame.select(*columns, weight.cast("bigint").alias(_WEIGHT))

    def located(self, changes: Sequence[str], live: Sequence[Stored], schema: Schema) -> Frame:
        """File and position of the stored rows that change files take away.

        Of equal rows as many as the weight says. The change is small beside what is stored: it is
        sent to where the rows are.
        """
        with translated():
            names = self._columns(schema)
            keys = [f"__key_{place}" for place in range(len(schema))]
            shown = [_comparable(F.col(_quoted(c.name)), c.type) for c in schema]
            aliased = [value.alias(key) for value, key in zip(shown, keys, strict=True)]
            gone = self._changes(changes, schema).filter(F.col(_WEIGHT) < 0).select(*names, _WEIGHT)
            gone = gone.select(
                *[value.alias(f"{key}_") for value, key in zip(shown, keys, strict=True)], _WEIGHT
            )
            rows = self.scan(live, schema, positions=True).select(*aliased, _FILE, _POSITION)
            same = reduce(lambda a, b: a & b, (F.col(key).eqNullSafe(F.col(f"{key}_")) for key in keys))
            found = rows.join(F.broadcast(gone), same, "inner")
            order = Window.partitionBy(*keys).orderBy(_FILE, _POSITION)
            numbered = found.select(
                _FILE, _POSITION, _WEIGHT, F.row_number().over(order).cast("bigint").alias("__number")
            )
            return numbered.filter(F.col("__number") <= -F.col(_WEIGHT)).select(_FILE, _POSITION)

    def matchable(self, stored: Frame, incoming: Frame, keys: Sequence[str]) -> Frame:
        """The stored rows that agree in all keys with a row of a small frame, which is sent to them.

        An upsert keeps its incoming rows whether or not they match. Spark can't send the kept side of such
        a join around, and would bring all stored rows together instead.
        """
        with translated():
            names = [f"__key_{place}" for place in range(len(keys))]
            wanted = incoming.select(
                *[F.col(_quoted(key)).alias(name) for key, name in zip(keys, names, strict=True)]
            )
            same = [F.col(_quoted(key)) == F.col(name) for key, name in zip(keys, names, strict=True)]
            return stored.join(F.broadcast(wanted), reduce(lambda a, b: a & b, same), "left_semi")

    def spelled(self, weighted: Frame) -> Frame:
        """The same for people: `_change_type` says insert or delete, a row per occurrence."""
        with translated():
            times = F.explode(F.sequence(F.lit(1), F.abs(F.col("_weight")).cast("int"))).alias("__time")
            kind = F.when(F.col("_weight") > 0, F.lit("insert")).otherwise(F.lit("delete"))
            return weighted.withColumn("_change_type", kind).select("*", times).drop("_weight", "__time")

    def _changes(self, paths: Sequence[str], schema: Schema) -> DataFrame:
        hidden = [
            StructField(_WEIGHT, LongType()),
            StructField(_FILE, StringType()),
            StructField(_POSITION, LongType()),
        ]
        return self._parquet(paths, StructType([*spark_schema(schema).fields, *hidden]))

    def row_changes(self, frame: Frame, schema: Schema, table: str) -> Frame:
        """From actions per row to weighted rows: an update is one row out and one row in."""
        declared = spark_schema(schema)
        with translated(table=table, schema=schema):
            given = {field.name: field for field in frame.schema.fields}
            names = [_candidates(i, given) for i in range(len(schema))]
            for column, candidates in zip(schema, names, strict=True):
                for name in candidates:
                    _check_storable(given[name], column, table)
            wide = StructType(
                [
                    *declared.fields,
                    StructField(_FILE, StringType()),
                    StructField(_POSITION, LongType()),
                    StructField(_ACTION, IntegerType()),
                    *(
                        StructField(name, field.dataType)
                        for field, candidates in zip(declared.fields, names, strict=True)
                        for name in candidates
                    ),
                    *(StructField(name, IntegerType()) for name in given if name.startswith(_PICK)),
                ]
            )
            typed = frame.to(wide)
            old = F.struct(
                *[F.col(_quoted(name)).alias(name) for name in schema.names],
                F.lit(-1).cast("bigint").alias(_WEIGHT),
                F.col(_FILE),
                F.col(_POSITION),
            )
            new = F.struct(
                *[
                    self._not_null(
                        _picked(i, names[i]), column.type, column.nullable, f"{table}.{column.name}"
                    ).alias(column.name)
                    for i, column in enumerate(schema)
                ],
                F.lit(1).cast("bigint").alias(_WEIGHT),
                F.lit(None).cast("string").alias(_FILE),
                F.lit(None).cast("bigint").alias(_POSITION),
            )
            action = F.col(_ACTION)
            rows = (
                F.when(action == UPDATE, F.array(old, new))
                .when(action == DELETE, F.array(old))
                .otherwise(F.array(new))
            )
            return typed.select(F.explode(rows).alias("row")).select("row.*")

    def rewritten(
        self, touched: Sequence[Stored], changes: Sequence[str], gone: Sequence[str], schema: Schema
    ) -> Frame:
        """The rows of touched files but those at the positions in `gone`, and those that changes add."""
        names = self._columns(schema)
        with translated():
            if not changes:
                return self.scan(touched, schema)
            come = self._changes(changes, schema).filter(F.col(_WEIGHT) > 0)
            times = F.explode(F.sequence(F.lit(1), F.col(_WEIGHT).cast("int"))).alias("__time")
            added = come.select(*names, times).select(*names)
            if not touched:
                return added
            taken = self._changes(gone, schema).filter(F.col(_FILE).isNotNull()).select(_FILE, _POSITION)
            rows = self.scan(touched, schema, positions=True)
            kept = rows.join(taken, [_FILE, _POSITION], "left_anti").select(*names)
            return added.unionAll(kept)

    # -- writing ------------------------------------------------------------------------------

    def conform(self, frame: Frame, schema: Schema, table: str, *, by_position: bool = False) -> Frame:
        """A frame in a table's columns, under the rules of INSERT; NULLs in NOT NULL columns fail."""
        with translated(table=table, schema=schema):
            if by_position:
                if len(frame.columns) != len(schema):
                    raise InvalidQuery(
                        f'"{table}" has {len(schema)} columns, the query gives {len(frame.columns)}'
                    )
                frame = frame.toDF(*schema.names)
            for name in frame.columns:
                if schema.find(name) is None:
                    raise UnknownColumn(
                        f'"{table}" has no column {ascii(name)[:60]}',
                        hint="its columns are " + ", ".join(schema.names[:20]) + ".",
                    )
            for field in frame.schema.fields:
                if (column := schema.find(field.name)) is not None:
                    _check_storable(field, column, table)
            typed = frame.to(spark_schema(schema))
            return typed.select(
                *[
                    self._not_null(F.col(_quoted(c.name)), c.type, c.nullable, f"{table}.{c.name}").alias(
                        c.name
                    )
                    for c in schema
                ]
            )

    def renamed(self, frame: Frame, columns: Sequence[str], table: str) -> Frame:
        """A frame whose columns get these names, in order."""
        with translated():
            if len(frame.columns) != len(columns):
                raise InvalidQuery(
                    f'{len(columns)} columns of "{table}" are named, the query gives {len(frame.columns)}'
                )
            return frame.toDF(*columns)

    def _not_null(self, value: SparkColumn, kind: Type, nullable: bool, path: str) -> SparkColumn:
        conditions = [] if nullable else [value.isNull()]
        if (inside := _null_inside(value, kind)) is not None:
            conditions.append(inside)
        if not conditions:
            return value
        wrong = reduce(lambda a, b: a | b, conditions)
        return F.when(F.coalesce(wrong, F.lit(False)), F.raise_error(F.lit(_NOT_NULL_MARK + path))).otherwise(
            value
        )

    def write(self, frame: Frame, folder: str, schema: Schema | None, field_ids: Mapping[str, int]) -> None:
        """Write a frame as Parquet files into a new folder (`schema` None: as it is)."""
        with translated(schema=schema):
            if schema is not None:
                stored = spark_schema(schema, stored=True)
                frame = frame.select(
                    *[
                        F.col(_quoted(field.name))
                        .cast(field.dataType)
                        .alias(field.name, metadata=_id_metadata(field_ids.get(field.name)))
                        for field in stored.fields
                    ]
                )
            self._count()
            writer = frame.write.option("compression", "zstd")
            writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(folder)

    def kept(self, frame: Frame, folder: str, *, few: bool) -> Frame:
        """The rows of a frame, computed once: held here if they are few, else written to a new folder."""
        with translated():
            if few and (held := self.collected(frame)) is not None:
                return self.from_arrow(held, frame)
            # Files know no columns without a type.
            untyped = {f.name for f in frame.schema.fields if isinstance(f.dataType, NullType)}
            written = frame.withColumns({name: F.col(_quoted(name)).cast("boolean") for name in untyped})
            self.write(written, folder, None, {})
            read = self.session.read.schema(written.schema).parquet(folder)
            return read.withColumns({name: F.lit(None) for name in untyped})


def spark_schema(schema: Schema, *, stored: bool = False) -> StructType:
    """Spark's schema, everything nullable; `stored`: in the types that Parquet files hold."""
    declared = StructType.fromJson(schema.to_json())
    return StructType(
        [StructField(field.name, _loose(field.dataType, stored), True) for field in declared.fields]
    )


def _loose(kind: DataType, stored: bool) -> DataType:
    if isinstance(kind, ArrayType):
        return ArrayType(_loose(kind.elementType, stored), True)
    if isinstance(kind, MapType):
        return MapType(_loose(kind.keyType, stored), _loose(kind.valueType, stored), True)
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, _loose(f.dataType, stored), True) for f in kind.fields])
    if stored and kind.simpleString() in ("tinyint", "smallint"):
        return IntegerType()
    return kind


def _candidates(i: int, given: Mapping[str, StructField]) -> list[str]:
    """The columns that hold the new value of column i: one, or several of which a number picks one."""
    if f"{_PICK}{i}" not in given:
        return [f"{_NEW}{i}"]
    return [name for name in given if name.startswith(f"{_NEW}{i}_")]


def _picked(i: int, candidates: Sequence[str]) -> SparkColumn:
    first, *others = (F.col(name) for name in candidates)
    if not others:
        return first
    chosen = F.when(F.col(f"{_PICK}{i}") == 0, first)
    return reduce(
        lambda so_far, k: so_far.when(F.col(f"{_PICK}{i}") == k, others[k - 1]),
        range(1, len(candidates)),
        chosen,
    )


def _check_storable(field: StructField, column: Column, table: str) -> None:
    """Refuse what Spark would store by dropping nested fields, taking bytes for text or today for a date."""
    kind = field.dataType
    if not isinstance(kind, _CHECKED) or "void" in kind.simpleString():
        return
    given = Schema.from_json(StructType([StructField("value", kind)]).jsonValue()).columns[0].type
    if not can_store(given, column.type):
        raise InvalidValue(
            f'a value doesn\'t fit "{table}.{column.name}" {column.type}', detail=f"the values are {given}."
        )


def _id_metadata(field_id: int | None) -> dict[str, Any]:
    return {} if field_id is None else {"parquet.field.id": field_id}


def _null_inside(value: SparkColumn, kind: Type) -> SparkColumn | None:
    """Whether a nested NOT NULL part is NULL; None if the type has no such part."""
    conditions: list[SparkColumn] = []
    match kind:
        case Struct(fields):
            for field in fields:
                inner = value.getField(field.name)
                if not field.nullable:
                    conditions.append(value.isNotNull() & inner.isNull())
                if (deeper := _null_inside(inner, field.type)) is not None:
                    conditions.append(deeper)
        case Array(element, nullable) | Map(_, element, nullable):
            items = F.map_values(value) if isinstance(kind, Map) else value
            if not nullable:
                conditions.append(F.exists(items, lambda item: item.isNull()))
            if _null_inside(F.lit(None), element) is not None:
                conditions.append(F.exists(items, lambda item: _null_inside(item, element)))  # type: ignore[arg-type, return-value]
        case _:
            return None
    return reduce(lambda a, b: a | b, conditions) if conditions else None


def _comparable(value: SparkColumn, kind: Type) -> SparkColumn:
    """A value that can be compared: Spark compares everything but maps, which are sorted lists then."""
    match kind:
        case Map(_, element, _):
            keys = F.array_sort(F.map_keys(value))
            return F.transform(keys, lambda key: F.struct(key, _comparable(value[key], element)))
        case Array(element, _) if has_map(element):
            return F.transform(value, lambda item: _comparable(item, element))
        case Struct(fields) if has_map(kind):
            inner = F.struct(*[_comparable(value.getField(f.name), f.type).alias(f.name) for f in fields])
            return F.when(value.isNotNull(), inner)
        case _:
            return value


def _spellings(path: str) -> set[str]:
    """How Spark may show a path: it has one form in a list of files and another one in a row."""
    if not path.startswith("file:/"):
        return {path}
    inner = path.removeprefix("file:").lstrip("/")
    return {f"file:/{inner}", f"file:///{inner}"}


def _quoted(name: str) -> str:
    """A column reference by name alone: a dot or a backtick in it is not syntax."""
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def translated(table: str | None = None, schema: Schema | None = None) -> Iterator[None]:
    """Spark's errors as ours: code, one line, detail; the cause stays attached."""
    try:
        yield
    except AnabranchError:
        raise
    except (PySparkException, Py4JError) as error:
        # What classic Spark knows no class for comes as Java's own exception.
        raise _translate(error, table) from error


def _translate(error: PySparkException | Py4JError, table: str | None) -> AnabranchError:
    message = _message(error)
    condition = (error.getCondition() if isinstance(error, PySparkException) else None) or ""
    condition = condition or _condition_in(message) or ""
    if _NOT_NULL_MARK in message:
        path = message.split(_NOT_NULL_MARK, 1)[1].split()[0].strip("'\".;")
        return NullNotAllowed(f'"{path}" is NOT NULL', detail="a row has no value there.")
    if isinstance(error, ParseException):
        return SqlSyntax("Spark can't read the statement", detail=message)
    if _BAD_VALUE.match(condition):
        where = f' "{table}"' if table else ""
        return InvalidValue(f"a value doesn't fit{where}", detail=message)
    if isinstance(error, AnalysisException):
        return InvalidQuery("Spark refuses the statement", detail=message)
    if condition in _NO_MEMORY or _TOO_LARGE_TO_SEND.search(str(error)):
        return EngineMemory("a task of Spark's ran out of memory", detail=message)
    return EngineFailed("Spark failed", detail=message)


def _message(error: PySparkException | Py4JError) -> str:
    text = str((error.getMessage() if isinstance(error, PySparkException) else None) or error)
    found = re.search(r"\[[A-Z][A-Z0-9_.]+\][^\n]*", text)
    if found is not None:
        line = found.group(0)
    else:
        # What Java threw in a thread of its own says in its first line only where that was noticed.
        causes = re.findall(r"^Caused by: [\w.$]+: ([^\n]+)", text, re.MULTILINE)
        line = causes[-1] if causes else text.strip().partition("\n")[0]
    return line[:600]


def _condition_in(message: str) -> str | None:
    found = re.match(r"\[([A-Z][A-Z0-9_.]+)\]", message)
    return found.group(1) if found else None
