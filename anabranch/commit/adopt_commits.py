"""Giving what other Iceberg clients committed an lsn.

Where the catalog's pointer differs from the ledger's, every snapshot between the two becomes a version of
its own, in order, each with the next lsn. A table they created is added to the ledger, one they dropped is
dropped there too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.schema import index_name_by_id
from pyiceberg.table.metadata import TableMetadata
from sqlalchemy import Connection

from anabranch.clock import Clock
from anabranch.commit.foreign_commits import Adoption, plan_adoption
from anabranch.errors import AnabranchError, ForeignFormat, InputError, StorageError
from anabranch.iceberg.table_reader import TableReader
from anabranch.iceberg.type_mapping import from_iceberg
from anabranch.ledger import ledger
from anabranch.ledger.database import Database
from anabranch.ledger.records import TableRecord
from anabranch.names import TableName
from anabranch.schema import Schema


@dataclass(frozen=True)
class PreparedAdoption:
    """An adoption with the metadata it leads to (None: the table is gone) and its schemas."""

    item: Adoption
    name: TableName
    metadata: TableMetadata | None
    schemas: Mapping[int, Schema]
    same: bool = True
    """Whether it is still the table that the ledger knows, and not another under its name."""
    rows: Mapping[int, int] = field(default_factory=dict)
    """How many rows its snapshots have."""

    def last_snapshot_schema(self, snapshots: Sequence[int]) -> Schema | None:
        """The schema of the last of these snapshots."""
        last = self.metadata.snapshot_by_id(snapshots[-1]) if self.metadata and snapshots else None
        return None if last is None or last.schema_id is None else self.schemas.get(last.schema_id)


def prepare_adoption(reader: TableReader, item: Adoption) -> PreparedAdoption | AnabranchError:
    """Read what another client committed; an error if this lake can't use it."""
    try:
        name = TableName(item.namespace, item.table)
        if item.pointer is None:
            return PreparedAdoption(item, name, None, {})
        metadata = reader.read_metadata(item.pointer)
        _check_evolution(metadata, str(name))
        declared = item.record.schema if item.record else None
        schemas = {schema.schema_id: from_iceberg(schema, declared) for schema in metadata.schemas}
        same = _is_same_table(reader, item.record, metadata)
        new = _snapshots_after(metadata, item.record.head_snapshot if item.record and same else None)
        counted = [one for one in (*new, metadata.current_snapshot_id) if one is not None]
        rows = {one: reader.count_rows(metadata, one, str(name)) for one in counted}
        return PreparedAdoption(item, name, metadata, schemas, same, rows)
    except InputError as error:
        return ForeignFormat(
            f'the table "{item.table}", as another Iceberg client left it, can\'t be used here',
            detail=str(error),
        )
    except StorageError as error:
        return error


def _is_same_table(reader: TableReader, record: TableRecord | None, metadata: TableMetadata) -> bool:
    if record is None or record.table_id == metadata.table_uuid.hex:
        return True
    return reader.read_metadata(record.metadata_location).table_uuid == metadata.table_uuid


def record_adoptions(
    database: Database, clock: Clock, prepared: Sequence[PreparedAdoption]
) -> list[TableName]:
    """Give prepared commits their lsns, unless the pointer moved on meanwhile; the tables concerned."""
    done: list[TableName] = []
    with database.begin_write() as connection:
        current = {(item.namespace, item.table): item for item in plan_adoption(connection)}
        for ready in prepared:
            if current.get((ready.item.namespace, ready.item.table)) == ready.item:
                _assign_lsns(connection, clock, ready)
                done.append(ready.name)
    return done


def _assign_lsns(connection: Connection, clock: Clock, ready: PreparedAdoption) -> None:
    record, metadata, pointer = ready.item.record, ready.metadata, ready.item.pointer
    if record is not None and (metadata is None or not ready.same):
        ledger.drop_table(connection, record.table_id, _take_next_lsn(connection, clock))
        record = None
    if metadata is None or pointer is None:
        return
    table_id = record.table_id if record else _choose_table_id(connection, clock, metadata.table_uuid.hex)
    newest = ready.schemas[metadata.current_schema_id]

    def add_version(snapshot_id: int | None, schema_id: int, lsn: int) -> None:
        ledger.add_version(
            connection,
            table_id=table_id,
            lsn=lsn,
            snapshot_id=snapshot_id,
            rows=0 if snapshot_id is None else ready.rows[snapshot_id],
            schema_id=schema_id,
            schema=ready.schemas[schema_id],
            metadata_location=pointer,
        )

    if record is None:
        lsn = _take_next_lsn(connection, clock)
        ledger.add_table(
            connection,
            table_id=table_id,
            name=ready.name,
            kind="source",
            schema=newest,
            lsn=lsn,
            metadata_location=pointer,
        )
        add_version(None, metadata.current_schema_id, lsn)
    since = record.head_snapshot if record else None
    snapshots = _snapshots_after(metadata, since)
    for snapshot_id in snapshots:
        snapshot = metadata.snapshot_by_id(snapshot_id)
        schema_id = snapshot.schema_id if snapshot is not None else None
        add_version(
            snapshot_id,
            metadata.current_schema_id if schema_id is None else schema_id,
            _take_next_lsn(connection, clock),
        )
    if newest != (ready.last_snapshot_schema(snapshots) or (record.schema if record else newest)):
        add_version(
            metadata.current_snapshot_id, metadata.current_schema_id, _take_next_lsn(connection, clock)
        )
    ledger.update_metadata_location(connection, table_id, pointer)


def _choose_table_id(connection: Connection, clock: Clock, uuid: str) -> str:
    """The id of an adopted table: its own, unless the ledger has had that before, under whatever name."""
    return clock.new_id() if ledger.has_table_id(connection, uuid) else uuid


def _snapshots_after(metadata: TableMetadata, since: int | None) -> list[int]:
    """The snapshots after `since` up to the current one; just the current one after a rollback."""
    current = metadata.current_snapshot_id
    if current == since or current is None:
        return []
    chain: list[int] = []
    step: int | None = current
    while step is not None and step != since:
        snapshot = metadata.snapshot_by_id(step)
        if snapshot is None:
            break
        chain.append(step)
        step = snapshot.parent_snapshot_id
    return chain[::-1] if step == since else [current]


def _take_next_lsn(connection: Connection, clock: Clock) -> int:
    return ledger.take_next_lsn(
        connection, attempt="foreign-" + clock.new_id(), kind="foreign", now=clock.now()
    )


def _check_evolution(metadata: TableMetadata, name: str) -> None:
    """Refuse a column that changed its name, or a name that changed its column.

    Parquet files are read by column name; either would silently show the wrong values.
    """
    names: dict[int, str] = {}
    ids: dict[str, int] = {}
    for schema in metadata.schemas:
        for field_id, column in index_name_by_id(schema).items():
            if (
                names.setdefault(field_id, column) != column
                or ids.setdefault(column.lower(), field_id) != field_id
            ):
                raise ForeignFormat(
                    f'in "{name}" another Iceberg client renamed or re-used the column "{column}"',
                    hint="create a new table with the new names and copy the rows.",
                )
