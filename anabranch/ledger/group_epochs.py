"""The ids of groups, and their epochs: how often each has published. Neither is ever taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, insert, select, update

from anabranch.ledger import tables as t
from anabranch.names import TableName

Numbers = Mapping[TableName, int | None]


def store_group_ids(connection: Connection, groups: Iterable[Iterable[TableName]]) -> dict[TableName, int]:
    """Give each group its id: the one that its members have, if they have any; who is in which.

    An epoch never goes back, whatever becomes of a group: one that splits off begins with the epoch it had.
    """
    known = {
        TableName.intern(row.namespace, row.name): row.group_id
        for row in connection.execute(
            select(t.stream_tables.c.namespace, t.stream_tables.c.name, t.stream_tables.c.group_id)
        )
    }
    epochs = {row.group_id: row.epoch for row in connection.execute(select(t.groups))}
    taken: set[int] = set()
    assigned: dict[TableName, int] = {}
    for members in groups:
        names = list(members)
        before = sorted({number for name in names if (number := known.get(name)) is not None})
        epoch = max((epochs[number] for number in before), default=0)
        free = [number for number in before if number not in taken]
        number = free[0] if free else max(epochs, default=0) + 1
        if number not in epochs:
            connection.execute(insert(t.groups).values(group_id=number, epoch=epoch))
        elif epochs[number] != epoch:
            connection.execute(update(t.groups).where(t.groups.c.group_id == number).values(epoch=epoch))
        epochs[number] = epoch
        taken.add(number)
        assigned |= dict.fromkeys(names, number)
    return store_assigned_ids(connection, "group_id", known, assigned)


def store_assigned_ids(
    connection: Connection, column: str, known: Numbers, assigned: Mapping[TableName, int]
) -> dict[TableName, int]:
    """Write down a number for every stream table that has another one now; those that have one."""
    for name, number in known.items():
        if assigned.get(name) != number:
            connection.execute(
                update(t.stream_tables)
                .where(t.stream_tables.c.namespace == name.namespace, t.stream_tables.c.name == name.table)
                .values({column: assigned.get(name)})
            )
    return {name: number for name, number in assigned.items() if name in known}


def advance_epoch(connection: Connection, group_id: int) -> int:
    """The group publishes once more; the epoch that this is."""
    connection.execute(
        update(t.groups).where(t.groups.c.group_id == group_id).values(epoch=t.groups.c.epoch + 1)
    )
    found = select(t.groups.c.epoch).where(t.groups.c.group_id == group_id)
    return int(connection.execute(found).scalar_one())


def read_epochs(connection: Connection) -> dict[int, int]:
    """How often each group has published."""
    return {row.group_id: row.epoch for row in connection.execute(select(t.groups))}
