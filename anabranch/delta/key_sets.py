"""Sets of keys, as plans: the values of columns of small relations, each once."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.algebra.plan import Distinct, Join, Plan, Project, Scan, Support, UnionAll
from anabranch.algebra.plan_text import plan_text
from anabranch.algebra.scalar import Call, Ref
from anabranch.delta.look_ups import KEY, as_changed_rows, as_look_up

SourceColumn = tuple[Plan, str]
"""A small relation, and one of its columns."""


def key_set(columns: Iterable[SourceColumn]) -> Plan:
    """All values of some columns, as one column."""
    parts = [
        Project(Support(source), ((KEY, Ref(name)),)) for source, name in sorted(columns, key=_source_order)
    ]
    return Distinct(parts[0] if len(parts) == 1 else UnionAll(tuple(parts)))


def keep_keys(rows: Plan, name: str, columns: Iterable[SourceColumn], *, null_safe: bool) -> Plan:
    """The rows whose column has one of all values of some columns."""
    return Join(rows, key_set(columns), "semi", is_key(name, null_safe=null_safe))


def is_key(name: str, *, null_safe: bool) -> Call:
    """The condition that a column has one of the keys."""
    return Call("<=>" if null_safe else "=", (Ref(name), Ref(KEY)))


def _source_order(column: SourceColumn) -> tuple[int, str, str, str]:
    source, name = column
    if (changed := as_changed_rows(source)) is not None:
        return 0, changed.table, changed.columns[name], plan_text(source)
    # Two steps may have the same columns: what they compute tells them apart, in every process alike.
    look_up = as_look_up(source)
    scan = source if look_up is None else look_up.scan
    if isinstance(scan, Scan):
        return 1, scan.table, dict(scan.columns)[name], plan_text(source)
    return 2, plan_text(source), name, ""
