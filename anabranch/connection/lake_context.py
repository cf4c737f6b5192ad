"""The parts of an open lake, handed to whatever reads or writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from anabranch.clock import Clock
from anabranch.commit.catalog import Catalog
from anabranch.events import Observer
from anabranch.failpoints import Failpoints
from anabranch.settings import Settings
from anabranch.streams.versions import LakeVersion

if TYPE_CHECKING:
    from anabranch.delta.maintenance_plan import MaintenancePlan
    from anabranch.engine.base import Engine
    from anabranch.engine.local.columns import Columns
    from anabranch.iceberg.table_reader import TableReader
    from anabranch.iceberg.warehouse import Warehouse


REMOTE = 8
"""How many times more a byte costs that comes over a network."""


class ImmediateMaintenance(Protocol):
    """Computes what to commit with a write, given the lake version it began at and the tables it staged."""

    def __call__(self, lake_version: LakeVersion, tables: Sequence[Any]) -> Any:
        """Stage it."""
        ...


@dataclass(frozen=True)
class LakeContext:
    """Storage, engine, clock and settings of one lake."""

    warehouse: Warehouse
    reader: TableReader
    catalog: Catalog
    engine: Engine
    columns: Columns
    settings: Settings
    clock: Clock
    failpoints: Failpoints
    observer: Observer
    follow: ImmediateMaintenance | None = None
    """Maintains the immediate stream tables in a write's commit; see `write/immediate_updates.py`."""
    large_fetches: dict[tuple[MaintenancePlan, frozenset[str]], int] = field(default_factory=dict)
    """Queries, and changed tables, for which reading a table once fetched too many rows of it, each with the
    fewest changed rows for which it did."""
    large_lookups: dict[tuple[MaintenancePlan, frozenset[str]], int] = field(default_factory=dict)
    """The same where looking rows up found too many of them."""
    finished_refreshes: set[tuple[str, str]] = field(default_factory=set)
    """The tables, and actions, that were refreshed since this lake was opened."""

    @property
    def lookup_bytes(self) -> int:
        """How many bytes of Parquet a local lookup may read."""
        size: int = self.settings["driver_lookup_bytes"]
        return size if self.warehouse.uri.startswith("file:") else size // REMOTE
