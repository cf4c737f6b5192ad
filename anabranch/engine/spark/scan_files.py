"""Parquet files as frames, without the rows that position delete files list.

A tick reads the same version of a table in many statements. So the deleted positions are handed to Spark
once, and kept as a frame for as long as there is room. Frames of the files themselves are made anew: where
one stands twice in a statement, Spark's optimiser confuses its columns.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from anabranch.engine.base import FileWithDeletes, ReadPositions
from anabranch.engine.spark.error_translation import translate_errors
from anabranch.engine.spark.expressions import path_spellings
from anabranch.engine.spark.schemas import spark_schema
from anabranch.paths import normalise_path
from anabranch.schema import Schema

FILE, POSITION = "__file", "__position"
KEPT = 64
"""So many sets of position deletes are kept as frames."""
SENT_DELETES = 1_000_000
"""Up to so many deleted positions are sent to Spark as rows; of more, Spark reads the delete files itself."""
_DELETED_IN, _DELETED_AT = "file_path", "pos"
_NUMBER, _PLACE = "__number", "__place"


class FileScanner:
    """Makes frames of files."""

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, DataFrame] = OrderedDict()

    def scan(
        self,
        files: Sequence[FileWithDeletes],
        schema: Schema,
        *,
        positions: bool = False,
        deleted: ReadPositions | None = None,
    ) -> DataFrame:
        """The rows of files; with `positions` also `__file` and `__position`."""
        whole = [file.path for file in files if not file.deletes]
        by_deletes: dict[tuple[str, ...], list[FileWithDeletes]] = {}
        for file in files:
            if file.deletes:
                by_deletes.setdefault(file.deletes, []).append(file)
        with translate_errors():
            parts = [self._scan_paths(whole, schema, positions=positions)] if whole or not files else []
            for deletes, group in by_deletes.items():
                gone = self._keep(
                    (deletes, tuple(file.path for file in group)),
                    lambda: self._deleted_rows(group, deletes, deleted),  # noqa: B023  (called at once)
                )
                parts.append(self._scan_but(group, gone, schema, positions=positions))
            return reduce(DataFrame.unionAll, parts)

    def _keep(self, key: Any, make: Callable[[], DataFrame]) -> DataFrame:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        found = make()
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def scan_without(
        self, files: Sequence[FileWithDeletes], schema: Schema, deleted: ReadPositions
    ) -> DataFrame:
        """The rows of files but those at deleted positions, whatever delete files list."""
        with translate_errors():
            gone = self._send_positions([deleted(file) for file in files])
            return self._scan_but(files, gone, schema, positions=False)

    def forget(self) -> None:
        """Keep nothing: the session that frames belong to ends."""
        with self._lock:
            self._kept.clear()

    def read_parquet(self, paths: Sequence[str], schema: StructType) -> DataFrame:
        """The rows of Parquet files as they are."""
        with translate_errors():
            if not paths:
                return self.empty_frame(schema)
            return self._session().read.schema(schema).parquet(*paths)

    def empty_frame(self, schema: StructType) -> DataFrame:
        """A frame that Spark knows to be empty: what is joined to it isn't read, and no worker starts."""
        session = self._session()  # columns need a session
        columns = [F.lit(None).cast(field.dataType).alias(field.name) for field in schema.fields]
        return session.range(0).select(*columns).filter(F.lit(False))

    def _scan_paths(self, paths: Sequence[str], schema: Schema, *, positions: bool) -> DataFrame:
        frame = self.read_parquet(paths, spark_schema(schema))
        if not positions:
            return frame
        if not paths:
            return frame.withColumns({FILE: F.lit(None).cast("string"), POSITION: F.lit(None).cast("bigint")})
        return frame.select(
            "*", F.col("_metadata.file_path").alias(FILE), F.col("_metadata.row_index").alias(POSITION)
        )

    def _scan_but(
        self, files: Sequence[FileWithDeletes], gone: DataFrame, schema: Schema, *, positions: bool
    ) -> DataFrame:
        """The rows of files without those that a frame of numbers of files and positions lists.

        Deleted positions are few beside the rows, and are broadcast. The join hashes by position alone; the
        file is compared only where the position matches. So the file's condition must not be an equation, or
        Spark would hash by both. A path that wasn't asked for fails the read, since deleted rows would come
        back otherwise.
        """
        numbers = {file.path: number for number, file in enumerate(files)}
        rows = self._scan_paths(list(numbers), schema, positions=True)
        spelled = {
            spelling: numbers[normalise_path(path)]
            for path in rows.inputFiles()
            for spelling in path_spellings(path)
            if normalise_path(path) in numbers
        }
        unknown = F.raise_error(F.concat(F.lit("a file that was not asked for: "), F.col(FILE)))
        known = F.from_json(F.lit(json.dumps(spelled, sort_keys=True)), "map<string,int>")
        number = F.coalesce(F.try_element_at(known, F.col(FILE)), unknown.cast("int"))
        same_file = (number <= F.col(_NUMBER)) & (number >= F.col(_NUMBER))
        same_row = (F.col(POSITION) == F.col(_PLACE)) & same_file
        kept = rows.join(F.broadcast(gone), same_row, "left_anti")
        return kept if positions else kept.drop(FILE, POSITION)

    def _deleted_rows(
        self, files: Sequence[FileWithDeletes], deletes: Sequence[str], deleted: ReadPositions | None
    ) -> DataFrame:
        """The deleted positions of files, each with the number of its file."""
        if deleted is not None:
            places = [deleted(file) for file in files]
            if sum(map(len, places)) <= SENT_DELETES:
                return self._send_positions(places)
        numbers = pa.array(range(len(files)), pa.int32())
        paths = pa.table({_DELETED_IN: [file.path for file in files], _NUMBER: numbers})
        kind = StructType([StructField(_DELETED_IN, StringType()), StructField(_DELETED_AT, LongType())])
        owners = F.broadcast(self._session().createDataFrame(paths))
        listed = self.read_parquet(deletes, kind).join(owners, _DELETED_IN)
        return listed.select(_NUMBER, F.col(_DELETED_AT).alias(_PLACE))

    def _send_positions(self, places: Sequence[Any]) -> DataFrame:
        """Positions of files, which are numbered in order, as a frame."""
        owners = np.repeat(np.arange(len(places), dtype=np.int32), [len(found) for found in places])
        rows = pa.table({_NUMBER: owners, _PLACE: np.concatenate([np.empty(0, np.int64), *places])})
        schema = StructType([StructField(_NUMBER, IntegerType()), StructField(_PLACE, LongType())])
        return self._session().createDataFrame(rows, schema)
