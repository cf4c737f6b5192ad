"""Opening a lake: find or create its database and warehouse, and put its parts together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from anabranch.clock import Clock, SystemClock
from anabranch.engine.late import LateEngine
from anabranch.errors import InputError, InvalidLocation
from anabranch.events import Observer, ignore
from anabranch.failpoints import Failpoints
from anabranch.late import late
from anabranch.ledger import ledger
from anabranch.ledger.database import Database
from anabranch.ledger.migrations import migrate
from anabranch.parts import Parts
from anabranch.settings import Settings
from anabranch.storage.catalog import Catalog
from anabranch.storage.location import warehouse_uri

if TYPE_CHECKING:
    from anabranch.engine.base import Engine
    from anabranch.storage.columns import Columns
    from anabranch.storage.tables import TableReader
    from anabranch.storage.warehouse import Warehouse

CATALOG_FILE = "catalog.db"
FILES_FOLDER = "tables"


def open_parts(
    location: str | Path,
    *,
    catalog: str | None,
    spark: Any,
    clock: Clock | None,
    observer: Observer | None,
    failpoints: Failpoints | None,
    arguments: dict[str, object],
    spark_options: Mapping[str, str] | None = None,
) -> Parts:
    """Everything a lake needs, its catalog connected and brought up to date. Spark is not started."""
    check_kind("clock", clock, "now", "sleep", "new_id")
    check_kind("observer", observer, "__call__")
    check_kind("failpoints", failpoints, "hit")
    check_kind("spark", spark, "conf", "sql", "read", "createDataFrame")
    options = _checked_options(spark, spark_options)
    clock = SystemClock() if clock is None else clock
    observer = ignore if observer is None else observer
    failpoints = Failpoints.from_environment() if failpoints is None else failpoints
    uri = warehouse_uri(location)
    first = Settings(arguments)
    url = catalog or _sqlite_beside(uri)
    database = Database(url, timeout=first["catalog_timeout"])
    with ExitStack() as opening:
        opening.callback(database.close)
        settings = Settings(arguments, stored=_enter(database, uri, clock, failpoints))
        opening.pop_all()
    warehouse = late(lambda: _warehouse(f"{uri}/{FILES_FOLDER}"))
    reader = late(lambda: _reader(warehouse))
    return Parts(
        warehouse=warehouse,
        reader=reader,
        catalog=Catalog(database, reader, clock, failpoints, observer),
        engine=cast(
            "Engine", LateEngine(lambda: _spark_engine(spark, settings["time_zone"], observer, options))
        ),
        columns=late(lambda: _columns(settings)),
        settings=settings,
        clock=clock,
        failpoints=failpoints,
        observer=observer,
    )


def _warehouse(uri: str) -> Warehouse:
    from anabranch.storage.warehouse import Warehouse

    return Warehouse(uri)


def _reader(warehouse: Warehouse) -> TableReader:
    from anabranch.storage.tables import TableReader

    return TableReader(warehouse)


def _columns(settings: Settings) -> Columns:
    from anabranch.storage.columns import Columns

    return Columns(lambda: settings["driver_column_bytes"])


def _spark_engine(spark: Any, zone: str, observer: Observer, options: Mapping[str, str]) -> Engine:
    from anabranch.engine.spark import SparkEngine

    return SparkEngine(spark, zone=zone, observer=observer, options=options)


def _checked_options(spark: Any, options: Mapping[str, str] | None) -> dict[str, str]:
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(text, str) for text in chain(*options.items())):
        raise InputError("spark_options are names and values of Spark's configuration, all of them text")
    if spark is not None:
        raise InputError(
            "spark_options are for a session that is started here",
            hint="configure the session that is given.",
        )
    return dict(options)


def _enter(database: Database, uri: str, clock: Clock, failpoints: Failpoints) -> dict[str, str]:
    """Bring the ledger up to date, and see that it is this lake's; the settings stored in it."""
    migrate(database, clock, failpoints)
    with database.migrating() as connection:
        in_force = ledger.ensure_lake(connection, clock.new_id(), uri)
        stored = ledger.stored_settings(connection)
    if in_force != uri:
        raise InvalidLocation(
            f"the catalog belongs to the lake at {in_force}, not {uri}",
            hint="open it at its own location; a lake that was moved must be copied, not renamed.",
        )
    return stored


def check_kind(argument: str, value: object, *needed: str) -> None:
    """Refuse an argument that lacks what is needed of it (None is left out)."""
    if value is not None and not all(hasattr(value, name) for name in needed):
        raise InputError(
            f"{argument} can't be a {type(value).__name__}", hint=f"it needs {', '.join(needed)}."
        )


def _sqlite_beside(uri: str) -> str:
    if not uri.startswith("file://"):
        raise InvalidLocation(
            f"a lake at {uri} needs a catalog database",
            hint="give catalog='postgresql+psycopg://user:password@host/database'.",
        )
    folder = Path(uri.removeprefix("file://"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidLocation(f"the lake's folder {folder} can't be created", detail=str(error)) from error
    return f"sqlite:///{folder / CATALOG_FILE}"
