"""Stream tables that are made from each other, and how they last came to rest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.connection.lake_context import LakeContext
from anabranch.ledger.history import SUCCEEDED, read_refreshes
from anabranch.ledger.stream_tables import read_streams
from anabranch.listing import Listing
from anabranch.names import TableName

LOOKED_AT = 50
"""Entries of a member's history that are searched for the last fixed point."""


@dataclass(frozen=True)
class CycleStatus:
    """One cycle."""

    scc_id: int
    member_count: int
    members: tuple[str, ...]
    last_iterations: int | None
    """Iterations that the last refresh with something to do took; None before the first."""
    last_converged_at: datetime | None
    is_monotone: bool
    """Always: others are refused."""


def read_cycle_status(context: LakeContext) -> list[CycleStatus]:
    """Every cycle, by its id."""
    with context.catalog.database.begin_read() as connection:
        members: dict[int, list[TableName]] = {}
        for name, stream in sorted(read_streams(connection).items()):
            if stream.scc_id is not None:
                members.setdefault(stream.scc_id, []).append(name)
        found = []
        for number, names in sorted(members.items()):
            last = next(
                (
                    entry
                    for entry in read_refreshes(connection, names[0], LOOKED_AT)
                    if entry.status == SUCCEEDED and entry.fixpoint_iteration is not None
                ),
                None,
            )
            found.append(
                CycleStatus(
                    scc_id=number,
                    member_count=len(names),
                    members=tuple(map(str, names)),
                    last_iterations=None if last is None else last.fixpoint_iteration,
                    last_converged_at=None if last is None else last.finished_at,
                    is_monotone=True,
                )
            )
    return Listing(found)
