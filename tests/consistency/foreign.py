"""The same database and files, opened twice: by the lake, and by pyiceberg that knows nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession

import anabranch as ab
from tests.consistency.bags import Bag, bag_of, check_history, read


class Pair:
    """A lake, and another Iceberg client on its catalog."""

    def __init__(self, lake: ab.Lake, catalog: SqlCatalog) -> None:
        self.lake = lake
        self.catalog = catalog

    def load(self, name: str) -> Table:
        """The table, as the other client sees it now."""
        return self.catalog.load_table(name if "." in name else f"main.{name}")

    def scanned(self, name: str, snapshot_id: int | None = None) -> Bag:
        """Its rows, as the other client reads them."""
        return bag_of(self.load(name).scan(snapshot_id=snapshot_id).to_arrow())

    def agree(self, name: str) -> Bag:
        """The rows, if both sides and the whole history agree on them."""
        held = read(self.lake, name)
        assert held == self.scanned(name)
        assert self.lake.arrow(name).column_names == self.load(name).schema().column_names
        check_history(self.lake, name)
        return held

    def kinds(self) -> list[str]:
        """Who made each commit, oldest first."""
        return [commit.kind for commit in reversed(self.lake.commits(limit=1000))]


@contextmanager
def opened(place: Path, catalog: str | None, spark: SparkSession | None = None) -> Iterator[Pair]:
    """Both, on a fresh lake."""
    uri = catalog or f"sqlite:///{place}/catalog.db"
    with ab.connect(place, catalog=catalog, spark=spark) as lake:
        client = SqlCatalog("anabranch", uri=uri, warehouse=f"file://{place}/foreign")
        client.create_namespace_if_not_exists("main")
        yield Pair(lake, client)
        client.close()


def words(*rows: tuple[int | None, str | None]) -> pa.Table:
    """Rows of `id BIGINT, word STRING`."""
    ids, texts = [row[0] for row in rows], [row[1] for row in rows]
    return pa.table({"id": pa.array(ids, pa.int64()), "word": pa.array(texts, pa.string())})


WORDS = "id BIGINT, word STRING"
