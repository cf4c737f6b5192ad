"""Noticing what other Iceberg clients committed.

They swing the same pointers without writing the ledger. Comparing both shows it; no file is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from anabranch.errors import InvalidName
from anabranch.ledger import ledger
from anabranch.ledger.records import TableRecord
from anabranch.names import TableName


@dataclass(frozen=True)
class Adoption:
    """A pointer that somebody else moved: the ledger's record, if any, and where it points now."""

    namespace: str
    table: str
    record: TableRecord | None
    pointer: str | None

    @property
    def name(self) -> TableName | None:
        """The table's name in this lake, if it is a valid one."""
        try:
            return TableName(self.namespace, self.table)
        except InvalidName:
            return None


def plan_adoption(connection: Connection) -> list[Adoption]:
    """Everything that other clients did and that has no lsn yet."""
    moved = [
        Adoption(record.name.namespace, record.name.table, record, record.pointer)
        for record in ledger.read_tables(connection, moved=True)
    ]
    created = [
        Adoption(namespace, table, None, pointer)
        for namespace, table, pointer in ledger.read_foreign_pointers(connection)
    ]
    return moved + created
