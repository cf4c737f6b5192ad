"""Where changes come from: tables. What stands in the query itself never changes."""

from __future__ import annotations

from anabranch.algebra.plan import Delta, Plan, Scan, Values, empty


def change_of_scan(scan: Scan) -> Plan:
    """Δ(T) is the table's own change."""
    return Delta(scan.table, scan.columns)


def change_of_values(values: Values) -> Plan:
    """Δ(constant) = 0."""
    return empty(values.names)
