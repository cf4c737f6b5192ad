"""Spark over compacted Parquet files of a lake's tables: it writes a query's result and commits nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import anabranch as ab
from bench.clean_tables import write_clean_tables
from bench.harness import measure_seconds


class PlainSpark:
    """Runs queries over tables as they are now, in the session of a lake."""

    def __init__(self, lake: ab.Lake, folder: Path, tables: Iterable[str]) -> None:
        self._session = lake._context.engine.session  # type: ignore[attr-defined]
        self._folder, self._numbers = folder, itertools.count()
        for table, paths in write_clean_tables(lake, tables, folder).items():
            self._session.read.parquet(*paths).createOrReplaceTempView(table)

    def measure_query(self, text: str) -> tuple[float, Path]:
        """The seconds that a query takes whose result is written to a new folder, and that folder."""
        written = self._folder / f"result-{next(self._numbers)}"
        return measure_seconds(lambda: self._session.sql(text).write.parquet(str(written))), written


def read_result(folder: Path) -> pa.Table:
    """The rows of a result that was written."""
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])
