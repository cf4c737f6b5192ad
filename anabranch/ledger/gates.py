"""Gates: which sources are not ready. They go by name: behind one, a source may be dropped and made anew."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, insert, select, update

from anabranch.ledger import tables as t
from anabranch.ledger.timestamps import from_micros, to_micros
from anabranch.names import TableName
from anabranch.streams.source_readiness import Gate

MAX_GATED_BY = 255


def read_gates(connection: Connection) -> dict[TableName, Gate]:
    """Every gate, shut or open, by the name of its source."""
    rows = connection.execute(select(t.gates).order_by(t.gates.c.namespace, t.gates.c.name))
    found = [_gate_from_row(row) for row in rows]
    return {gate.source: gate for gate in found}


def shut_gate(connection: Connection, source: TableName, *, now: datetime, by: str, auto: bool) -> bool:
    """Gate a source; whether that changed anything. One that is shut stays as old as it is."""
    before = read_gate(connection, source)
    if before is not None and before.gated:
        if before.auto_ungate == auto:
            return False
        connection.execute(update(t.gates).where(_source_condition(source)).values(auto_ungate=int(auto)))
        return True
    values = {
        "gated": 1,
        "gated_at": to_micros(now),
        "ungated_at": None,
        "gated_by": by[:MAX_GATED_BY],
        "auto_ungate": int(auto),
        "told": 0,
    }
    if before is None:
        connection.execute(insert(t.gates).values(namespace=source.namespace, name=source.table, **values))
    else:
        connection.execute(update(t.gates).where(_source_condition(source)).values(**values))
    return True


def open_gate(connection: Connection, source: TableName, *, now: datetime, auto: bool = False) -> bool:
    """Ungate a source; whether it was gated. `auto`: only if the first watermark is to open it."""
    shut = [_source_condition(source), t.gates.c.gated == 1]
    if auto:
        shut.append(t.gates.c.auto_ungate == 1)
    changed = connection.execute(update(t.gates).where(*shut).values(gated=0, ungated_at=to_micros(now)))
    return changed.rowcount == 1


def mark_gates_reported(connection: Connection, gates: Iterable[Gate]) -> list[Gate]:
    """Remember that somebody is told of these; those of which nobody was, and which are still the same."""
    fresh = []
    for gate in gates:
        same = (
            _source_condition(gate.source),
            t.gates.c.gated == 1,
            t.gates.c.gated_at == to_micros(gate.gated_at),
        )
        changed = connection.execute(update(t.gates).where(*same, t.gates.c.told == 0).values(told=1))
        if changed.rowcount == 1:
            fresh.append(gate)
    return fresh


def read_gate(connection: Connection, source: TableName) -> Gate | None:
    """One source's gate, if it has or had one."""
    row = connection.execute(select(t.gates).where(_source_condition(source))).one_or_none()
    return None if row is None else _gate_from_row(row)


def _source_condition(source: TableName) -> ColumnElement[bool]:
    return and_(t.gates.c.namespace == source.namespace, t.gates.c.name == source.table)


def _gate_from_row(row: Any) -> Gate:
    return Gate(
        source=TableName.intern(row.namespace, row.name),
        gated=bool(row.gated),
        gated_at=from_micros(row.gated_at),
        gated_by=row.gated_by,
        ungated_at=None if row.ungated_at is None else from_micros(row.ungated_at),
        auto_ungate=bool(row.auto_ungate),
        told=bool(row.told),
    )
