"""Groups that people declare: stream tables that need share nothing, and are published together."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import InvalidGroup, Notice
from anabranch.ledger.database import Connection
from anabranch.ledger.declared_groups import (
    READ_COMMITTED,
    REPEATABLE_READ,
    RefreshGroup,
    add_declared_group,
    read_declared_groups,
    remove_declared_group,
)
from anabranch.ledger.stream_tables import read_streams
from anabranch.lifecycle.store_groups import regroup
from anabranch.names import TableName
from anabranch.streams.arguments import find_stream
from anabranch.streams.stream_graph import Streams, declared_groups
from anabranch.streams.stream_table import StreamTable

MAX_NAME = 128
MAX_TIMEOUT_MS = 7 * 24 * 3600 * 1000


@dataclass(frozen=True)
class RefreshGroupRequest:
    """A group as it was asked for, checked by itself."""

    name: str
    members: tuple[TableName, ...]
    isolation: str = READ_COMMITTED
    snapshot_timeout_ms: int = 0


def parse_refresh_group(
    name: object, members: object, isolation: object, snapshot_timeout_ms: object
) -> RefreshGroupRequest:
    """A group that may be asked for; a refusal names the culprit."""
    title = _parse_name(name)
    if isolation not in (READ_COMMITTED, REPEATABLE_READ):
        raise InvalidGroup(
            f"{ascii(isolation)[:60]} is no isolation", hint=f"it is {READ_COMMITTED} or {REPEATABLE_READ}."
        )
    if (
        not isinstance(snapshot_timeout_ms, int)
        or isinstance(snapshot_timeout_ms, bool)
        or not 0 <= snapshot_timeout_ms <= MAX_TIMEOUT_MS
    ):
        raise InvalidGroup(
            f"{ascii(snapshot_timeout_ms)[:60]} is no snapshot_timeout_ms",
            hint=f"it is a number from 0 (none) to {MAX_TIMEOUT_MS}.",
        )
    return RefreshGroupRequest(title, tuple(_parse_members(members)), str(isolation), snapshot_timeout_ms)


def create_refresh_group(
    context: LakeContext,
    name: str,
    members: Sequence[str],
    isolation: str = READ_COMMITTED,
    snapshot_timeout_ms: int = 0,
) -> None:
    """Declare a group. A refusal names the culprit, and stores nothing."""
    wanted = parse_refresh_group(name, members, isolation, snapshot_timeout_ms)
    with context.catalog.database.begin_write() as connection:
        add_group(connection, wanted, context.clock.now())
        regroup(connection, context.settings)


def add_group(connection: Connection, wanted: RefreshGroupRequest, now: datetime) -> None:
    """Store a group, if there is none of that name and its members may be in it."""
    if wanted.name in read_declared_groups(connection):
        raise InvalidGroup(f'there is a group "{wanted.name}" already')
    streams = read_streams(connection)
    chosen = [check_group_member(streams, member) for member in wanted.members]
    group = RefreshGroup(wanted.name, wanted.isolation, wanted.snapshot_timeout_ms, now)
    add_declared_group(connection, group, [stream.table_id for stream in chosen])


def drop_refresh_group(context: LakeContext, name: str) -> None:
    """Let the members of a declared group move on their own again."""
    title = _parse_name(name)
    with context.catalog.database.begin_write() as connection:
        if title not in read_declared_groups(connection):
            raise InvalidGroup(f'there is no group "{title}"')
        remove_declared_group(connection, title)
        regroup(connection, context.settings)


def _parse_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise InvalidGroup(f"a group is named by 1 to {MAX_NAME} printable characters")
    return name.strip()


def _parse_members(members: object) -> list[TableName]:
    if isinstance(members, str | bytes) or not isinstance(members, Sequence):
        raise InvalidGroup("a group needs a list of stream tables")
    names = [TableName.parse(member) for member in members]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InvalidGroup(f'"{twice}" is named twice')
    if len(names) < 2:
        raise InvalidGroup("a group needs two stream tables or more")
    return names


def check_group_member(streams: Streams, name: TableName) -> StreamTable:
    """A stream table that may come into a group."""
    stream = find_stream(streams, name)
    if stream.declared is not None:
        raise InvalidGroup(f'"{name}" is in the group "{stream.declared}" already')
    if stream.is_immediate:
        raise InvalidGroup(f'"{name}" is immediate: its writers publish it, not a group')
    return stream


# -- what follows from other changes --------------------------------------------------------------


def remove_undersized_groups(connection: Connection) -> list[str]:
    """Forget declared groups that have less than two members left; their names."""
    left = declared_groups(read_streams(connection))
    gone = [name for name in read_declared_groups(connection) if len(left.get(name, ())) < 2]
    for name in gone:
        remove_declared_group(connection, name)
    return gone


def warn_of_removed_groups(names: Iterable[str]) -> None:
    """Say that declared groups went."""
    for name in names:
        text = f'the group "{name}" is gone: less than two of its members are left'
        warnings.warn(Notice(text), stacklevel=4)


def warn_of_reader_outside_group(streams: Streams, name: TableName, inputs: Iterable[TableName]) -> None:
    """Say that a stream table joins members of a declared group that it isn't in."""
    read = frozenset(inputs)
    for group, members in declared_groups(streams).items():
        joined = sorted(read.intersection(members))
        if len(joined) > 1 and name not in members:
            shown = " and ".join(f'"{member}"' for member in joined)
            text = f'stream table "{name}" reads {shown} of the group "{group}" without being in it'
            warnings.warn(Notice(text), stacklevel=4)
