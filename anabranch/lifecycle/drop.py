"""Dropping stream tables: alone, or with all that reads them."""

from __future__ import annotations

import warnings
from functools import partial

from anabranch.commit.group_commit import Committed, DropTable, GroupCommit, Unknown
from anabranch.connection.lake_context import LakeContext
from anabranch.errors import CatalogUnavailable, HasDependents, Notice, WriteConflict
from anabranch.ledger.database import Connection
from anabranch.ledger.stream_tables import read_streams, remove_stream
from anabranch.lifecycle.refresh_groups import remove_undersized_groups, warn_of_removed_groups
from anabranch.lifecycle.store_groups import regroup
from anabranch.names import TableName
from anabranch.streams.arguments import check_flag, find_stream
from anabranch.streams.stream_graph import graph_of

TRIES = 10


def drop_stream_table(context: LakeContext, name: str, *, cascade: bool = False) -> tuple[TableName, ...]:
    """Drop a stream table, and with `cascade` what reads it; the names of those that went."""
    check_flag("cascade", cascade)
    gone: tuple[TableName, ...] = ()
    groups: list[str] = []

    def prepare(connection: Connection, attempt: str) -> GroupCommit:
        nonlocal gone
        groups.clear()
        commit, gone = _prepare_commit(context, connection, attempt, name, cascade, groups)
        return commit

    for _ in range(TRIES):
        context.catalog.lake_version()
        attempt = context.clock.new_id()
        outcome = context.catalog.commit_under_lock(attempt, partial(prepare, attempt=attempt))
        if isinstance(outcome, Unknown):
            outcome = context.catalog.settle(outcome) or outcome
        if isinstance(outcome, Committed):
            warn_of_removed_groups(groups)
            return gone
        if isinstance(outcome, Unknown):
            raise CatalogUnavailable("the catalog database takes no commits", detail=outcome.why)
    raise WriteConflict(f'"{name}" is changed again and again', hint="run it again.")


def warn_of_readers(context: LakeContext, name: str) -> None:
    """Say which stream tables read a source that was dropped, if any do."""
    with context.catalog.database.begin_read() as connection:
        streams = read_streams(connection)
    readers = [str(other) for other, stream in streams.items() if TableName.parse(name) in stream.inputs]
    if readers:
        names = ", ".join(f'"{reader}"' for reader in readers)
        text = f'"{name}" is read by {names}: held until there is a table of that name again'
        warnings.warn(Notice(text), stacklevel=3)


def _prepare_commit(
    context: LakeContext, connection: Connection, attempt: str, name: str, cascade: bool, groups: list[str]
) -> tuple[GroupCommit, tuple[TableName, ...]]:
    streams = read_streams(connection)
    stream = find_stream(streams, name)
    graph = graph_of(streams.values())
    below = graph.downstream(stream.name)
    if below and not cascade:
        names = ", ".join(f'"{other}"' for other in sorted(below))
        raise HasDependents(
            f'"{stream.name}" is read by other stream tables',
            detail=f"they are {names}.",
            hint="drop them first, or all at once with cascade=True.",
        )
    gone = tuple(other for other in reversed(graph.order()) if other in below or other == stream.name)
    versions = context.catalog.lake_version_in_transaction(connection, None).versions
    tables = [table for other in gone for table in (other, *streams[other].state_tables) if table in versions]
    steps = tuple(
        DropTable(versions[table].table_id, table, versions[table].metadata_location) for table in tables
    )

    def remove_from_ledger(inner: Connection, _lsn: int) -> None:
        for other in gone:
            remove_stream(inner, streams[other].table_id)
        groups.extend(remove_undersized_groups(inner))
        regroup(inner, context.settings)

    return GroupCommit(attempt, "drop", steps, (remove_from_ledger,)), gone
