"""Look-ups whose keys come from look-ups, each twice, are recognised in time linear in their number.

Each was judged once per path that leads to it: a change of TPC-DS's query 29 was never planned.
"""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import Delta, Distinct, Join, Plan, Project, Scan, Support, UnionAll
from anabranch.algebra.scalar import Call, Ref
from anabranch.delta.look_ups import FOUND_PREFIX, KEY, as_look_up, choose_look_ups

DEPTH = 30
"""By each path apart it would be looked at 2^30 times."""
A, B = FOUND_PREFIX + "a", FOUND_PREFIX + "b"


def keys_from(source: Plan, *columns: str) -> Plan:
    return Distinct(UnionAll(tuple(Project(Support(source), ((KEY, Ref(column)),)) for column in columns)))


@pytest.mark.timeout(20)
def test_look_ups_that_share_their_keys_are_recognised_soon() -> None:
    rows: Plan = Delta("t", ((A, "a"), (B, "b")))
    tables = [f"t{number}" for number in range(DEPTH)]
    for table in tables:
        scan = Scan(table, ((A, "a"), (B, "b")))
        rows = Join(scan, keys_from(rows, A, B), "semi", Call("=", (Ref(A), Ref(KEY))))
    found = as_look_up(rows)
    assert found is not None
    assert found.scan.table == tables[-1]
    chosen, _ = choose_look_ups(rows, tables)
    assert rows in chosen
    assert len(chosen) == 2 * DEPTH
