"""Which project made what. Only what a project made goes when its files name it no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Table, select, update

from anabranch.ledger import tables as t
from anabranch.names import TableName


@dataclass(frozen=True)
class Owners:
    """Projects by what they made; what people made by hand is not in it."""

    stream_tables: Mapping[TableName, str]
    refresh_groups: Mapping[str, str]
    watermark_groups: Mapping[str, str]


def read_owners(connection: Connection) -> Owners:
    """Who made what."""
    made = t.stream_tables
    rows = connection.execute(
        select(made.c.namespace, made.c.name, made.c.project)
        .where(made.c.project.is_not(None))
        .order_by(made.c.namespace, made.c.name)
    )
    return Owners(
        {TableName(row.namespace, row.name): row.project for row in rows},
        _read_group_owners(connection, t.refresh_groups),
        _read_group_owners(connection, t.watermark_groups),
    )


def store_table_owner(connection: Connection, project: str, names: Iterable[TableName]) -> None:
    """A project made these."""
    for name in names:
        own = {"namespace": name.namespace, "name": name.table}
        connection.execute(update(t.stream_tables).filter_by(**own).values(project=project))


def store_group_owner(
    connection: Connection, project: str, refresh_groups: Iterable[str], watermark_groups: Iterable[str]
) -> None:
    """A project declared these."""
    for table, names in ((t.refresh_groups, refresh_groups), (t.watermark_groups, watermark_groups)):
        for name in names:
            connection.execute(update(table).where(table.c.name == name).values(project=project))


def _read_group_owners(connection: Connection, table: Table) -> dict[str, str]:
    rows = connection.execute(
        select(table.c.name, table.c.project).where(table.c.project.is_not(None)).order_by(table.c.name)
    )
    return {row.name: row.project for row in rows}
