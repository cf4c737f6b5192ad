"""The parts of an open lake, handed to whatever reads or writes it."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.clock import Clock
from anabranch.engine.base import Engine
from anabranch.events import Observer
from anabranch.failpoints import Failpoints
from anabranch.settings import Settings
from anabranch.storage.catalog import Catalog
from anabranch.storage.tables import TableReader
from anabranch.storage.warehouse import Warehouse


@dataclass(frozen=True)
class Parts:
    """Storage, engine, clock and settings of one lake."""

    warehouse: Warehouse
    reader: TableReader
    catalog: Catalog
    engine: Engine
    settings: Settings
    clock: Clock
    failpoints: Failpoints
    observer: Observer
