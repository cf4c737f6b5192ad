"""Dropping stream tables: alone, or with all that reads them."""

from __future__ import annotations

import warnings
from functools import partial

from anabranch.errors import CatalogUnavailable, HasDependents, Notice, WriteConflict
from anabranch.ledger.database import Connection
from anabranch.ledger.streams import read_streams, remove_stream
from anabranch.lifecycle.declare import shrink_groups, tell_of_groups_gone
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.find import check_flag, found
from anabranch.refresh.graphs import graph_of, regroup
from anabranch.storage.commit import Committed, DropTable, GroupCommit, Unknown

TRIES = 10


def drop_stream_table(parts: Parts, name: str, *, cascade: bool = False) -> tuple[TableName, ...]:
    """Drop a stream table, and with `cascade` what reads it; the names of those that went."""
    check_flag("cascade", cascade)
    gone: tuple[TableName, ...] = ()
    groups: list[str] = []

    def prepare(connection: Connection, attempt: str) -> GroupCommit:
        nonlocal gone
        groups.clear()
        commit, gone = _commit(parts, connection, attempt, name, cascade, groups)
        return commit

    for _ in range(TRIES):
        parts.catalog.moment()
        attempt = parts.clock.new_id()
        outcome = parts.catalog.commit_locked(attempt, partial(prepare, attempt=attempt))
        if isinstance(outcome, Unknown):
            outcome = parts.catalog.settle(outcome) or outcome
        if isinstance(outcome, Committed):
            tell_of_groups_gone(groups)
            return gone
        if isinstance(outcome, Unknown):
            raise CatalogUnavailable("the catalog database takes no commits", detail=outcome.why)
    raise WriteConflict(f'"{name}" is changed again and again', hint="run it again.")


def tell_of_readers(parts: Parts, name: str) -> None:
    """Say which stream tables read a source that was dropped, if any do."""
    with parts.catalog.database.reading() as connection:
        streams = read_streams(connection)
    readers = [str(other) for other, stream in streams.items() if TableName.parse(name) in stream.inputs]
    if readers:
        names = ", ".join(f'"{reader}"' for reader in readers)
        text = f'"{name}" is read by {names}: held until there is a table of that name again'
        warnings.warn(Notice(text), stacklevel=3)


def _commit(
    parts: Parts, connection: Connection, attempt: str, name: str, cascade: bool, groups: list[str]
) -> tuple[GroupCommit, tuple[TableName, ...]]:
    streams = read_streams(connection)
    stream = found(streams, name)
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
    versions = parts.catalog.moment_within(connection, None).versions
    tables = [table for other in gone for table in (other, *streams[other].state_tables) if table in versions]
    steps = tuple(
        DropTable(versions[table].table_id, table, versions[table].metadata_location) for table in tables
    )

    def forget(inner: Connection, _lsn: int) -> None:
        for other in gone:
            remove_stream(inner, streams[other].table_id)
        groups.extend(shrink_groups(inner))
        regroup(inner, parts.settings)

    return GroupCommit(attempt, "drop", steps, (forget,)), gone
