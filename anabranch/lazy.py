"""Modules and values that are loaded on first use.

Reading a lake's status needs its catalog alone. Modules that read and write files, parse SQL or compute rows
take longer to import than such a call takes (pyiceberg, pyarrow, sqlglot), so they are imported on first use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

if TYPE_CHECKING:
    from anabranch.iceberg.input_rows import make_rereadable
    from anabranch.inspect.cycles import read_cycle_status
    from anabranch.inspect.definition import describe_stream_table
    from anabranch.inspect.dependency_tree import build_dependency_tree
    from anabranch.inspect.explain import explain_name_or_query
    from anabranch.inspect.fuses import read_fuse_status
    from anabranch.inspect.gates import list_source_gates, list_watermark_groups, list_watermarks
    from anabranch.inspect.graph_data import read_lake_graph
    from anabranch.inspect.groups import list_diamond_groups, list_refresh_groups
    from anabranch.inspect.health import run_health_checks
    from anabranch.inspect.history import read_refresh_history
    from anabranch.inspect.leading_scheduler import read_lake_pulse, read_leading_scheduler
    from anabranch.inspect.settings import list_settings
    from anabranch.inspect.sources import list_sources
    from anabranch.inspect.verify import verify_stream_table
    from anabranch.lifecycle.alter import alter_stream_table
    from anabranch.lifecycle.create import create_stream_tables
    from anabranch.lifecycle.drop import drop_stream_table, warn_of_readers
    from anabranch.lifecycle.fuse import reset_fuse
    from anabranch.lifecycle.refresh_groups import create_refresh_group, drop_refresh_group
    from anabranch.lifecycle.suspend_resume import resume_stream_table, suspend_stream_table
    from anabranch.lifecycle.watermark_groups import (
        create_watermark_group,
        drop_watermark_group,
        find_watermark_groups_needing,
        warn_of_removed_watermark_groups,
    )
    from anabranch.maintain.compact import compact
    from anabranch.maintain.maintenance import maintain
    from anabranch.read.iceberg_table import load_iceberg_table
    from anabranch.read.preview import preview
    from anabranch.read.scan_tables import read_arrow, scan_changes, scan_version
    from anabranch.read.snapshot import Snapshot
    from anabranch.read.table_info import list_tables
    from anabranch.refresh.definition_cache import DefinitionCache
    from anabranch.refresh.immediate import stage_immediate_tables
    from anabranch.schedule.lease import Lease
    from anabranch.schedule.manual_refresh import refresh_stream_table
    from anabranch.schedule.run import run
    from anabranch.schedule.tick import tick
    from anabranch.statements.run_statement import run_statement
    from anabranch.write.autocommit import autocommit, find_committed_lsn
    from anabranch.write.repeated_transaction import begin_transaction

OPERATIONS = {
    "alter_stream_table": "anabranch.lifecycle.alter",
    "autocommit": "anabranch.write.autocommit",
    "begin_transaction": "anabranch.write.repeated_transaction",
    "build_dependency_tree": "anabranch.inspect.dependency_tree",
    "compact": "anabranch.maintain.compact",
    "create_refresh_group": "anabranch.lifecycle.refresh_groups",
    "create_stream_tables": "anabranch.lifecycle.create",
    "create_watermark_group": "anabranch.lifecycle.watermark_groups",
    "DefinitionCache": "anabranch.refresh.definition_cache",
    "describe_stream_table": "anabranch.inspect.definition",
    "drop_refresh_group": "anabranch.lifecycle.refresh_groups",
    "drop_stream_table": "anabranch.lifecycle.drop",
    "drop_watermark_group": "anabranch.lifecycle.watermark_groups",
    "explain_name_or_query": "anabranch.inspect.explain",
    "find_committed_lsn": "anabranch.write.autocommit",
    "find_watermark_groups_needing": "anabranch.lifecycle.watermark_groups",
    "Lease": "anabranch.schedule.lease",
    "list_diamond_groups": "anabranch.inspect.groups",
    "list_refresh_groups": "anabranch.inspect.groups",
    "list_settings": "anabranch.inspect.settings",
    "list_source_gates": "anabranch.inspect.gates",
    "list_sources": "anabranch.inspect.sources",
    "list_tables": "anabranch.read.table_info",
    "list_watermark_groups": "anabranch.inspect.gates",
    "list_watermarks": "anabranch.inspect.gates",
    "load_iceberg_table": "anabranch.read.iceberg_table",
    "maintain": "anabranch.maintain.maintenance",
    "make_rereadable": "anabranch.iceberg.input_rows",
    "preview": "anabranch.read.preview",
    "read_arrow": "anabranch.read.scan_tables",
    "read_cycle_status": "anabranch.inspect.cycles",
    "read_fuse_status": "anabranch.inspect.fuses",
    "read_lake_graph": "anabranch.inspect.graph_data",
    "read_lake_pulse": "anabranch.inspect.leading_scheduler",
    "read_leading_scheduler": "anabranch.inspect.leading_scheduler",
    "read_refresh_history": "anabranch.inspect.history",
    "refresh_stream_table": "anabranch.schedule.manual_refresh",
    "reset_fuse": "anabranch.lifecycle.fuse",
    "resume_stream_table": "anabranch.lifecycle.suspend_resume",
    "run": "anabranch.schedule.run",
    "run_health_checks": "anabranch.inspect.health",
    "run_statement": "anabranch.statements.run_statement",
    "scan_changes": "anabranch.read.scan_tables",
    "scan_version": "anabranch.read.scan_tables",
    "Snapshot": "anabranch.read.snapshot",
    "stage_immediate_tables": "anabranch.refresh.immediate",
    "suspend_stream_table": "anabranch.lifecycle.suspend_resume",
    "tick": "anabranch.schedule.tick",
    "verify_stream_table": "anabranch.inspect.verify",
    "warn_of_readers": "anabranch.lifecycle.drop",
    "warn_of_removed_watermark_groups": "anabranch.lifecycle.watermark_groups",
}
"""What `lake.py` calls, each with the module that has it. `lazy.autocommit` imports that module."""

__all__ = [
    "OPERATIONS",
    "DefinitionCache",
    "Lazy",
    "Lease",
    "Snapshot",
    "alter_stream_table",
    "autocommit",
    "begin_transaction",
    "build_dependency_tree",
    "compact",
    "create_refresh_group",
    "create_stream_tables",
    "create_watermark_group",
    "describe_stream_table",
    "drop_refresh_group",
    "drop_stream_table",
    "drop_watermark_group",
    "explain_name_or_query",
    "find_committed_lsn",
    "find_watermark_groups_needing",
    "lazy",
    "lazy_module_getattr",
    "list_diamond_groups",
    "list_refresh_groups",
    "list_settings",
    "list_source_gates",
    "list_sources",
    "list_tables",
    "list_watermark_groups",
    "list_watermarks",
    "load_iceberg_table",
    "maintain",
    "make_rereadable",
    "preview",
    "read_arrow",
    "read_cycle_status",
    "read_fuse_status",
    "read_lake_graph",
    "read_lake_pulse",
    "read_leading_scheduler",
    "read_refresh_history",
    "refresh_stream_table",
    "reset_fuse",
    "resume_stream_table",
    "run",
    "run_health_checks",
    "run_statement",
    "scan_changes",
    "scan_version",
    "stage_immediate_tables",
    "suspend_stream_table",
    "tick",
    "value_if_created",
    "verify_stream_table",
    "warn_of_readers",
    "warn_of_removed_watermark_groups",
]

Value = TypeVar("Value")


class Lazy(Generic[Value]):
    """A stand-in for the value that `make` returns: attributes of the one are those of the other."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._value: Value | None = None

    def __getattr__(self, name: str) -> Any:
        # Private names are the stand-in's own. Were they passed on, a misspelt one in a subclass would wait
        # for the lock that it holds; and copy, which asks for dunders, would create the value.
        if name.startswith("_"):
            raise AttributeError(name)
        with self._lock:
            if self._value is None:
                self._value = self._make()
        return getattr(self._value, name)


def value_if_created(thing: Value) -> Value | None:
    """The value behind a stand-in if it was created by now, else None; anything else is returned as it is."""
    if not isinstance(thing, Lazy):
        return thing
    value: Value | None = thing._value
    return value


def lazy(make: Callable[[], Value]) -> Value:
    """A stand-in for the value that `make` returns, called when one of its attributes is first read.

    >>> greeting = lazy(lambda: print("made") or "hello")
    >>> greeting.upper()
    made
    'HELLO'
    """
    return cast(Value, Lazy(make))


def lazy_module_getattr(module: str, origins: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names are imported, each from its origin, on first use."""

    def import_name(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(origins[name]), name)
        setattr(import_module(module), name, value)
        return value

    return import_name


if not TYPE_CHECKING:
    __getattr__ = lazy_module_getattr(__name__, OPERATIONS)
