"""Reading and writing the ledger; every function works inside a transaction of the caller's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, delete, func, insert, or_, select, update

from anabranch.ledger import tables as t
from anabranch.ledger.records import Commit, TableRecord, format_schema, parse_schema
from anabranch.ledger.row_cache import RowCache
from anabranch.ledger.timestamps import from_micros, to_micros
from anabranch.ledger.watermarks import forget_watermark
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.streams.versions import LakeVersion, TableVersion

CATALOG_NAME = "anabranch"

# What every write and refresh asks for is built once: building a statement takes longer than running it.
_CURRENT_LSN = select(t.lake.c.lsn)
_FLOOR_LSN = select(t.lake.c.floor_lsn)


# -- the lake -------------------------------------------------------------------------------------


def ensure_lake(connection: Connection, lake_id: str, warehouse: str) -> str:
    """Create the lake's own row where there is none yet; the warehouse that is in force."""
    found = connection.scalar(select(t.lake.c.warehouse))
    if found is not None:
        return str(found)
    connection.execute(insert(t.lake).values(id=1, lake_id=lake_id, warehouse=warehouse, lsn=0, floor_lsn=0))
    return warehouse


def read_warehouse(connection: Connection) -> str | None:
    """Where the lake keeps its files, if the lake exists."""
    found = connection.scalar(select(t.lake.c.warehouse))
    return None if found is None else str(found)


def read_current_lsn(connection: Connection) -> int:
    """The number of the newest commit."""
    return int(connection.execute(_CURRENT_LSN).scalar_one())


def read_floor_lsn(connection: Connection) -> int:
    """The oldest lsn that is still promised to be readable."""
    return int(connection.execute(_FLOOR_LSN).scalar_one())


def raise_floor(connection: Connection, lsn: int) -> None:
    """Promise nothing below `lsn` any more. It never sinks."""
    connection.execute(update(t.lake).where(t.lake.c.floor_lsn < lsn).values(floor_lsn=lsn))


def take_next_lsn(connection: Connection, *, attempt: str, kind: str, now: datetime) -> int:
    """Number this transaction, and remember under which attempt."""
    connection.execute(update(t.lake).values(lsn=t.lake.c.lsn + 1))
    lsn = read_current_lsn(connection)
    connection.execute(insert(t.commits).values(lsn=lsn, committed_at=to_micros(now), kind=kind))
    connection.execute(insert(t.attempts).values(attempt=attempt, lsn=lsn, decided_at=to_micros(now)))
    return lsn


def read_attempt_lsn(connection: Connection, attempt: str) -> int | None:
    """The lsn under which an attempt was committed, or None."""
    found = connection.scalar(select(t.attempts.c.lsn).where(t.attempts.c.attempt == attempt))
    return None if found is None else int(found)


def read_commit(connection: Connection, lsn: int) -> Commit | None:
    """The commit of that number, while it is remembered."""
    row = connection.execute(select(t.commits).where(t.commits.c.lsn == lsn)).one_or_none()
    return None if row is None else Commit(row.lsn, from_micros(row.committed_at), row.kind)


def read_recent_commits(connection: Connection, limit: int) -> list[Commit]:
    """The newest commits, newest first."""
    rows = connection.execute(select(t.commits).order_by(t.commits.c.lsn.desc()).limit(limit))
    return [Commit(row.lsn, from_micros(row.committed_at), row.kind) for row in rows]


def read_lsn_before(connection: Connection, moment: datetime) -> int:
    """The newest lsn committed at or before `moment` (0 if none is)."""
    newest = select(func.max(t.commits.c.lsn)).where(t.commits.c.committed_at <= to_micros(moment))
    return int(connection.scalar(newest) or 0)


# -- tables and versions --------------------------------------------------------------------------


def read_tables(connection: Connection, *, moved: bool = False) -> list[TableRecord]:
    """Every table that isn't dropped, with what the Iceberg catalog says of it; or those that moved."""
    # All at once: one by one, a database's own interface is most of what rows cost.
    return list(map(_record_from_row, connection.execute(_tables_statement(moved)).all()))


@cache
def _tables_statement(moved: bool) -> Select[Any]:
    pointer = t.iceberg_tables
    query = (
        select(t.tables, pointer.c.metadata_location.label("pointer"))
        .select_from(
            t.tables.outerjoin(
                pointer,
                and_(
                    pointer.c.catalog_name == CATALOG_NAME,
                    pointer.c.table_namespace == t.tables.c.namespace,
                    pointer.c.table_name == t.tables.c.name,
                ),
            )
        )
        .where(t.tables.c.dropped_lsn.is_(None))
        .order_by(t.tables.c.namespace, t.tables.c.name)
    )
    if moved:
        query = query.where(pointer.c.metadata_location.is_distinct_from(t.tables.c.metadata_location))
    return query


@RowCache
def _record_from_row(row: Any) -> TableRecord:
    return TableRecord(
        table_id=row.table_id,
        name=TableName.intern(row.namespace, row.name),
        kind=row.kind,
        schema=parse_schema(row.schema),
        created_lsn=row.created_lsn,
        metadata_location=row.metadata_location,
        head_lsn=row.head_lsn,
        head_snapshot=row.head_snapshot,
        rows=row.head_rows,
        pointer=row.pointer,
    )


def read_foreign_pointers(connection: Connection) -> list[tuple[str, str, str]]:
    """Namespace, name and pointer of Iceberg tables that the ledger doesn't know."""
    rows = connection.execute(_foreign_pointers_statement())
    return [(row[0], row[1], row[2]) for row in rows]


@cache
def _foreign_pointers_statement() -> Select[Any]:
    pointer = t.iceberg_tables
    known = select(t.tables.c.table_id).where(
        t.tables.c.namespace == pointer.c.table_namespace,
        t.tables.c.name == pointer.c.table_name,
        t.tables.c.dropped_lsn.is_(None),
    )
    return (
        select(pointer.c.table_namespace, pointer.c.table_name, pointer.c.metadata_location)
        .where(
            pointer.c.catalog_name == CATALOG_NAME,
            pointer.c.metadata_location.is_not(None),
            or_(pointer.c.iceberg_type.is_(None), pointer.c.iceberg_type == "TABLE"),
            ~known.exists(),
        )
        .order_by(pointer.c.table_namespace, pointer.c.table_name)
    )


def newest_lake_version(connection: Connection, records: Iterable[TableRecord]) -> LakeVersion:
    """All tables as of now, given the records read in the same transaction."""
    versions = {record.name: record.version for record in records}
    return LakeVersion(read_current_lsn(connection), read_floor_lsn(connection), versions)


def lake_version_at(connection: Connection, lsn: int) -> LakeVersion:
    """All tables as of `lsn`: those that existed then, each at its newest version by then."""
    newest = (
        select(t.versions.c.table_id, func.max(t.versions.c.lsn).label("lsn"))
        .where(t.versions.c.lsn <= lsn)
        .group_by(t.versions.c.table_id)
        .subquery()
    )
    rows = connection.execute(
        select(
            t.tables.c.table_id,
            t.tables.c.namespace,
            t.tables.c.name,
            t.tables.c.kind,
            t.tables.c.metadata_location,
            t.versions.c.lsn,
            t.versions.c.snapshot_id,
            t.versions.c.row_count,
            t.versions.c.schema,
        )
        .join(newest, newest.c.table_id == t.tables.c.table_id)
        .join(t.versions, and_(t.versions.c.table_id == newest.c.table_id, t.versions.c.lsn == newest.c.lsn))
        .where(
            t.tables.c.created_lsn <= lsn,
            or_(t.tables.c.dropped_lsn.is_(None), t.tables.c.dropped_lsn > lsn),
        )
    )
    versions = {
        TableName.intern(row.namespace, row.name): TableVersion(
            table_id=row.table_id,
            name=TableName.intern(row.namespace, row.name),
            kind=row.kind,
            schema=parse_schema(row.schema),
            lsn=row.lsn,
            snapshot_id=row.snapshot_id,
            rows=row.row_count,
            metadata_location=row.metadata_location,
        )
        for row in rows
    }
    return LakeVersion(lsn, read_floor_lsn(connection), versions)


def read_versions(connection: Connection, table_id: str) -> list[tuple[int, int | None]]:
    """(lsn, snapshot) of a table's remembered versions, oldest first."""
    rows = connection.execute(
        select(t.versions.c.lsn, t.versions.c.snapshot_id)
        .where(t.versions.c.table_id == table_id)
        .order_by(t.versions.c.lsn)
    )
    return [(row.lsn, row.snapshot_id) for row in rows]


def read_version(connection: Connection, table_id: str, lsn: int) -> TableVersion | None:
    """The version of a table that appeared under `lsn`, while it is remembered; the table may be dropped."""
    row = connection.execute(
        select(
            t.tables.c.namespace,
            t.tables.c.name,
            t.tables.c.kind,
            t.tables.c.metadata_location,
            t.versions.c.snapshot_id,
            t.versions.c.row_count,
            t.versions.c.schema,
        )
        .join(t.versions, t.versions.c.table_id == t.tables.c.table_id)
        .where(t.tables.c.table_id == table_id, t.versions.c.lsn == lsn)
    ).one_or_none()
    if row is None:
        return None
    return TableVersion(
        table_id=table_id,
        name=TableName.intern(row.namespace, row.name),
        kind=row.kind,
        schema=parse_schema(row.schema),
        lsn=lsn,
        snapshot_id=row.snapshot_id,
        rows=row.row_count,
        metadata_location=row.metadata_location,
    )


def read_first_change_time(connection: Connection, table_id: str, lsn: int) -> datetime | None:
    """When the first version of a table after `lsn` was committed, if there is one."""
    found = connection.scalar(
        select(t.commits.c.committed_at)
        .join(t.versions, t.versions.c.lsn == t.commits.c.lsn)
        .where(t.versions.c.table_id == table_id, t.versions.c.lsn > lsn)
        .order_by(t.versions.c.lsn)
        .limit(1)
    )
    return None if found is None else from_micros(found)


def forget_versions(connection: Connection, table_id: str, lsns: Iterable[int]) -> None:
    """Forget versions whose snapshots expired."""
    connection.execute(
        delete(t.versions).where(t.versions.c.table_id == table_id, t.versions.c.lsn.in_(list(lsns)))
    )


def read_head_lsn(connection: Connection, table_id: str) -> int | None:
    """The lsn of a table's newest version; None if it is dropped."""
    found = connection.scalar(
        select(t.tables.c.head_lsn).where(t.tables.c.table_id == table_id, t.tables.c.dropped_lsn.is_(None))
    )
    return None if found is None else int(found)


def has_table(connection: Connection, name: TableName) -> bool:
    """Whether there is a table of that name now."""
    found = select(t.tables.c.table_id).where(
        t.tables.c.namespace == name.namespace,
        t.tables.c.name == name.table,
        t.tables.c.dropped_lsn.is_(None),
    )
    return connection.scalar(found) is not None


def has_table_id(connection: Connection, table_id: str) -> bool:
    """Whether that id is a table's, or was until it was dropped."""
    found = select(t.tables.c.table_id).where(t.tables.c.table_id == table_id)
    return connection.scalar(found) is not None


def read_dropped_tables(connection: Connection) -> list[tuple[str, int, str]]:
    """(table id, lsn of the drop, last metadata) of tables dropped but still remembered."""
    rows = connection.execute(
        select(t.tables.c.table_id, t.tables.c.dropped_lsn, t.tables.c.metadata_location)
        .where(t.tables.c.dropped_lsn.is_not(None))
        .order_by(t.tables.c.table_id)
    )
    return [(row[0], row[1], row[2]) for row in rows]


def forget_table(connection: Connection, table_id: str) -> None:
    """Forget a dropped table altogether."""
    connection.execute(delete(t.versions).where(t.versions.c.table_id == table_id))
    connection.execute(delete(t.tables).where(t.tables.c.table_id == table_id))


def forget_commits(connection: Connection, below: int) -> None:
    """Forget commits below the floor."""
    connection.execute(delete(t.commits).where(t.commits.c.lsn < below))


def forget_attempts(connection: Connection, before: datetime) -> None:
    """Forget attempts that were decided long ago."""
    connection.execute(delete(t.attempts).where(t.attempts.c.decided_at < to_micros(before)))


# -- commits --------------------------------------------------------------------------------------


def create_pointer(connection: Connection, name: TableName, location: str) -> bool:
    """Enter a new table into the Iceberg catalog; False if the name is taken."""
    pointer = t.iceberg_tables
    taken = connection.scalar(
        select(pointer.c.table_name).where(
            pointer.c.catalog_name == CATALOG_NAME,
            pointer.c.table_namespace == name.namespace,
            pointer.c.table_name == name.table,
        )
    )
    if taken is not None:
        return False
    ensure_namespace(connection, name.namespace)
    connection.execute(
        insert(pointer).values(
            catalog_name=CATALOG_NAME,
            table_namespace=name.namespace,
            table_name=name.table,
            metadata_location=location,
            previous_metadata_location=None,
            iceberg_type="TABLE",
        )
    )
    return True


def ensure_namespace(connection: Connection, namespace: str) -> None:
    """Make the namespace known to other Iceberg clients."""
    space = t.iceberg_namespaces
    found = connection.scalar(
        select(space.c.namespace).where(space.c.catalog_name == CATALOG_NAME, space.c.namespace == namespace)
    )
    if found is None:
        connection.execute(
            insert(space).values(
                catalog_name=CATALOG_NAME, namespace=namespace, property_key="exists", property_value="true"
            )
        )


def swap_pointer(connection: Connection, name: TableName, expected: str, location: str) -> bool:
    """Point the table at new metadata if it still points at `expected`."""
    pointer = t.iceberg_tables
    changed = connection.execute(
        update(pointer)
        .where(
            pointer.c.catalog_name == CATALOG_NAME,
            pointer.c.table_namespace == name.namespace,
            pointer.c.table_name == name.table,
            pointer.c.metadata_location == expected,
        )
        .values(metadata_location=location, previous_metadata_location=expected)
    )
    return changed.rowcount == 1


def delete_pointer(connection: Connection, name: TableName, expected: str) -> bool:
    """Remove the table from the Iceberg catalog if it still points at `expected`."""
    pointer = t.iceberg_tables
    removed = connection.execute(
        delete(pointer).where(
            pointer.c.catalog_name == CATALOG_NAME,
            pointer.c.table_namespace == name.namespace,
            pointer.c.table_name == name.table,
            pointer.c.metadata_location == expected,
        )
    )
    return removed.rowcount == 1


def add_table(
    connection: Connection,
    *,
    table_id: str,
    name: TableName,
    kind: str,
    schema: Schema,
    lsn: int,
    metadata_location: str,
) -> None:
    """Remember a new table. Its first version is added by `add_version`."""
    connection.execute(
        insert(t.tables).values(
            table_id=table_id,
            namespace=name.namespace,
            name=name.table,
            kind=kind,
            schema=format_schema(schema),
            created_lsn=lsn,
            dropped_lsn=None,
            metadata_location=metadata_location,
            head_lsn=lsn,
            head_snapshot=None,
            head_rows=0,
        )
    )


def add_version(
    connection: Connection,
    *,
    table_id: str,
    lsn: int,
    snapshot_id: int | None,
    rows: int,
    schema_id: int,
    schema: Schema,
    metadata_location: str,
) -> None:
    """The table's newest version, under `lsn`."""
    shown = format_schema(schema)
    connection.execute(
        insert(t.versions).values(
            table_id=table_id,
            lsn=lsn,
            snapshot_id=snapshot_id,
            row_count=rows,
            schema_id=schema_id,
            schema=shown,
        )
    )
    connection.execute(
        update(t.tables)
        .where(t.tables.c.table_id == table_id)
        .values(
            metadata_location=metadata_location,
            head_lsn=lsn,
            head_snapshot=snapshot_id,
            head_rows=rows,
            schema=shown,
        )
    )


def update_metadata_location(connection: Connection, table_id: str, metadata_location: str) -> None:
    """The table's metadata was rewritten; its versions stay what they are."""
    connection.execute(
        update(t.tables).where(t.tables.c.table_id == table_id).values(metadata_location=metadata_location)
    )


def drop_table(connection: Connection, table_id: str, lsn: int) -> None:
    """The table is gone from `lsn` on; before, it stays readable. Its watermark goes with its rows."""
    gone = t.tables.c.table_id == table_id
    connection.execute(update(t.tables).where(gone).values(dropped_lsn=lsn))
    row = connection.execute(select(t.tables.c.namespace, t.tables.c.name).where(gone)).one_or_none()
    if row is not None:
        forget_watermark(connection, TableName.intern(row.namespace, row.name))


# -- settings and garbage -------------------------------------------------------------------------


def read_settings(connection: Connection) -> dict[str, str]:
    """What `lake.set` stored."""
    return {row.name: row.value for row in connection.execute(select(t.settings))}


def store_setting(connection: Connection, name: str, value: str) -> None:
    """Store one setting."""
    changed = connection.execute(update(t.settings).where(t.settings.c.name == name).values(value=value))
    if changed.rowcount == 0:
        connection.execute(insert(t.settings).values(name=name, value=value))


def read_garbage(connection: Connection) -> dict[str, datetime]:
    """Files found unneeded, and since when."""
    return {row.path: from_micros(row.since) for row in connection.execute(select(t.garbage))}


def mark_garbage(connection: Connection, paths: Iterable[str], now: datetime) -> None:
    """Remember files as unneeded since now."""
    if rows := [{"path": path, "since": to_micros(now)} for path in paths]:
        connection.execute(insert(t.garbage), rows)


def unmark_garbage(connection: Connection, paths: Iterable[str]) -> None:
    """Remember these files as unneeded no more: they are needed after all, or are gone."""
    if rows := [{"gone": path} for path in paths]:
        connection.execute(delete(t.garbage).where(t.garbage.c.path == bindparam("gone")), rows)
