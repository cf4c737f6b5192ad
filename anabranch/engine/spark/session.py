"""Starting a Spark session, and setting one up so that a query means the same wherever it runs."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from pyspark.sql import SparkSession

from anabranch.engine.spark.error_translation import translate_errors
from anabranch.engine.spark.java import check_java
from anabranch.engine.spark.session_settings import (
    CONTRACT,
    ON_LOOPBACK,
    OWN_SESSION,
    QUIET_CONTRACT,
    UTC,
)
from anabranch.engine.spark.startup_chatter import without_startup_chatter
from anabranch.errors import Notice
from anabranch.events import Event, Observer

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_MASTER, _LOCAL = "spark.master", "local[*]"


def start_session(options: Mapping[str, str], observer: Observer) -> SparkSession:
    """Start a session, a local one unless `options` name a master. They are Spark's, and override our own."""
    check_java()
    observer(Event("spark_starting"))
    builder = SparkSession.builder.appName("anabranch")
    for key, value in own_session_options(options).items():
        builder = builder.config(key, value)
    with translate_errors(), without_startup_chatter():
        session = builder.getOrCreate()
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    observer(Event("spark_started"))
    return session


def own_session_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a session that is started here, given those that somebody asks for."""
    quiet = Path(str(resources.files("anabranch.engine.spark") / "log4j2.properties")).as_uri()
    given = options.get(_JAVA_OPTIONS, "")
    master = options.get(_MASTER, _LOCAL)
    return {
        **OWN_SESSION,
        **(ON_LOOPBACK if master.startswith("local") else {}),
        _MASTER: master,
        "spark.sql.warehouse.dir": tempfile.gettempdir() + "/anabranch-spark",
        **options,
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={quiet} {given}".strip(),
    }


def configure_session(session: SparkSession, zone: str, *, warn: bool) -> None:
    """Set the options of a session that decide what a query means; `warn`: tell its owner what changed."""
    changed = []
    with translate_errors():
        for key, value in {**CONTRACT, **QUIET_CONTRACT}.items():
            if session.conf.get(key) != value:
                session.conf.set(key, value)
                changed.append(key)
        current = session.conf.get("spark.sql.session.timeZone")
        if current != zone and not ({current, zone} <= UTC):
            session.conf.set("spark.sql.session.timeZone", zone)
            changed.append("spark.sql.session.timeZone")
    told = [key for key in changed if key not in QUIET_CONTRACT]
    if warn and told:
        warnings.warn(
            Notice("set on the Spark session, because they decide what a query means: " + ", ".join(told)),
            stacklevel=3,
        )
