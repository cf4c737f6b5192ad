"""Tables of a benchmark that a generator wrote as Parquet files: read, and loaded into a lake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import anabranch as ab
from anabranch.iceberg.type_mapping import to_arrow
from anabranch.names import TableName
from anabranch.schema import Schema

BATCH_ROWS = 1_000_000
"""How many rows are in memory at once while a table is loaded."""

Schemas = Mapping[TableName, Schema]


def read_tables(folder: Path, schemas: Schemas) -> dict[str, pa.Table]:
    """The generated tables, in the types of their schemas."""
    return {
        str(name): pa.Table.from_batches(_batches(folder, name, schema)) for name, schema in schemas.items()
    }


def load_tables(lake: ab.Lake, folder: Path, schemas: Schemas) -> int:
    """Create the tables with the generated rows, under one lsn.

    Arrow at any scale: it is faster than Spark here, and only a batch is in memory.
    """
    with lake.transaction() as tx:
        for name, schema in schemas.items():
            tx.create_table(str(name), schema)
            for batch in _batches(folder, name, schema):
                tx.insert(str(name), batch)
    assert tx.lsn is not None
    return tx.lsn


def _batches(folder: Path, name: TableName, schema: Schema) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(folder / f"{name}.parquet") as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            yield batch.cast(to_arrow(schema))
