"""The ids of cycles: given once, and never to another one."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, func, select

from anabranch.ledger import tables as t
from anabranch.ledger.group_epochs import store_assigned_ids
from anabranch.names import TableName


def store_cycle_ids(connection: Connection, cycles: Iterable[Iterable[TableName]]) -> dict[TableName, int]:
    """Give each cycle its id: the lowest that its members have, if they have any; who is in which."""
    known = {
        TableName.intern(row.namespace, row.name): row.scc_id
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
    return store_assigned_ids(connection, "scc_id", known, assigned)
