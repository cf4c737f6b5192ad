"""Opening a lake: find or create its database and warehouse, and put its parts together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from anabranch.clock import Clock, SystemClock
from anabranch.commit.catalog import Catalog
from anabranch.connection.lake_context import LakeContext
from anabranch.engine.lazy_engine import LazyEngine
from anabranch.errors import InputError, InvalidLocation
from anabranch.events import Observer, ignore_event
from anabranch.failpoints import Failpoints
from anabranch.iceberg.location import warehouse_uri
from anabranch.lazy import lazy
from anabranch.ledger import ledger
from anabranch.ledger.database import Database
from anabranch.ledger.migrations import migrate
from anabranch.settings import Settings

if TYPE_CHECKING:
    from anabranch.engine.base import Engine
    from anabranch.engine.local.columns import Columns
    from anabranch.iceberg.table_reader import TableReader
    from anabranch.iceberg.warehouse import Warehouse

CATALOG_FILE = "catalog.db"
FILES_FOLDER = "tables"


def open_lake_context(
    location: str | Path,
    *,
    catalog: str | None,
    spark: Any,
    clock: Clock | None,
    observer: Observer | None,
    failpoints: Failpoints | None,
    arguments: dict[str, object],
    spark_options: Mapping[str, str] | None = None,
) -> LakeContext:
    """The context of a lake, its catalog connected and its ledger migrated. Spark is not started."""
    check_argument("clock", clock, "now", "sleep", "new_id")
    check_argument("observer", observer, "__call__")
    check_argument("failpoints", failpoints, "hit")
    check_argument("spark", spark, "conf", "sql", "read", "createDataFrame")
    options = _check_spark_options(spark, spark_options)
    clock = SystemClock() if clock is None else clock
    observer = ignore_event if observer is None else observer
    failpoints = Failpoints.from_environment() if failpoints is None else failpoints
    uri = warehouse_uri(location)
    first = Settings(arguments)
    url = catalog or _create_sqlite_url(uri)
    database = Database(url, timeout=first["catalog_timeout"])
    with ExitStack() as opening:
        opening.callback(database.close)
        settings = Settings(arguments, stored=_prepare_ledger(database, uri, clock, failpoints))
        opening.pop_all()
    warehouse = lazy(lambda: _create_warehouse(f"{uri}/{FILES_FOLDER}"))
    reader = lazy(lambda: _create_reader(warehouse))
    return LakeContext(
        warehouse=warehouse,
        reader=reader,
        catalog=Catalog(database, reader, clock, failpoints, observer),
        engine=cast(
            "Engine",
            LazyEngine(lambda: _create_spark_engine(spark, settings["time_zone"], observer, options)),
        ),
        columns=lazy(lambda: _create_columns(settings)),
        settings=settings,
        clock=clock,
        failpoints=failpoints,
        observer=observer,
    )


def _create_warehouse(uri: str) -> Warehouse:
    from anabranch.iceberg.warehouse import Warehouse

    return Warehouse(uri)


def _create_reader(warehouse: Warehouse) -> TableReader:
    from anabranch.iceberg.table_reader import TableReader

    return TableReader(warehouse)


def _create_columns(settings: Settings) -> Columns:
    from anabranch.engine.local.columns import Columns

    return Columns(lambda: settings["driver_column_bytes"])


def _create_spark_engine(spark: Any, zone: str, observer: Observer, options: Mapping[str, str]) -> Engine:
    from anabranch.engine.spark.engine import SparkEngine

    return SparkEngine(spark, zone=zone, observer=observer, options=options)


def _check_spark_options(spark: Any, options: Mapping[str, str] | None) -> dict[str, str]:
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


def _prepare_ledger(database: Database, uri: str, clock: Clock, failpoints: Failpoints) -> dict[str, str]:
    """Migrate the ledger, and check that it is this lake's; the settings stored in it."""
    migrate(database, clock, failpoints)
    with database.begin_migration() as connection:
        in_force = ledger.ensure_lake(connection, clock.new_id(), uri)
        stored = ledger.read_settings(connection)
    if in_force != uri:
        raise InvalidLocation(
            f"the catalog belongs to the lake at {in_force}, not {uri}",
            hint="open it at its own location; a lake that was moved must be copied, not renamed.",
        )
    return stored


def check_argument(argument: str, value: object, *needed: str) -> None:
    """Refuse an argument that lacks what is needed of it (None is left out)."""
    if value is not None and not all(hasattr(value, name) for name in needed):
        raise InputError(
            f"{argument} can't be a {type(value).__name__}", hint=f"it needs {', '.join(needed)}."
        )


def _create_sqlite_url(uri: str) -> str:
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
