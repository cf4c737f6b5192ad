"""Storing which stream tables form groups and cycles, after definitions changed."""

from __future__ import annotations

from anabranch.ledger.cycle_ids import store_cycle_ids
from anabranch.ledger.database import Connection
from anabranch.ledger.group_epochs import store_group_ids
from anabranch.ledger.stream_tables import read_streams
from anabranch.names import TableName
from anabranch.settings import Settings
from anabranch.streams.stream_graph import graph_of, groups_of


def regroup(connection: Connection, settings: Settings) -> dict[TableName, int]:
    """Store which stream tables form groups and cycles now; the ids of groups that are published together."""
    streams = read_streams(connection)
    store_cycle_ids(connection, graph_of(streams.values()).cycles)
    found = groups_of(streams, settings)
    ids = store_group_ids(connection, [group.members for group in found])
    return {name: ids[name] for group in found if group.atomic for name in group.members}
