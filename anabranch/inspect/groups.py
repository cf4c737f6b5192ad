"""Which stream tables move together: because data that flowed apart meets in them, or by declaration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.connection.lake_context import LakeContext
from anabranch.ledger.declared_groups import read_declared_groups
from anabranch.ledger.group_epochs import read_epochs
from anabranch.ledger.stream_tables import read_streams
from anabranch.listing import Listing
from anabranch.streams.consistency_groups import tables_between
from anabranch.streams.stream_graph import declared_groups, groups_of, policy_of, scheduled_graph


@dataclass(frozen=True)
class DiamondGroupMember:
    """A member of a group."""

    group_id: int
    member_name: str
    member_schema: str
    is_convergence: bool
    epoch: int
    schedule_policy: str
    """The group's: the strictest of its convergence tables; `none` if its members refresh on their own."""
    shared_sources: tuple[str, ...]
    """For a convergence table: where the data that meets there flowed apart."""


def list_diamond_groups(context: LakeContext) -> list[DiamondGroupMember]:
    """The members of all groups, in the order in which they refresh."""
    with context.catalog.database.begin_read() as connection:
        streams, published = read_streams(connection), read_epochs(connection)
    found = []
    for group in groups_of(streams, context.settings):
        if not group.convergence:
            continue  # declared, and no diamond
        policies = {policy_of(streams[name].options, context.settings) for name in group.convergence}
        policy = "slowest" if "slowest" in policies else "fastest"
        for name in group.members:
            number = streams[name].group_id or 0
            found.append(
                DiamondGroupMember(
                    group_id=number,
                    member_name=name.table,
                    member_schema=name.namespace,
                    is_convergence=name in group.convergence,
                    epoch=published.get(number, 0),
                    schedule_policy=policy if group.atomic else "none",
                    shared_sources=tuple(str(source) for source in group.shared_sources.get(name, ())),
                )
            )
    return Listing(found)


@dataclass(frozen=True)
class RefreshGroupInfo:
    """A declared group."""

    group_id: int | None
    group_name: str
    members: tuple[str, ...]
    implied_members: tuple[str, ...]
    """Stream tables on paths between members, which have to move with them."""
    isolation: str
    snapshot_timeout_ms: int
    epoch: int
    created_at: datetime


def list_refresh_groups(context: LakeContext) -> list[RefreshGroupInfo]:
    """Every declared group, by name."""
    with context.catalog.database.begin_read() as connection:
        streams, published = read_streams(connection), read_epochs(connection)
        groups = read_declared_groups(connection)
    members, graph = declared_groups(streams), scheduled_graph(streams)
    found = []
    for name, group in groups.items():
        number = next((streams[member].group_id for member in members[name]), None)
        found.append(
            RefreshGroupInfo(
                group_id=number,
                group_name=name,
                members=tuple(str(member) for member in graph.order() if member in members[name]),
                implied_members=tuple(sorted(map(str, tables_between(graph, members[name])))),
                isolation=group.isolation,
                snapshot_timeout_ms=group.snapshot_timeout_ms,
                epoch=published.get(number or 0, 0),
                created_at=group.created_at,
            )
        )
    return Listing(found)
