"""Parquet files as frames, without the rows that position delete files list.

A tick reads the same version of a table in many statements. So the deleted positions are handed to Spark
once, and the filter that uses them is kept for as long as there is room. Frames of the files themselves are
kept under names that callers give: where one stands twice in a statement, Spark's optimiser confuses its
columns. To make one takes Spark some ten milliseconds, in which it looks at every file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType

from anabranch.bounded_cache import Cache
from anabranch.engine.base import FileWithDeletes, ReadPositions
from anabranch.engine.spark.deleted_bits import MAX_WORDS, WORD, DeletedBits, count_words, pack_deletes
from anabranch.engine.spark.error_translation import translate_errors
from anabranch.engine.spark.expressions import path_spellings
from anabranch.engine.spark.schemas import spark_schema
from anabranch.names import FILE, POSITION
from anabranch.paths import normalise_path
from anabranch.schema import Schema

KEPT = 64
"""For so many sets of files the filter that leaves deleted rows out is kept."""
KEPT_FRAMES = 256
"""And so many frames."""
SENT_DELETES = 1_000_000
"""Up to so many deleted positions are sent to Spark; of more, it reads the delete files itself."""
SCANNED_TOGETHER = 4
"""Up to so many times as many files without position deletes are read in the same scan as those with some."""
_DELETED_IN, _DELETED_AT = "file_path", "pos"
_NUMBER, _PLACE = "__number", "__place"
_ANY, _EACH = "any", "each"


LeaveOut = Callable[[DataFrame], DataFrame]
"""Leaves the deleted rows out of a frame with `__file` and `__position`."""


def files_key(files: Sequence[FileWithDeletes]) -> Hashable:
    """What the rows of files depend on: files themselves never change."""
    return tuple((file.path, file.deletes) for file in files)


class FileScanner:
    """Makes frames of files."""

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session
        self._filters: Cache[LeaveOut] = Cache(KEPT)
        self._frames: Cache[DataFrame] = Cache(KEPT_FRAMES)

    def scan(
        self,
        files: Sequence[FileWithDeletes],
        schema: Schema,
        *,
        positions: bool = False,
        deleted: ReadPositions | None = None,
        keep_as: str | None = None,
    ) -> DataFrame:
        """The rows of files; with `positions` also `__file` and `__position`."""
        if keep_as is None:
            return self._scan_groups(files, schema, positions, deleted)
        key = (keep_as, files_key(files), schema, positions)
        return self._frames.get(key, lambda: self._scan_groups(files, schema, positions, deleted))

    def _scan_groups(
        self,
        files: Sequence[FileWithDeletes],
        schema: Schema,
        positions: bool,
        deleted: ReadPositions | None,
    ) -> DataFrame:
        with translate_errors():
            groups = group_for_scans(files)
            parts = [self._scan_group(group, schema, positions, deleted) for group in groups]
            return reduce(DataFrame.unionAll, parts)

    def _scan_group(
        self,
        files: Sequence[FileWithDeletes],
        schema: Schema,
        positions: bool,
        deleted: ReadPositions | None,
    ) -> DataFrame:
        """The rows of files, of which no two have the same path."""
        if not any(file.deletes for file in files):
            return self._scan_paths([file.path for file in files], schema, positions=positions)
        rows = self._scan_paths([file.path for file in files], schema, positions=True)
        left = self._filters.get(files_key(files), lambda: self._make_filter(rows, files, deleted))(rows)
        return left if positions else left.drop(FILE, POSITION)

    def _make_filter(
        self, rows: DataFrame, files: Sequence[FileWithDeletes], deleted: ReadPositions | None
    ) -> LeaveOut:
        """A filter for rows of files; `deleted` reads their deleted positions, as long as those are few."""
        number = number_of_file(rows, files)
        if deleted is None:
            return leave_out_listed(number, self._read_deletes(files))
        places = [deleted(file) for file in files]
        if count_words(places) <= MAX_WORDS:
            return leave_out_bits(number, *self._send_bits(pack_deletes(places)))
        few = sum(map(len, places)) <= SENT_DELETES
        return leave_out_listed(number, self._send_positions(places) if few else self._read_deletes(files))

    def scan_without(
        self, files: Sequence[FileWithDeletes], schema: Schema, deleted: ReadPositions
    ) -> DataFrame:
        """The rows of files but those at deleted positions, whatever delete files list."""
        with translate_errors():
            rows = self._scan_paths([file.path for file in files], schema, positions=True)
            return self._make_filter(rows, files, deleted)(rows).drop(FILE, POSITION)

    def forget(self) -> None:
        """Keep nothing: the session that frames belong to ends."""
        self._filters.clear()
        self._frames.clear()

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

    def _read_deletes(self, files: Sequence[FileWithDeletes]) -> DataFrame:
        """The deleted positions of files, each with the number of its file, read by Spark."""
        by_deletes: dict[tuple[str, ...], list[tuple[str, int]]] = {}
        for number, file in enumerate(files):
            if file.deletes:
                by_deletes.setdefault(file.deletes, []).append((file.path, number))
        parts = [self._read_delete_files(deletes, owned) for deletes, owned in by_deletes.items()]
        return reduce(DataFrame.unionAll, parts)

    def _read_delete_files(self, deletes: Sequence[str], numbered: Sequence[tuple[str, int]]) -> DataFrame:
        """The positions that delete files list for some data files, each with the number of its file."""
        paths, numbers = zip(*numbered, strict=True)
        owned = pa.table({_DELETED_IN: list(paths), _NUMBER: pa.array(numbers, pa.int32())})
        kind = StructType([StructField(_DELETED_IN, StringType()), StructField(_DELETED_AT, LongType())])
        owners = F.broadcast(self._session().createDataFrame(owned))
        listed = self.read_parquet(deletes, kind).join(owners, _DELETED_IN)
        return listed.select(_NUMBER, F.col(_DELETED_AT).alias(_PLACE))

    def _send_bits(self, bits: DeletedBits) -> tuple[SparkColumn, SparkColumn]:
        """The words of all files together, and those of each, as values that Spark hands to every task."""
        table = pa.table(
            {
                _ANY: pa.array([bits.any], pa.list_(pa.int64())),
                _EACH: pa.array([list(bits.each)], pa.list_(pa.list_(pa.int64()))),
            }
        )
        words = ArrayType(LongType())
        schema = StructType([StructField(_ANY, words), StructField(_EACH, ArrayType(words))])
        sent = self._session().createDataFrame(table, schema)
        return sent.select(_ANY).scalar(), sent.select(_EACH).scalar()

    def _send_positions(self, places: Sequence[Any]) -> DataFrame:
        """Positions of files, which are numbered in order, as a frame."""
        owners = np.repeat(np.arange(len(places), dtype=np.int32), [len(found) for found in places])
        rows = pa.table({_NUMBER: owners, _PLACE: np.concatenate([np.empty(0, np.int64), *places])})
        schema = StructType([StructField(_NUMBER, IntegerType()), StructField(_PLACE, LongType())])
        return self._session().createDataFrame(rows, schema)


def number_of_file(rows: DataFrame, files: Sequence[FileWithDeletes]) -> SparkColumn:
    """The number of a row's file.

    A path that wasn't asked for fails the read: deleted rows would come back otherwise.
    """
    numbers = {file.path: number for number, file in enumerate(files)}
    spelled = {
        spelling: numbers[normalise_path(path)]
        for path in rows.inputFiles()
        for spelling in path_spellings(path)
        if normalise_path(path) in numbers
    }
    unknown = F.raise_error(F.concat(F.lit("a file that was not asked for: "), F.col(FILE)))
    known = F.from_json(F.lit(json.dumps(spelled, sort_keys=True)), "map<string,int>")
    return F.coalesce(F.try_element_at(known, F.col(FILE)), unknown.cast("int"))


def leave_out_bits(number: SparkColumn, any_file: SparkColumn, each_file: SparkColumn) -> LeaveOut:
    """Leaves out rows whose position is set in the bits of their file.

    The file is looked at only where the position is deleted in some file: comparing paths takes far longer. A
    plain condition comes before a query's EXISTS or IN. With a join they would come first, and their rows be
    shuffled, each with the path of its file.
    """
    word = F.shiftright(F.col(POSITION), 6).cast("int")
    bit = F.col(POSITION).bitwiseAND(WORD - 1).cast("int")

    def is_set(words: SparkColumn) -> SparkColumn:
        return F.coalesce(F.getbit(F.get(words, word), bit).cast("int"), F.lit(0)) == 1

    stays = ~(is_set(any_file) & is_set(F.get(each_file, number)))
    return lambda rows: rows.where(stays)


def leave_out_listed(number: SparkColumn, gone: DataFrame) -> LeaveOut:
    """Leaves out rows that a frame of numbers of files and positions lists.

    Deleted positions are few beside the rows, and are broadcast. The join hashes by position alone; the file
    is compared only where the position matches. So the file's condition must not be an equation between both
    sides, or Spark would hash by both. It is written so that the number is computed once.
    """
    same_file = number.bitwiseXOR(F.col(_NUMBER)) == 0
    same_row = (F.col(POSITION) == F.col(_PLACE)) & same_file
    listed = F.broadcast(gone)
    return lambda rows: rows.join(listed, same_row, "left_anti")


def group_for_scans(files: Sequence[FileWithDeletes]) -> list[Sequence[FileWithDeletes]]:
    """Files in the groups that are read by one scan each; in a group a path stands once.

    Files without position deletes are read together with the others unless those are few. In a union of two
    scans, Spark would join each of them with what a query's EXISTS or IN reads, and so read that twice.
    """
    whole = [file for file in files if not file.deletes]
    marked = [file for file in files if file.deletes]
    if not marked:
        return [whole]
    if len(whole) <= SCANNED_TOGETHER * len(marked):
        return _split_repeated(files)
    return [whole, *_split_repeated(marked)]


def _split_repeated(files: Sequence[FileWithDeletes]) -> list[Sequence[FileWithDeletes]]:
    """Files in groups in each of which a path stands once: a change may name one with several deletes."""
    groups: list[dict[str, FileWithDeletes]] = []
    for file in files:
        free = next((group for group in groups if file.path not in group), None)
        if free is None:
            groups.append(free := {})
        free[file.path] = file
    return [list(group.values()) for group in groups]
