"""Many stream tables at once, entered into the ledger as if they were filled, with no file behind."""

from __future__ import annotations

import anabranch as ab
from anabranch.ledger import ledger
from anabranch.ledger.stream_tables import add_stream
from anabranch.names import TableName
from anabranch.refresh.refresh_member import STREAM
from anabranch.streams.stream_table import ACTIVE, Options, Read, StreamTable

LENGTH = 5
"""Stream tables in a row, each of which reads the one before."""


def enter_many(lake: ab.Lake, count: int, *, schedule: str = "1m") -> None:
    """Enter `count` stream tables, in short chains over one source; all are up to date."""
    lake.create_table("events", "id BIGINT, kind STRING")
    context, source = lake._context, TableName.parse("events")
    base = context.catalog.lake_version().version(source)
    with context.catalog.database.begin_write() as connection:
        now = context.clock.now()
        lsn = ledger.take_next_lsn(connection, attempt=context.clock.new_id(), kind="refresh", now=now)
        read = Read(base.table_id, base.lsn)
        for number in range(count):
            name, table_id = TableName.parse(f"s{number:05}"), context.clock.new_id()
            location = f"{base.metadata_location}.{table_id}"
            upstream = source if number % LENGTH == 0 else TableName.parse(f"s{number - 1:05}")
            if upstream == source:
                read = Read(base.table_id, base.lsn)
            assert ledger.create_pointer(connection, name, location)
            ledger.add_table(
                connection,
                table_id=table_id,
                name=name,
                kind=STREAM,
                schema=base.schema,
                lsn=lsn,
                metadata_location=location,
            )
            ledger.add_version(
                connection,
                table_id=table_id,
                lsn=lsn,
                snapshot_id=None,
                rows=0,
                schema_id=0,
                schema=base.schema,
                metadata_location=location,
            )
            stream = StreamTable(
                name=name,
                table_id=table_id,
                query=f"SELECT id, kind FROM {upstream} WHERE id > {number}",
                options=Options(schedule=schedule),
                inputs=(upstream,),
                status=ACTIVE,
                reads={upstream: read},
                frontier={source: base.lsn},
                version_lsn=lsn,
                effective_mode="differential",
                last_refresh_at=now,
            )
            add_stream(connection, stream)
            read = Read(table_id, lsn)
