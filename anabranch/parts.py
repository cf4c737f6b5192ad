"""The parts of an open lake, handed to whatever reads or writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from anabranch.clock import Clock
from anabranch.events import Observer
from anabranch.failpoints import Failpoints
from anabranch.ledger.records import Moment
from anabranch.settings import Settings
from anabranch.storage.catalog import Catalog

if TYPE_CHECKING:
    from anabranch.engine.base import Engine
    from anabranch.storage.columns import Columns
    from anabranch.storage.tables import TableReader
    from anabranch.storage.warehouse import Warehouse


REMOTE = 8
"""How much dearer a byte is that comes over a network."""


class Follow(Protocol):
    """Given the moment a write began at and the tables it staged: what else is to be committed with it."""

    def __call__(self, moment: Moment, tables: Sequence[Any]) -> Any:
        """Stage it."""
        ...


@dataclass(frozen=True)
class Parts:
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
    follow: Follow | None = None
    """What maintains tables that move with a write; see `write/follow.py`."""

    @property
    def lookup_bytes(self) -> int:
        """How many bytes of Parquet may be looked into here."""
        size: int = self.settings["driver_lookup_bytes"]
        return size if self.warehouse.uri.startswith("file:") else size // REMOTE
