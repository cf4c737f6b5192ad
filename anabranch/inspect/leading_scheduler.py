"""Whether anything happened, and whether somebody schedules: reads that cost next to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.connection.lake_context import LakeContext
from anabranch.ledger.pulse import Pulse, read_lease, read_pulse
from anabranch.schedule.lease import SCHEDULER


@dataclass(frozen=True)
class SchedulerInfo:
    """The scheduler that leads: `term` is in the events of its ticks, and tells it from others."""

    term: int
    leads_until: datetime
    """When another may take over, unless it renews its lease before."""


def read_lake_pulse(context: LakeContext) -> Pulse:
    """The lake's pulse: it changes when anything does that a person could see."""
    with context.catalog.database.begin_read() as connection:
        return read_pulse(connection)


def read_leading_scheduler(context: LakeContext) -> SchedulerInfo | None:
    """The scheduler that leads, in whatever process; None if none does."""
    with context.catalog.database.begin_read() as connection:
        lease = read_lease(connection, SCHEDULER)
    if lease is None or lease.expires_at <= context.clock.now():
        return None
    return SchedulerInfo(lease.term, lease.expires_at)
