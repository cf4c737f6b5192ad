"""The ids of cycles: given once, and never to another one."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, func, select, update

from anabranch.ledger import tables as t
from anabranch.names import TableName


def store_cycles(connection: Connection, cycles: Iterable[Iterable[TableName]]) -> dict[TableName, int]:
    """Give each cycle its id: the lowest that its members have, if they have any; who is in which."""
    known = {
        TableName(row.namespace, row.name): row.scc_id
        for row in connection.execute(
            select(t.stream_tables.c.namespace, t.stream_tables.c.name, t.stream_tables.c.scc_id)
        )
    }
    ever = connection.scalar(select(func.max(t.history.c.scc_id)))
    last = max([ever or 0, *(number for number in known.values() if number is not None)])
    taken: set[int] = set()
    assigned: dict[TableName, int] = {}
    for members in cycles:
        names = list(members)
        before = sorted({number for name in names if (number := known.get(name)) is not None} - taken)
        last = last if before else last + 1
        number = before[0] if before else last
        taken.add(number)
        assigned |= dict.fromkeys(names, number)
    for name, number in known.items():
        if assigned.get(name) != number:
            connection.execute(
                update(t.stream_tables)
                .where(t.stream_tables.c.namespace == name.namespace, t.stream_tables.c.name == name.table)
                .values(scc_id=assigned.get(name))
            )
    return {name: number for name, number in assigned.items() if name in known}
