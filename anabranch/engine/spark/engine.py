"""The engine on Spark: reads Parquet files, runs statements, writes Parquet files.

All of it also works over Spark Connect: no JVM objects, no RDDs, no SparkContext.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    IntegerType,
    LongType,
    NullType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from anabranch.engine.base import FileWithDeletes, Frame, ReadPositions, check_column_count
from anabranch.engine.render.dialect import SPARK
from anabranch.engine.spark.error_translation import translate_errors
from anabranch.engine.spark.expressions import (
    NOT_NULL_MARK,
    PICK,
    nested_null_condition,
    new_value_columns,
    pick_new_value,
    quote_name,
)
from anabranch.engine.spark.scan_files import FileScanner
from anabranch.engine.spark.schemas import check_storable, field_id_metadata, spark_schema
from anabranch.engine.spark.session import configure_session, start_session
from anabranch.errors import (
    UnknownColumn,
)
from anabranch.events import Observer
from anabranch.names import FILE, POSITION, WEIGHT
from anabranch.schema import Schema, Type

INSERT, DELETE, UPDATE = 1, 2, 3
CONSTRAINTS, LOST_COLUMN = "spark.sql.constraintPropagation.enabled", "key not found"
_ACTION = "__action"

# Types that a round trip through Arrow keeps.
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
        self._files = FileScanner(lambda: self.session)

    @property
    def statements(self) -> int:
        """How many statements Spark has run for this lake."""
        return self._statements

    def _count_statement(self) -> None:
        with self._lock:
            self._statements += 1

    @property
    def session(self) -> SparkSession:
        """The session, started and set up."""
        with self._lock:
            if self._ready is None:
                session, self._own = (self._given, False) if self._given is not None else self._start()
                configure_session(session, self._zone, warn=self._given is not None)
                self._ready = session
            return self._ready

    @property
    def is_started(self) -> bool:
        """Whether anything has needed Spark yet."""
        return self._ready is not None

    def _start(self) -> tuple[SparkSession, bool]:
        """A session, and whether it is this engine's own."""
        active = SparkSession.getActiveSession()
        if active is not None:
            return active, False
        return start_session(self._options, self._observer), True

    def stop(self) -> None:
        """Stop the session if this engine started it."""
        with self._lock:
            if self._own and self._ready is not None:
                self._ready.stop()
            self._ready = None
            self._own = False
        self._files.forget()

    # -- frames -------------------------------------------------------------------------------

    def is_own_frame(self, value: object) -> bool:
        """Whether a value is a Spark DataFrame, classic or Connect."""
        return isinstance(value, DataFrame)

    def schema_of(self, frame: Frame, *, hidden: bool = False) -> Schema:
        """The schema of a frame; unnamed or unsupported columns are errors."""
        with translate_errors():
            return Schema.from_json(frame.schema.jsonValue(), hidden=hidden)

    def types_of(self, frame: Frame) -> Mapping[str, str]:
        """The types of a frame's columns, as Spark names them."""
        with translate_errors():
            return {field.name: field.dataType.simpleString() for field in frame.schema.fields}

    def _collect_without_constraints(self, frame: DataFrame) -> pa.Table:
        """The rows of a frame, optimised without what Spark infers of rows.

        Rewriting that for a union, it may look for a column that only a subquery inside had.
        """
        before = self.session.conf.get(CONSTRAINTS) or "true"
        self.session.conf.set(CONSTRAINTS, "false")
        try:
            return frame.select("*").toArrow()
        finally:
            self.session.conf.set(CONSTRAINTS, before)

    def from_arrow(self, table: Any, like: Frame | None = None) -> Frame:
        """Arrow data as a frame; `like`: in the types of another one, which it was collected from."""
        with translate_errors():
            naive = {f.name for f in table.schema if pa.types.is_timestamp(f.type) and f.type.tz is None}
            if like is not None:
                schema = like.schema
            elif naive or not table.num_rows:
                schema = self._infer_spark_schema(table, naive)
            else:
                schema = None
            return self.session.createDataFrame(table, schema)

    def _infer_spark_schema(self, table: Any, naive: set[str]) -> StructType:
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

    def collect(self, frame: Frame) -> Any | None:
        """The rows of a frame as Arrow data, computed now; None if they are too many, or Arrow would
        change their types."""
        with translate_errors():
            if not all(isinstance(field.dataType, _HELD) for field in frame.schema.fields):
                return None
            self._count_statement()
            try:
                return frame.toArrow()
            except (PySparkException, Py4JError) as error:
                if LOST_COLUMN in str(error):
                    return self._collect_without_constraints(frame)
                # More rows than estimated, and more than the driver accepts: Spark stops by itself.
                if "maxResultSize" not in str(error):
                    raise
                return None

    def scan(
        self,
        files: Sequence[FileWithDeletes],
        schema: Schema,
        *,
        positions: bool = False,
        deleted: ReadPositions | None = None,
        all_deleted: ReadPositions | None = None,
        keep_as: str | None = None,
    ) -> Frame:
        """The rows of files; with `positions` also `__file` and `__position`."""
        if all_deleted is not None:
            return self._files.scan_without(files, schema, all_deleted)
        return self._files.scan(files, schema, positions=positions, deleted=deleted, keep_as=keep_as)

    def run_query(self, template: str, relations: Mapping[str, Frame]) -> Frame:
        """Run a statement in which `{placeholder}` stands for a relation."""
        with translate_errors():
            if not relations:
                return self.session.sql(template.replace("{{", "{").replace("}}", "}"))
            frame = self.session.sql(template, **relations)
            frame.schema  # noqa: B018  (Connect analyses only when asked; errors should be raised at once)
            return frame

    # -- changes ------------------------------------------------------------------------------

    def scan_changes(
        self,
        plus: Sequence[FileWithDeletes],
        minus: Sequence[FileWithDeletes],
        weighted: Sequence[str],
        schema: Schema,
    ) -> Frame:
        """The rows of files with their weight in `__weight`: +1, -1, or what change files say."""
        kind = StructType([*spark_schema(schema).fields, StructField(WEIGHT, LongType())])
        parts: list[DataFrame] = []
        for files, weight in ((plus, 1), (minus, -1)):
            if files:
                rows = self.scan(files, schema)
                parts.append(rows.select("*", F.lit(weight).cast("bigint").alias(WEIGHT)))
        if weighted:
            parts.append(self._files.read_parquet(weighted, kind))
        with translate_errors():
            return reduce(DataFrame.unionAll, parts) if parts else self._files.empty_frame(kind)

    def change_from_query(self, frame: Frame, schema: Schema, table: str) -> Frame:
        """A query's weighted rows (`__weight`; without it, each counts one) in a table's columns."""
        with translate_errors(table=table):
            weight = F.col(WEIGHT) if WEIGHT in frame.columns else F.lit(1)
            columns = [
                F.col(quote_name(field.name)).cast(field.dataType).alias(field.name)
                for field in spark_schema(schema).fields
            ]
            return frame.select(*columns, weight.cast("bigint").alias(WEIGHT))

    def change_from_actions(self, frame: Frame, schema: Schema, table: str) -> Frame:
        """From actions per row to weighted rows: an update is one deleted and one inserted row."""
        declared = spark_schema(schema)
        with translate_errors(table=table):
            given = {field.name: field for field in frame.schema.fields}
            names = [new_value_columns(i, given) for i in range(len(schema))]
            for column, candidates in zip(schema, names, strict=True):
                for name in candidates:
                    check_storable(given[name], column, table)
            wide = StructType(
                [
                    *declared.fields,
                    StructField(FILE, StringType()),
                    StructField(POSITION, LongType()),
                    StructField(_ACTION, IntegerType()),
                    *(
                        StructField(name, field.dataType)
                        for field, candidates in zip(declared.fields, names, strict=True)
                        for name in candidates
                    ),
                    *(StructField(name, IntegerType()) for name in given if name.startswith(PICK)),
                ]
            )
            typed = frame.to(wide)
            old = F.struct(
                *[F.col(quote_name(name)).alias(name) for name in schema.names],
                F.lit(-1).cast("bigint").alias(WEIGHT),
                F.col(FILE),
                F.col(POSITION),
            )
            new = F.struct(
                *[
                    self._check_not_null(
                        pick_new_value(i, names[i]), column.type, column.nullable, f"{table}.{column.name}"
                    ).alias(column.name)
                    for i, column in enumerate(schema)
                ],
                F.lit(1).cast("bigint").alias(WEIGHT),
                F.lit(None).cast("string").alias(FILE),
                F.lit(None).cast("bigint").alias(POSITION),
            )
            action = F.col(_ACTION)
            rows = (
                F.when(action == UPDATE, F.array(old, new))
                .when(action == DELETE, F.array(old))
                .otherwise(F.array(new))
            )
            return typed.select(F.explode(rows).alias("row")).select("row.*")

    # -- writing ------------------------------------------------------------------------------

    def conform(
        self, frame: Frame, schema: Schema, table: str, *, columns: Sequence[str] | None = None
    ) -> Frame:
        """A frame in a table's columns, under the rules of INSERT; NULLs in NOT NULL columns fail."""
        with translate_errors(table=table):
            if columns is not None:
                check_column_count(len(frame.columns), columns, schema, table)
                frame = frame.toDF(*columns)
            for name in frame.columns:
                if schema.find(name) is None:
                    raise UnknownColumn(
                        f'"{table}" has no column {ascii(name)[:60]}',
                        hint="its columns are " + ", ".join(schema.names[:20]) + ".",
                    )
            for field in frame.schema.fields:
                if (column := schema.find(field.name)) is not None:
                    check_storable(field, column, table)
            typed = frame.to(spark_schema(schema))
            return typed.select(
                *[
                    self._check_not_null(
                        F.col(quote_name(c.name)), c.type, c.nullable, f"{table}.{c.name}"
                    ).alias(c.name)
                    for c in schema
                ]
            )

    def _check_not_null(self, value: SparkColumn, kind: Type, nullable: bool, path: str) -> SparkColumn:
        conditions = [] if nullable else [value.isNull()]
        if (inside := nested_null_condition(value, kind)) is not None:
            conditions.append(inside)
        if not conditions:
            return value
        wrong = reduce(lambda a, b: a | b, conditions)
        return F.when(F.coalesce(wrong, F.lit(False)), F.raise_error(F.lit(NOT_NULL_MARK + path))).otherwise(
            value
        )

    def write(self, frame: Frame, folder: str, schema: Schema | None, field_ids: Mapping[str, int]) -> None:
        """Write a frame as Parquet files into a new folder (`schema` None: as it is)."""
        with translate_errors():
            if schema is not None:
                stored = spark_schema(schema, stored=True)
                frame = frame.select(
                    *[
                        F.col(quote_name(field.name))
                        .cast(field.dataType)
                        .alias(field.name, metadata=field_id_metadata(field_ids.get(field.name)))
                        for field in stored.fields
                    ]
                )
            self._count_statement()
            writer = frame.write.option("compression", "zstd")
            writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(folder)

    def materialise(self, frame: Frame, folder: str) -> Frame:
        """The rows of a frame, computed once: written to a new folder."""
        with translate_errors():
            # Parquet has no columns without a type.
            untyped = [f.name for f in frame.schema.fields if isinstance(f.dataType, NullType)]
            if untyped:  # over Connect, to add no columns is an error
                frame = frame.withColumns({name: F.col(quote_name(name)).cast("boolean") for name in untyped})
            self.write(frame, folder, None, {})
            read = self.session.read.schema(frame.schema).parquet(folder)
            return read.withColumns({name: F.lit(None) for name in untyped}) if untyped else read
