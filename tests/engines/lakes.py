"""Lakes on the engine for tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anabranch as ab
from anabranch.clock import Clock
from anabranch.events import Observer
from anabranch.failpoints import Failpoints
from anabranch.open import open_parts
from anabranch.render.dialect import DUCKDB, Dialect
from tests.engines.duck import DuckEngine


def duck_lake(
    place: str | Path,
    *,
    clock: Clock | None = None,
    catalog: str | None = None,
    observer: Observer | None = None,
    failpoints: Failpoints | None = None,
    dialect: Dialect = DUCKDB,
    **settings: object,
) -> ab.Lake:
    """Open a lake as `ab.connect` does, on DuckDB."""
    parts = open_parts(
        place,
        catalog=catalog,
        spark=None,
        clock=clock,
        observer=observer,
        failpoints=failpoints,
        arguments=settings,
    )
    engine = DuckEngine(zone=parts.settings["time_zone"], dialect=dialect)
    return ab.Lake(replace(parts, engine=engine))
