"""Stream tables as the ledger remembers them: definition, progress, trouble; and the epochs of their groups.

Every function works inside a transaction of the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from anabranch.ledger import tables as t
from anabranch.ledger.moments import from_micros, to_micros
from anabranch.ledger.remembered import Remembered
from anabranch.names import TableName

INITIALIZING, ACTIVE, SUSPENDED, ERROR = "INITIALIZING", "ACTIVE", "SUSPENDED", "ERROR"
DEFINITION = frozenset({"query", "options", "inputs", "state_tables", "refusal", "immediate"})
CHOSEN = DEFINITION | {"status", "status_reason", "group_id", "declared", "scc_id", "fuse_blown_at"}
"""Columns that no refresh writes: people, and who is in which group, decide about them."""
MAX_REMEMBERED = 4096
"""Texts in the ledger whose meaning is kept."""


@dataclass(frozen=True)
class Options:
    """What a user may choose for a stream table (None, for diamonds: as the lake's settings say)."""

    schedule: str | None = "calculated"
    refresh_mode: str = "auto"
    diamond_consistency: str | None = None
    diamond_schedule_policy: str | None = None
    bootstrap_gating: str = "respect"
    fuse: str = "off"
    fuse_ceiling: int | None = None
    fuse_sensitivity: int = 1


@dataclass(frozen=True)
class Read:
    """One version of an input: the table that had the name, and the lsn under which the version appeared."""

    table_id: str
    lsn: int


Reads = Mapping[TableName, Read]
Frontier = Mapping[TableName, int]
"""Base sources, each with the lsn that is reflected."""


@dataclass(frozen=True)
class FuseMemory:
    """What a fuse remembers between two refreshes."""

    batches: tuple[int, ...] = ()
    """The sizes of recent batches that were not too large, oldest first."""
    in_a_row: int = 0
    """How many batches in a row were, and were applied nevertheless."""
    blown_at: datetime | None = None
    reset: str | None = None
    """What a person decided about the batch that was stopped, until a refresh has done so."""
    skipped: int = 0
    """Changes that were passed over since it was last computed from nothing."""


@dataclass(frozen=True)
class StreamTable:
    """A stream table: what it is, how far it has come, what ails it."""

    name: TableName
    table_id: str
    query: str
    options: Options
    inputs: tuple[TableName, ...]
    state_tables: tuple[TableName, ...] = ()
    refusal: str | None = None
    """Why it can't be maintained incrementally."""
    status: str = INITIALIZING
    status_reason: str | None = None
    reads: Reads | None = None
    """The versions of its inputs that the contents come from; None before the first fill."""
    frontier: Frontier = field(default_factory=dict)
    version_lsn: int | None = None
    """The lsn of the contents that the newest refresh left."""
    effective_mode: str | None = None
    mode_reason: str | None = None
    last_refresh_at: datetime | None = None
    failures: int = 0
    retry_at: datetime | None = None
    error_code: str | None = None
    error: str | None = None
    held: str | None = None
    idle: bool = False
    group_id: int | None = None
    declared: str | None = None
    """The declared group that it is in."""
    scc_id: int | None = None
    """The cycle that it is in."""
    put_off: bool = False
    """Whether its first fill waits for sources, and comes when they are ready, whatever its schedule."""
    fuse: FuseMemory = field(default_factory=FuseMemory)

    @property
    def immediate(self) -> bool:
        """Whether writers maintain it, not the scheduler."""
        return self.options.refresh_mode == "immediate"

    @property
    def filled(self) -> bool:
        """Whether it has contents."""
        return self.reads is not None


def read_streams(connection: Connection) -> dict[TableName, StreamTable]:
    """Every stream table, by name."""
    rows = connection.execute(
        select(t.stream_tables).order_by(t.stream_tables.c.namespace, t.stream_tables.c.name)
    )
    found = [_stream(row) for row in rows.all()]
    return {stream.name: stream for stream in found}


def read_immediate(connection: Connection) -> dict[TableName, StreamTable]:
    """The stream tables that writers maintain."""
    rows = connection.execute(select(t.stream_tables).where(t.stream_tables.c.immediate == 1))
    found = [_stream(row) for row in rows]
    return {stream.name: stream for stream in found}


def immediate_ids(connection: Connection) -> frozenset[str]:
    """The ids of their tables."""
    return frozenset(
        connection.scalars(select(t.stream_tables.c.table_id).where(t.stream_tables.c.immediate == 1))
    )


def retries(connection: Connection) -> list[datetime]:
    """When stream tables that failed are tried again."""
    retry_at = t.stream_tables.c.retry_at
    return [
        from_micros(micros) for micros in connection.scalars(select(retry_at).where(retry_at.is_not(None)))
    ]


def add_stream(connection: Connection, stream: StreamTable) -> None:
    """Remember a new stream table."""
    connection.execute(insert(t.stream_tables).values(**_values(stream)))


def store_definition(connection: Connection, stream: StreamTable) -> None:
    """What people chose for a stream table; how far it has come stays."""
    values = {name: value for name, value in _values(stream).items() if name in DEFINITION}
    connection.execute(
        update(t.stream_tables).where(t.stream_tables.c.table_id == stream.table_id).values(**values)
    )


def store_status(connection: Connection, stream: StreamTable) -> None:
    """Its status and what comes with it: a person has decided."""
    kept = ("status", "status_reason", "failures", "retry_at", "error_code", "error", "held")
    values = {name: value for name, value in _values(stream).items() if name in kept}
    connection.execute(
        update(t.stream_tables).where(t.stream_tables.c.table_id == stream.table_id).values(**values)
    )


def store_fuse(connection: Connection, stream: StreamTable) -> None:
    """What its fuse remembers from now on: it has blown, or a person has decided."""
    values = {name: value for name, value in _values(stream).items() if name.startswith("fuse_")}
    connection.execute(
        update(t.stream_tables).where(t.stream_tables.c.table_id == stream.table_id).values(**values)
    )


def move_stream(connection: Connection, before: str, after: str) -> None:
    """The contents are in another table from now on."""
    connection.execute(
        update(t.stream_tables).where(t.stream_tables.c.table_id == before).values(table_id=after)
    )


def note_held(connection: Connection, streams: Iterable[StreamTable]) -> None:
    """Why these are held, or that they are no more."""
    rows = [{"which": stream.table_id, "why": stream.held} for stream in streams]
    if rows:
        connection.execute(
            update(t.stream_tables)
            .where(t.stream_tables.c.table_id == bindparam("which"))
            .values(held=bindparam("why")),
            rows,
        )


def store_progress(connection: Connection, stream: StreamTable) -> None:
    """How far a refresh has brought a stream table. What people chose meanwhile stays."""
    values = {name: value for name, value in _values(stream).items() if name not in CHOSEN}
    mine = t.stream_tables.c.table_id == stream.table_id
    connection.execute(update(t.stream_tables).where(mine).values(**values))
    if stream.status == ACTIVE:
        connection.execute(
            update(t.stream_tables)
            .where(mine, t.stream_tables.c.status == INITIALIZING)
            .values(status=ACTIVE, status_reason=None)
        )


def store_trouble(connection: Connection, stream: StreamTable) -> None:
    """What a failed refresh leaves behind: the error, and when it is tried again, if at all."""
    kept = ("failures", "retry_at", "error_code", "error", "held", "idle")
    values = {name: value for name, value in _values(stream).items() if name in kept}
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


def note_idle(connection: Connection, streams: Iterable[StreamTable], now: datetime) -> None:
    """These were looked at now, and there was nothing to do."""
    rows = [{"which": stream.table_id} for stream in streams]
    if rows:
        connection.execute(
            update(t.stream_tables)
            .where(t.stream_tables.c.table_id == bindparam("which"))
            .values(last_refresh_at=to_micros(now), idle=1, held=None),
            rows,
        )


# -- what the history needs kept --------------------------------------------------------------------


def lowest_needed(connection: Connection) -> int | None:
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
        and (next_version := _version_after(connection, read)) is not None
    ]
    return min(behind) - 1 if behind else None


def _version_after(connection: Connection, read: Read) -> int | None:
    """When the version that was read was replaced (or its table dropped)."""
    found = connection.scalar(
        select(func.min(t.versions.c.lsn)).where(
            t.versions.c.table_id == read.table_id, t.versions.c.lsn > read.lsn
        )
    )
    if found is None:
        found = connection.scalar(select(t.tables.c.dropped_lsn).where(t.tables.c.table_id == read.table_id))
    return None if found is None else int(found)


# -- rows -----------------------------------------------------------------------------------------


def show_reads(reads: Reads) -> str:
    """Reads as they are stored."""
    return json.dumps({str(name): [read.table_id, read.lsn] for name, read in sorted(reads.items())})


def parse_reads(text: str) -> dict[TableName, Read]:
    """Reads from what is stored."""
    return {TableName.parse(name): Read(*value) for name, value in json.loads(text).items()}


def show_frontier(frontier: Frontier) -> str:
    """A frontier as it is stored."""
    return json.dumps({str(name): lsn for name, lsn in sorted(frontier.items())})


def parse_frontier(text: str) -> dict[TableName, int]:
    """A frontier from what is stored."""
    return {TableName.parse(name): lsn for name, lsn in json.loads(text).items()}


def _values(stream: StreamTable) -> dict[str, Any]:
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
        "reads": None if stream.reads is None else show_reads(stream.reads),
        "frontier": show_frontier(stream.frontier),
        "version_lsn": stream.version_lsn,
        "effective_mode": stream.effective_mode,
        "mode_reason": stream.mode_reason,
        "last_refresh_at": _micros(stream.last_refresh_at),
        "failures": stream.failures,
        "retry_at": _micros(stream.retry_at),
        "error_code": stream.error_code,
        "error": stream.error,
        "held": stream.held,
        "idle": int(stream.idle),
        "group_id": stream.group_id,
        "declared": stream.declared,
        "scc_id": stream.scc_id,
        "put_off": int(stream.put_off),
        "immediate": int(stream.immediate),
        "fuse_batches": json.dumps(list(stream.fuse.batches)),
        "fuse_in_a_row": stream.fuse.in_a_row,
        "fuse_blown_at": _micros(stream.fuse.blown_at),
        "fuse_reset": stream.fuse.reset,
        "fuse_skipped": stream.fuse.skipped,
    }


@Remembered
def _stream(row: Any) -> StreamTable:
    return StreamTable(
        name=TableName.stored(row.namespace, row.name),
        table_id=row.table_id,
        query=row.query,
        options=_options(row.options),
        inputs=_names(row.inputs),
        state_tables=_names(row.state_tables),
        refusal=row.refusal,
        status=row.status,
        status_reason=row.status_reason,
        reads=None if row.reads is None else MappingProxyType(parse_reads(row.reads)),
        frontier=MappingProxyType(parse_frontier(row.frontier)),
        version_lsn=row.version_lsn,
        effective_mode=row.effective_mode,
        mode_reason=row.mode_reason,
        last_refresh_at=_moment(row.last_refresh_at),
        failures=row.failures,
        retry_at=_moment(row.retry_at),
        error_code=row.error_code,
        error=row.error,
        held=row.held,
        idle=bool(row.idle),
        group_id=row.group_id,
        declared=row.declared,
        scc_id=row.scc_id,
        put_off=bool(row.put_off),
        fuse=FuseMemory(
            _batches(row.fuse_batches),
            row.fuse_in_a_row,
            _moment(row.fuse_blown_at),
            row.fuse_reset,
            row.fuse_skipped,
        ),
    )


# Many stream tables have the same options, inputs and so on: what is stored the same is read once.


@lru_cache(maxsize=MAX_REMEMBERED)
def _options(text: str) -> Options:
    return Options(**json.loads(text))


@lru_cache(maxsize=MAX_REMEMBERED)
def _batches(text: str) -> tuple[int, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=MAX_REMEMBERED)
def _names(text: str) -> tuple[TableName, ...]:
    return tuple(TableName.parse(name) for name in json.loads(text))


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
