"""Watermarks: up to which time each source is loaded, and which sources are to be loaded alike."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select, update

from anabranch.ledger import tables as t
from anabranch.ledger.gates import read_gates
from anabranch.ledger.timestamps import from_micros, to_micros
from anabranch.names import TableName
from anabranch.streams.source_readiness import Readiness, Watermark, WatermarkGroup

MICROSECOND = timedelta(microseconds=1)


def read_readiness(connection: Connection) -> Readiness:
    """All that people said about their sources."""
    return Readiness(read_gates(connection), read_watermarks(connection), read_watermark_groups(connection))


def read_watermarks(connection: Connection) -> dict[TableName, Watermark]:
    """The watermark of each source that has one."""
    rows = connection.execute(select(t.watermarks).order_by(t.watermarks.c.namespace, t.watermarks.c.name))
    found = [
        Watermark(
            TableName.intern(row.namespace, row.name),
            from_micros(row.watermark),
            from_micros(row.advanced_at),
            row.lsn,
        )
        for row in rows
    ]
    return {watermark.source: watermark for watermark in found}


def store_watermark(connection: Connection, watermark: Watermark) -> None:
    """Store a source's new watermark."""
    own = {"namespace": watermark.source.namespace, "name": watermark.source.table}
    values = {
        "watermark": to_micros(watermark.timestamp),
        "advanced_at": to_micros(watermark.advanced_at),
        "lsn": watermark.lsn,
    }
    changed = connection.execute(update(t.watermarks).filter_by(**own).values(**values))
    if changed.rowcount == 0:
        connection.execute(insert(t.watermarks).values(**own, **values))


def read_watermark_groups(connection: Connection) -> tuple[WatermarkGroup, ...]:
    """Every group, by name."""
    members: dict[str, list[TableName]] = {}
    listed = t.watermark_sources
    for row in connection.execute(select(listed).order_by(listed.c.namespace, listed.c.name)):
        members.setdefault(row.group_name, []).append(TableName.intern(row.namespace, row.name))
    rows = connection.execute(select(t.watermark_groups).order_by(t.watermark_groups.c.name))
    return tuple(
        WatermarkGroup(
            row.name,
            tuple(members.get(row.name, ())),
            row.tolerance * MICROSECOND,
            row.missing,
            from_micros(row.created_at),
        )
        for row in rows
    )


def add_watermark_group(connection: Connection, group: WatermarkGroup) -> None:
    """Remember a group."""
    connection.execute(
        insert(t.watermark_groups).values(
            name=group.name,
            tolerance=group.tolerance // MICROSECOND,
            missing=group.missing,
            created_at=to_micros(group.created_at),
        )
    )
    connection.execute(
        insert(t.watermark_sources),
        [
            {"group_name": group.name, "namespace": source.namespace, "name": source.table}
            for source in group.sources
        ],
    )


def remove_watermark_group(connection: Connection, name: str) -> None:
    """Forget a group; the watermarks of its sources stay."""
    connection.execute(delete(t.watermark_groups).where(t.watermark_groups.c.name == name))
    connection.execute(delete(t.watermark_sources).where(t.watermark_sources.c.group_name == name))


def forget_watermark(connection: Connection, source: TableName) -> None:
    """Forget the watermark of a source that is dropped: it was about rows that are gone."""
    own = {"namespace": source.namespace, "name": source.table}
    connection.execute(delete(t.watermarks).filter_by(**own))
    left = connection.execute(delete(t.watermark_sources).filter_by(**own))
    if left.rowcount:
        for group in read_watermark_groups(connection):
            if len(group.sources) < 2:
                remove_watermark_group(connection, group.name)


def read_last_watermark(connection: Connection, source: TableName) -> datetime | None:
    """A source's watermark, if it has one."""
    own = {"namespace": source.namespace, "name": source.table}
    found = connection.scalar(select(t.watermarks.c.watermark).filter_by(**own))
    return None if found is None else from_micros(found)
