"""Groups that only some keys are asked of are computed for these keys alone."""

from __future__ import annotations

import random

import pytest

from anabranch.algebra.evaluate import Tables, ZSet, evaluate, net
from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Support,
    subplans,
)
from anabranch.algebra.scalar import Call, Literal, Ref, equal
from anabranch.delta.restrict_groups import KEY, drop_repeated_restrictions, restrict_groups
from tests.unit.delta.small import change, rows, scan

PARTS, LINES = scan("p", "key brand"), scan("l", "part amount")
OTHER_LINES = Scan("l", (("part_2", "part"), ("amount_2", "amount")))
BRAND = Filter(PARTS, equal(Ref("p_brand"), Literal("blue")))
MOST = AggregateCall("max", (Ref("amount_2"),))
PER_PART = Aggregate(OTHER_LINES, (("g", Ref("part_2")),), (("most", MOST),))
OF_BRAND = Join(BRAND, LINES, "inner", equal(Ref("p_key"), Ref("l_part")))
COLUMNS = {"p": "key brand", "l": "part amount"}
PARTS_ROWS = rows("1 blue", "2 red", "3 blue", "- blue")
LINES_ROWS = rows("1 5", "1 7", "2 9", "3 1", "- 4")


def query(kind: str = "left", asking: Plan = OF_BRAND, key: str = "p_key") -> Plan:
    return Join(asking, PER_PART, kind, equal(Ref(key), Ref("g")))  # type: ignore[arg-type]


def restricted(plan: Plan) -> list[Join]:
    return [part for part in subplans(plan) if isinstance(part, Join) and KEY in part.right.names]


@pytest.mark.parametrize("key", ["p_key", "l_part"])
@pytest.mark.parametrize("kind", ["left", "inner", "semi", "anti"])
def test_rows_are_the_same_and_only_rows_of_the_filtered_table_are_grouped(kind: str, key: str) -> None:
    plan = query(kind, key=key)
    found = restrict_groups(plan)
    (join,) = restricted(found)
    assert join.left == OTHER_LINES
    assert any(part == BRAND for part in subplans(join.right))
    tables = Tables({"p": ("key", "brand"), "l": ("part", "amount")}, {}, {"p": PARTS_ROWS, "l": LINES_ROWS})
    assert evaluate(found, tables) == evaluate(plan, tables)


def test_the_kept_rows_of_a_full_join_ask_for_all_groups() -> None:
    assert restrict_groups(query("full")) == query("full")


def test_without_a_filter_all_keys_are_asked_for() -> None:
    plain = Join(PARTS, LINES, "inner", equal(Ref("p_key"), Ref("l_part")))
    assert restrict_groups(query(asking=plain)) == query(asking=plain)


def test_a_filter_on_what_is_grouped_itself_restricts_nothing() -> None:
    own = Filter(LINES, Call(">", (Ref("l_amount"), Literal(1))))
    assert restrict_groups(query(asking=own, key="l_part")) == query(asking=own, key="l_part")


def test_a_value_of_the_padded_side_is_not_one_of_the_filtered_table_alone() -> None:
    padded = Join(LINES, BRAND, "left", equal(Ref("l_part"), Ref("p_key")))
    assert restrict_groups(query(asking=padded, key="l_part")) == query(asking=padded, key="l_part")


@pytest.mark.parametrize("after", ["2 blue", "1 red", "4 blue"])
def test_its_change_is_right_where_the_filtered_table_changes(after: str) -> None:
    for kind in ("left", "inner", "semi", "anti"):
        change(
            restrict_groups(query(kind)),
            COLUMNS,
            {"p": PARTS_ROWS, "l": LINES_ROWS},
            {"p": rows("1 blue", "3 blue", after), "l": rows("1 5", "2 9", "3 1", "4 4")},
        )


def test_keys_that_come_from_the_filtered_table_are_not_restricted_by_it_again() -> None:
    keys = Distinct(Project(Support(OF_BRAND), (("k", Ref("p_key")),)))
    by_keys = Join(OTHER_LINES, keys, "semi", equal(Ref("part_2"), Ref("k")))
    again = Join(by_keys, Project(BRAND, ((KEY, Ref("p_key")),)), "semi", equal(Ref("part_2"), Ref(KEY)))
    assert drop_repeated_restrictions(again) == by_keys


def test_keys_of_all_parts_are_restricted() -> None:
    keys = Distinct(Project(Support(PARTS), (("k", Ref("p_key")),)))
    by_keys = Join(OTHER_LINES, keys, "semi", equal(Ref("part_2"), Ref("k")))
    again = Join(by_keys, Project(BRAND, ((KEY, Ref("p_key")),)), "semi", equal(Ref("part_2"), Ref(KEY)))
    assert drop_repeated_restrictions(again) == again


def test_a_subplan_that_is_read_many_times_is_looked_through_once() -> None:
    asking: Plan = Project(LINES, (("k", Ref("l_part")),))
    for _ in range(60):
        sides = (Project(asking, ((name, Ref("k")),)) for name in ("one", "other"))
        asking = Project(Join(*sides, "inner", equal(Ref("one"), Ref("other"))), (("k", Ref("one")),))
    assert restrict_groups(query(asking=asking, key="k")) == query(asking=asking, key="k")


def drawn(choose: random.Random, values: list[object]) -> ZSet:
    keys: list[object] = [None, 1, 2, 3]
    return net(((choose.choice(keys), choose.choice(values)), 1) for _ in range(choose.randrange(9)))


@pytest.mark.parametrize("seed", range(40))
def test_over_drawn_tables_that_all_change_it_means_the_same(seed: int) -> None:
    choose = random.Random(seed)
    ends = [
        {"p": drawn(choose, ["blue", "red", None]), "l": drawn(choose, [None, 1, 2, 5])} for _ in range(2)
    ]
    for kind in ("left", "inner", "semi", "anti"):
        found = change(restrict_groups(query(kind)), COLUMNS, ends[0], ends[1])
        assert found == change(query(kind), COLUMNS, ends[0], ends[1])
