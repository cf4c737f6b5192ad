"""Anabranch keeps derived tables fresh on Spark."""

import importlib
from typing import TYPE_CHECKING, Any

from anabranch.clock import ManualClock as ManualClock
from anabranch.errors import AnabranchError as AnabranchError
from anabranch.errors import Notice as Notice
from anabranch.events import Event as Event

if TYPE_CHECKING:
    from anabranch.lake import Lake as Lake
    from anabranch.lake import connect as connect
    from anabranch.project.declared import stream_table as stream_table
    from anabranch.read.snapshot import Snapshot as Snapshot
    from anabranch.write.transaction import Transaction as Transaction

# Imported when first asked for: they bring pyiceberg, pandas and more; `anabranch --help` needs none of it.
_LATE = {
    "Lake": "anabranch.lake",
    "connect": "anabranch.lake",
    "stream_table": "anabranch.project.declared",
    "Snapshot": "anabranch.read.snapshot",
    "Transaction": "anabranch.write.transaction",
}
__all__ = [
    "AnabranchError",
    "Event",
    "Lake",
    "ManualClock",
    "Notice",
    "Snapshot",
    "Transaction",
    "connect",
    "stream_table",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_LATE[name]), name)
    return found
