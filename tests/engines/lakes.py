"""Lakes on the engine for tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anabranch as ab
from anabranch.clock import Clock
from anabranch.connection.open_lake import open_lake_context
from anabranch.engine.render.dialect import DUCKDB, Dialect
from anabranch.events import Observer
from anabranch.failpoints import Failpoints
from tests.engines.duck import DuckEngine


def duck_lake(
    place: str | Path,
    *,
    clock: Clock | None = None,
    catalog: str | None = None,
    observer: Observer | None = None,
    failpoints: Failpoints | None = None,
    dialect: Dialect = DUCKDB,
    optimise: bool = False,
    **settings: object,
) -> ab.Lake:
    """Open a lake as `ab.connect` does, on DuckDB; `optimise`: it may order joins and move conditions."""
    context = open_lake_context(
        place,
        catalog=catalog,
        spark=None,
        clock=clock,
        observer=observer,
        failpoints=failpoints,
        arguments=settings,
    )
    engine = DuckEngine(zone=context.settings["time_zone"], dialect=dialect, optimise=optimise)
    return ab.Lake(replace(context, engine=engine))
