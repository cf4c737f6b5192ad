"""Shared parts become statements of their own: small ones always, others where a statement is too long."""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.evaluate import Tables, ZSet, evaluate
from anabranch.algebra.plan import (
    Delta,
    Distinct,
    IntervalEnd,
    Join,
    Materialised,
    Negate,
    Plan,
    Project,
    Support,
    UnionAll,
)
from anabranch.algebra.scalar import TRUE, Ref, equal
from anabranch.delta.materialise import LONG, WORTH, Steps, inlined_operator_count, materialise_shared
from anabranch.delta.small_subplans import IsSmall
from tests.unit.delta.small import rows, scan

COLUMNS = {"o": ("id", "item"), "i": ("id", "name")}
BEFORE: dict[str, ZSet] = {"o": rows("1 1", "2 1", "3 2"), "i": rows("1 nut", "2 bolt")}
AFTER: dict[str, ZSet] = {"o": rows("1 1", "2 2", "4 2"), "i": rows("1 nut", "2 bolt", "3 screw")}
TABLES = Tables(COLUMNS, BEFORE, AFTER)
ORDERS, ITEMS = scan("o", "id item"), scan("i", "id name")
CHANGED = Delta("o", ORDERS.columns)
JOINED = Join(ORDERS, ITEMS, "inner", equal(Ref("o_item"), Ref("i_id")))
CHANGE_JOINED = replace(JOINED, left=CHANGED)


def twice(part: Plan) -> Plan:
    """Its rows, and again those of them that have a partner among them: three uses."""
    renamed = tuple((f"{name}_", Ref(name)) for name in part.names)
    on = equal(Ref(part.names[0]), Ref(f"{part.names[0]}_"))
    return UnionAll((part, Join(part, Distinct(Project(part, renamed)), "semi", on)))


def nested(part: Plan, depth: int) -> Plan:
    """Every level uses the one below three times."""
    for _ in range(depth):
        part = twice(part)
    return part


def run(steps: Steps) -> ZSet:
    done: dict[str, ZSet] = {}
    for leaf, plan in steps.before:
        done[leaf.name] = evaluate(plan, replace(TABLES, cuts=done))
    return evaluate(steps.last, replace(TABLES, cuts=done))


def statements(steps: Steps) -> list[Plan]:
    return [*(plan for _, plan in steps.before), steps.last]


def test_operators_are_counted_at_every_use() -> None:
    assert inlined_operator_count(JOINED) == 3
    assert inlined_operator_count(twice(JOINED)) == 3 * inlined_operator_count(JOINED) + 4
    assert inlined_operator_count(nested(JOINED, 40)) > 3**40


def test_a_small_part_is_cut_out_however_short_the_plan_is() -> None:
    keys = Support(Project(CHANGE_JOINED, (("key", Ref("o_item")),)))
    on = equal(Ref("i_id"), Ref("key"))
    ends = [Join(replace(ITEMS, at=at), keys, "semi", on) for at in IntervalEnd]
    plan = UnionAll((ends[1], Negate(ends[0])))
    steps = materialise_shared(plan)
    leaf = Materialised("step_0", (("key", "key"),), weighted=False, few=True)
    assert steps.before == ((leaf, keys),)
    assert run(steps) == evaluate(plan, TABLES)


def test_a_large_part_stays_where_it_is_while_the_statement_is_short() -> None:
    plan = twice(JOINED)
    assert inlined_operator_count(plan) <= LONG
    assert materialise_shared(plan) == Steps((), plan)


def test_a_large_part_is_cut_out_where_the_statement_would_be_too_long() -> None:
    plan = nested(JOINED, 5)
    steps = materialise_shared(plan)
    assert inlined_operator_count(plan) > LONG >= max(map(inlined_operator_count, statements(steps)))
    assert not any(leaf.few or IsSmall()(leaf) for leaf, _ in steps.before)
    assert run(steps) == evaluate(plan, TABLES)


def test_no_more_is_cut_out_than_needed() -> None:
    plan = nested(JOINED, 4)
    lengths = [
        len(materialise_shared(plan, long=long).before)
        for long in (inlined_operator_count(plan), inlined_operator_count(plan) - 1, 60, 10)
    ]
    assert lengths == sorted(lengths)
    assert lengths[:2] == [0, 1]


def test_what_saves_most_is_cut_out_first() -> None:
    plan = UnionAll((twice(nested(JOINED, 2)), twice(replace(JOINED, left=Distinct(ORDERS)))))
    ((_, step),) = materialise_shared(plan, long=inlined_operator_count(plan) - 1).before
    assert step == twice(JOINED)


def test_what_would_save_little_stays() -> None:
    plan = twice(JOINED)
    assert 2 * (inlined_operator_count(JOINED) - 1) < WORTH
    assert materialise_shared(plan, long=1) == Steps((), plan)


def test_a_copy_of_a_table_is_never_kept() -> None:
    plan = UnionAll((ORDERS,) * 100)
    assert materialise_shared(plan, long=1) == Steps((), plan)


def test_pairs_of_all_rows_are_kept_only_if_nothing_else_helps() -> None:
    pairs = Join(nested(JOINED, 1), scan("p", "id"), "inner", TRUE)
    found = nested(Distinct(pairs), 4)
    plan = nested(UnionAll((found, pairs)), 3)
    kept = [plan for _, plan in materialise_shared(plan, long=60).before]
    assert kept
    assert not any(isinstance(step, Join) and step.on == TRUE for step in kept)


def test_large_changes_keep_their_weights() -> None:
    crossed = Join(CHANGED, ITEMS, "inner", TRUE)
    plan = UnionAll((Negate(crossed), *(crossed,) * 12))
    steps = materialise_shared(plan, long=20)
    assert [(leaf.weighted, leaf.few) for leaf, _ in steps.before] == [(True, False)]
    assert run(steps) == evaluate(plan, TABLES)


def test_a_plan_that_shares_everything_is_cut_in_no_time() -> None:
    steps = materialise_shared(nested(JOINED, 60))
    assert max(map(inlined_operator_count, statements(steps))) <= LONG
