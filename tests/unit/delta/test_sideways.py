"""Keys are reduced by the filtered table that they are about to meet, and nothing else changes."""

from __future__ import annotations

import random

import pytest

from anabranch.algebra.evaluate import Tables, ZSet, evaluate, net
from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    subplans,
)
from anabranch.algebra.scalar import Call, Literal, Ref
from anabranch.delta import differentiate
from anabranch.delta.semi_join_reduction import reduce_by_filtered_tables
from anabranch.delta.simplify import simplify
from tests.unit.delta.test_small_first import COLUMNS, A, B, C, on

CHOSEN = Filter(C, Call(">", (Ref("c_v"), Literal(1))))
RENAMED = Project(CHOSEN, (("other", Ref("c_k")), ("c_v", Ref("c_v"))))
TOTALS = Aggregate(
    Filter(B, Call(">", (Ref("b_v"), Literal(0)))),
    (("key", Ref("b_k")),),
    (("total", AggregateCall("sum", (Ref("b_v"),))), ("n", AggregateCall("count", ()))),
)
CHANGED = Delta("b", B.columns)


def met(kind: str, filtered: Plan, equated: str, name: str) -> Plan:
    """Rows of a that meet a filtered table, with the totals of what they have in b."""
    some = Join(A, filtered, kind, on("a_k", name))
    whole = Join(some, TOTALS, "left", on(equated, "key"))
    return Filter(whole, Call("<", (Ref("a_v"), Ref("total"))))


SHAPES = {
    "joined": met("inner", CHOSEN, "c_k", "c_k"),
    "joined by its own key": met("inner", CHOSEN, "a_k", "c_k"),
    "renamed": met("inner", RENAMED, "other", "other"),
    "there is one": met("semi", CHOSEN, "a_k", "c_k"),
}


def drawn(seed: int) -> Tables:
    choose = random.Random(seed)

    def some() -> ZSet:
        values = [None, 1, 2, 3, 4]
        return net(((choose.choice(values), choose.choice(values)), 1) for _ in range(choose.randrange(9)))

    before = {table: some() for table in "abcd"}
    return Tables(COLUMNS, before, {**before, "b": some()})


def change(plan: Plan) -> Plan:
    return simplify(differentiate(plan), changed="b")


def keys_of_groups(plan: Plan) -> list[Plan]:
    """What the groups of b are restricted to."""
    return [
        part.right
        for part in subplans(plan)
        if isinstance(part, Join)
        and part.kind == "semi"
        and isinstance(part.left, Scan)
        and part.left.table == "b"
    ]


def reads(plan: Plan) -> set[str]:
    return {part.table for part in subplans(plan) if isinstance(part, Scan)}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_filtered_table_is_asked_before_groups_are_read(shape: str) -> None:
    plan = change(SHAPES[shape])
    found = reduce_by_filtered_tables(plan)
    assert any(reads(keys) == set() for keys in keys_of_groups(plan))
    assert all(reads(keys) >= {"c"} for keys in keys_of_groups(found))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_change_stays_the_same(shape: str) -> None:
    plan = change(SHAPES[shape])
    found = reduce_by_filtered_tables(plan)
    assert found != plan
    differing = 0
    for seed in range(150):
        tables = drawn(seed)
        expected = dict(evaluate(plan, tables))
        assert dict(evaluate(found, tables)) == expected, seed
        differing += bool(expected)
    assert differing > 20


def test_without_a_filter_nothing_is_asked() -> None:
    plan = change(met("inner", C, "c_k", "c_k"))
    assert reduce_by_filtered_tables(plan) == plan


def test_keys_that_come_from_a_change_alone_stay() -> None:
    plan = simplify(differentiate(Join(A, CHOSEN, "inner", on("a_k", "c_k"))), changed="a")
    assert reduce_by_filtered_tables(plan) == plan
    assert reduce_by_filtered_tables(CHANGED) == CHANGED
