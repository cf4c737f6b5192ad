"""Anabranch keeps derived tables fresh on Spark."""

from typing import TYPE_CHECKING

from anabranch.clock import ManualClock as ManualClock
from anabranch.errors import AnabranchError as AnabranchError
from anabranch.errors import Notice as Notice
from anabranch.events import Event as Event
from anabranch.lazy import lazy_module_getattr

if TYPE_CHECKING:
    from anabranch.lake import Lake as Lake
    from anabranch.lake import connect as connect
    from anabranch.project.decorator import stream_table as stream_table
    from anabranch.read.snapshot import Snapshot as Snapshot
    from anabranch.write.transaction import Transaction as Transaction
else:
    # Imported when first asked for: `anabranch --help` needs none of it.
    __getattr__ = lazy_module_getattr(
        __name__,
        {
            "Lake": "anabranch.lake",
            "connect": "anabranch.lake",
            "stream_table": "anabranch.project.decorator",
            "Snapshot": "anabranch.read.snapshot",
            "Transaction": "anabranch.write.transaction",
        },
    )

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
