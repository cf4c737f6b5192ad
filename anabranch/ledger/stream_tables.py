"""Stream tables as the ledger remembers them: definition, progress, trouble; and the epochs of their groups.

Every function works inside a transaction of the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from anabranch.ledger import tables as t
from anabranch.ledger.row_cache import RowCache
from anabranch.ledger.timestamps import from_micros, to_micros
from anabranch.names import TableName
from anabranch.streams.stream_table import (
    ACTIVE,
    ERROR,
    INITIALIZING,
    SUSPENDED,
    Frontier,
    FuseMemory,
    Options,
    Read,
    Reads,
    StreamTable,
)

DEFINITION = frozenset({"query", "options", "inputs", "state_tables", "refusal", "immediate"})
CHOSEN = DEFINITION | {"status", "status_reason", "group_id", "declared", "scc_id", "fuse_blown_at"}
"""Columns that no refresh writes: people, and who is in which group, decide about them."""
MAX_REMEMBERED = 4096
"""How many parsed texts of the ledger are cached."""


def read_streams(connection: Connection) -> dict[TableName, StreamTable]:
    """Every stream table, by name."""
    rows = connection.execute(
        select(t.stream_tables).order_by(t.stream_tables.c.namespace, t.stream_tables.c.name)
    )
    found = [_stream_from_row(row) for row in rows.all()]
    return {stream.name: stream for stream in found}


def read_immediate_streams(connection: Connection) -> dict[TableName, StreamTable]:
    """The stream tables that writers maintain."""
    rows = connection.execute(select(t.stream_tables).where(t.stream_tables.c.immediate == 1))
    found = [_stream_from_row(row) for row in rows]
    return {stream.name: stream for stream in found}


def read_immediate_ids(connection: Connection) -> frozenset[str]:
    """The ids of their tables."""
    return frozenset(
        connection.scalars(select(t.stream_tables.c.table_id).where(t.stream_tables.c.immediate == 1))
    )


def read_retry_times(connection: Connection) -> list[datetime]:
    """When stream tables that failed are tried again."""
    retry_at = t.stream_tables.c.retry_at
    return [
        from_micros(micros) for micros in connection.scalars(select(retry_at).where(retry_at.is_not(None)))
    ]


def add_stream(connection: Connection, stream: StreamTable) -> None:
    """Remember a new stream table."""
    connection.execute(insert(t.stream_tables).values(**_row_values(stream)))


def store_definition(connection: Connection, stream: StreamTable) -> None:
    """Store what people chose for a stream table; its progress stays."""
    values = {name: value for name, value in _row_values(stream).items() if name in DEFINITION}
    connection.execute(
        update(t.stream_tables).where(t.stream_tables.c.table_id == stream.table_id).values(**values)
    )


def store_status(connection: Connection, stream: StreamTable) -> None:
    """Store a status, and what comes with it, that a person decided on."""
    kept = ("status", "status_reason", "failures", "retry_at", "error_code", "error", "held")
    values = {name: value for name, value in _row_values(stream).items() if name in kept}
    connection.execute(
        update(t.stream_tables).where(t.stream_tables.c.table_id == stream.table_id).values(**values)
    )


def store_fuse(connection: Connection, stream: StreamTable) -> None:
    """Store what its fuse remembers from now on: it has blown, or a person has decided."""
    values = {name: value for name, value in _row_values(stream).items() if name.startswith("fuse_")}
    connection.execute(
        update(t.stream_tables).where(t.stream_tables.c.table_id == stream.table_id).values(**values)
    )


def set_stream_table_id(connection: Connection, before: str, after: str) -> None:
    """Remember that the contents are in another table from now on."""
    connection.execute(
        update(t.stream_tables).where(t.stream_tables.c.table_id == before).values(table_id=after)
    )


def store_hold_reasons(connection: Connection, streams: Iterable[StreamTable]) -> None:
    """Store why these stream tables are held, or that they no longer are."""
    rows = [{"which": stream.table_id, "why": stream.held} for stream in streams]
    if rows:
        connection.execute(
            update(t.stream_tables)
            .where(t.stream_tables.c.table_id == bindparam("which"))
            .values(held=bindparam("why")),
            rows,
        )


def store_progress(connection: Connection, stream: StreamTable) -> None:
    """Store the state that a refresh left a stream table in. What people chose meanwhile stays."""
    values = {name: value for name, value in _row_values(stream).items() if name not in CHOSEN}
    mine = t.stream_tables.c.table_id == stream.table_id
    connection.execute(update(t.stream_tables).where(mine).values(**values))
    if stream.status == ACTIVE:
        connection.execute(
            update(t.stream_tables)
            .where(mine, t.stream_tables.c.status == INITIALIZING)
            .values(status=ACTIVE, status_reason=None)
        )


def store_failure(connection: Connection, stream: StreamTable) -> None:
    """Store what a failed refresh leaves behind: the error, and when it is tried again, if at all."""
    kept = ("failures", "retry_at", "error_code", "error", "held", "idle")
    values = {name: value for name, value in _row_values(stream).items() if name in kept}
    mine = t.stream_tables.c.table_id == stream.table_id
    connection.execute(update(t.stream_tables).where(mine).values(**values))
    if stream.status in (SUSPENDED, ERROR):
        connection.execute(
            update(t.stream_tables)
            .where(mine, t.stream_tables.c.status.in_([ACTIVE, INITIALIZING]))
            .values(status=stream.status, status_reason=stream.status_reason)
        )


def remove_stream(connection: Connection, table_id: str) -> None:
    """Forget a stream table; its history stays."""
    connection.execute(delete(t.stream_tables).where(t.stream_tables.c.table_id == table_id))


def store_idle(connection: Connection, streams: Iterable[StreamTable], now: datetime) -> None:
    """Remember that these were checked now, and had nothing to do."""
    rows = [{"which": stream.table_id} for stream in streams]
    if rows:
        connection.execute(
            update(t.stream_tables)
            .where(t.stream_tables.c.table_id == bindparam("which"))
            .values(last_refresh_at=to_micros(now), idle=1, held=None),
            rows,
        )


# -- what the history needs kept --------------------------------------------------------------------


def read_lowest_needed_lsn(connection: Connection) -> int | None:
    """The oldest lsn whose versions an active stream table still has to read changes from."""
    heads = {
        row.table_id: row.head_lsn
        for row in connection.execute(
            select(t.tables.c.table_id, t.tables.c.head_lsn).where(t.tables.c.dropped_lsn.is_(None))
        )
    }
    behind = [
        next_version
        for stream in read_streams(connection).values()
        if stream.reads is not None and stream.status in (ACTIVE, INITIALIZING)
        for read in stream.reads.values()
        if heads.get(read.table_id) != read.lsn
        and (next_version := _read_lsn_after(connection, read)) is not None
    ]
    return min(behind) - 1 if behind else None


def _read_lsn_after(connection: Connection, read: Read) -> int | None:
    """The lsn under which the version that was read was replaced, or its table dropped."""
    found = connection.scalar(
        select(func.min(t.versions.c.lsn)).where(
            t.versions.c.table_id == read.table_id, t.versions.c.lsn > read.lsn
        )
    )
    if found is None:
        found = connection.scalar(select(t.tables.c.dropped_lsn).where(t.tables.c.table_id == read.table_id))
    return None if found is None else int(found)


# -- rows -----------------------------------------------------------------------------------------


def format_reads(reads: Reads) -> str:
    """Reads as they are stored."""
    return json.dumps({str(name): [read.table_id, read.lsn] for name, read in sorted(reads.items())})


def parse_reads(text: str) -> dict[TableName, Read]:
    """Reads from what is stored."""
    return {TableName.parse(name): Read(*value) for name, value in json.loads(text).items()}


def format_frontier(frontier: Frontier) -> str:
    """A frontier as it is stored."""
    return json.dumps({str(name): lsn for name, lsn in sorted(frontier.items())})


def parse_frontier(text: str) -> dict[TableName, int]:
    """A frontier from what is stored."""
    return {TableName.parse(name): lsn for name, lsn in json.loads(text).items()}


def _row_values(stream: StreamTable) -> dict[str, Any]:
    options = {item.name: getattr(stream.options, item.name) for item in fields(Options)}
    return {
        "table_id": stream.table_id,
        "namespace": stream.name.namespace,
        "name": stream.name.table,
        "query": stream.query,
        "options": json.dumps(options),
        "inputs": json.dumps([str(name) for name in stream.inputs]),
        "state_tables": json.dumps([str(name) for name in stream.state_tables]),
        "refusal": stream.refusal,
        "status": stream.status,
        "status_reason": stream.status_reason,
        "reads": None if stream.reads is None else format_reads(stream.reads),
        "frontier": format_frontier(stream.frontier),
        "version_lsn": stream.version_lsn,
        "effective_mode": stream.effective_mode,
        "mode_reason": stream.mode_reason,
        "last_refresh_at": _optional_micros(stream.last_refresh_at),
        "failures": stream.failures,
        "retry_at": _optional_micros(stream.retry_at),
        "error_code": stream.error_code,
        "error": stream.error,
        "held": stream.held,
        "idle": int(stream.idle),
        "group_id": stream.group_id,
        "declared": stream.declared,
        "scc_id": stream.scc_id,
        "put_off": int(stream.put_off),
        "immediate": int(stream.is_immediate),
        "fuse_batches": json.dumps(list(stream.fuse.batches)),
        "fuse_in_a_row": stream.fuse.in_a_row,
        "fuse_blown_at": _optional_micros(stream.fuse.blown_at),
        "fuse_reset": stream.fuse.reset,
        "fuse_skipped": stream.fuse.skipped,
    }


@RowCache
def _stream_from_row(row: Any) -> StreamTable:
    return StreamTable(
        name=TableName.intern(row.namespace, row.name),
        table_id=row.table_id,
        query=row.query,
        options=_parse_options(row.options),
        inputs=_parse_names(row.inputs),
        state_tables=_parse_names(row.state_tables),
        refusal=row.refusal,
        status=row.status,
        status_reason=row.status_reason,
        reads=None if row.reads is None else MappingProxyType(parse_reads(row.reads)),
        frontier=MappingProxyType(parse_frontier(row.frontier)),
        version_lsn=row.version_lsn,
        effective_mode=row.effective_mode,
        mode_reason=row.mode_reason,
        last_refresh_at=_optional_datetime(row.last_refresh_at),
        failures=row.failures,
        retry_at=_optional_datetime(row.retry_at),
        error_code=row.error_code,
        error=row.error,
        held=row.held,
        idle=bool(row.idle),
        group_id=row.group_id,
        declared=row.declared,
        scc_id=row.scc_id,
        put_off=bool(row.put_off),
        fuse=FuseMemory(
            _parse_batches(row.fuse_batches),
            row.fuse_in_a_row,
            _optional_datetime(row.fuse_blown_at),
            row.fuse_reset,
            row.fuse_skipped,
        ),
    )


# Many stream tables have the same options, inputs and so on: what is stored the same is read once.


@lru_cache(maxsize=MAX_REMEMBERED)
def _parse_options(text: str) -> Options:
    return Options(**json.loads(text))


@lru_cache(maxsize=MAX_REMEMBERED)
def _parse_batches(text: str) -> tuple[int, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=MAX_REMEMBERED)
def _parse_names(text: str) -> tuple[TableName, ...]:
    return tuple(TableName.parse(name) for name in json.loads(text))


def _optional_micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _optional_datetime(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
