"""What a stream table is: its query, its options and its place among the others. Needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.inspect.fuses import FuseStatus, fuse_state, stream_fuse_status
from anabranch.inspect.status import StreamTableStatus, read_status
from anabranch.names import TableName
from anabranch.read.table_info import ColumnInfo, columns_of
from anabranch.refresh.run_context import read_newest_state
from anabranch.streams.arguments import find_stream
from anabranch.streams.fuse import OFF
from anabranch.streams.stream_graph import cycle_of, graph_of, groups_of


@dataclass(frozen=True)
class StreamTableInfo:
    """A stream table's definition, its status and its company."""

    status: StreamTableStatus
    query: str
    options: Mapping[str, Any]
    """As `create_stream_table` takes them."""
    columns: tuple[ColumnInfo, ...]
    reads: tuple[str, ...]
    read_by: tuple[str, ...]
    group: tuple[str, ...]
    """What it is published with, itself among them; nothing if it moves alone."""
    cycle: tuple[str, ...]
    """The stream tables that it is made from and made into, itself among them; nothing outside of cycles."""
    fuse: FuseStatus | None
    """None if it is off."""


def describe_stream_table(context: LakeContext, name: str) -> StreamTableInfo:
    """All that is known of a stream table without working out how it is maintained."""
    wanted = TableName.parse(name)
    known = {entry.name: entry for entry in read_status(context)}
    lake_version, streams = read_newest_state(context)
    # Only those that both reads returned: it may be dropped or created in between.
    stream = find_stream({name: entry for name, entry in streams.items() if str(name) in known}, wanted)
    graph = graph_of(streams.values())
    circle = cycle_of(graph, wanted)
    members = next(
        (group.members for group in groups_of(streams, context.settings) if wanted in group.members),
        tuple(sorted(circle)),
    )
    version = lake_version.versions.get(wanted)
    return StreamTableInfo(
        status=known[str(wanted)],
        query=stream.query,
        options=asdict(stream.options),
        columns=() if version is None else columns_of(version.schema),
        reads=tuple(map(str, stream.inputs)),
        read_by=tuple(sorted(map(str, graph.readers(wanted)))),
        group=tuple(map(str, members)),
        cycle=tuple(sorted(map(str, circle))),
        fuse=None if fuse_state(stream) == OFF else stream_fuse_status(context, stream, lake_version),
    )
