"""The corners in which change rules go wrong, each by name."""

from __future__ import annotations

from anabranch.algebra.evaluate import ZSet
from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Join,
    Plan,
    Project,
    SetOp,
    SortKey,
    Top,
    UnionAll,
    Window,
    WindowCall,
)
from anabranch.algebra.scalar import TRUE, Call, Ref, equal
from tests.unit.delta.small import change, rows, scan

ORDERS = scan("o", "id day amount")
CUSTOMERS = scan("c", "id region")
BY_DAY = Aggregate(
    ORDERS,
    (("day", Ref("o_day")),),
    (
        ("total", AggregateCall("sum", (Ref("o_amount"),))),
        ("many", AggregateCall("count")),
        ("least", AggregateCall("min", (Ref("o_amount"),))),
    ),
)
COLUMNS = {"o": "id day amount", "c": "id region"}


def orders_change(plan: Plan, before: ZSet, after: ZSet) -> dict[tuple[object, ...], int]:
    return change(plan, {"o": COLUMNS["o"]}, {"o": before}, {"o": after})


def both_change(
    plan: Plan, orders: tuple[ZSet, ZSet], customers: tuple[ZSet, ZSet]
) -> dict[tuple[object, ...], int]:
    return change(plan, COLUMNS, {"o": orders[0], "c": customers[0]}, {"o": orders[1], "c": customers[1]})


def test_the_last_row_of_a_group_takes_the_group_with_it() -> None:
    before, after = rows("1 mon 5", "2 tue 7"), rows("1 mon 5")
    assert orders_change(BY_DAY, before, after) == {("tue", 7, 1, 7): -1}


def test_a_group_that_vanished_returns_with_fresh_totals() -> None:
    assert orders_change(BY_DAY, rows(), rows("9 tue 2")) == {("tue", 2, 1, 2): 1}


def test_a_sum_over_nulls_only_is_null_and_not_zero() -> None:
    before, after = rows("1 mon 5", "2 mon -"), rows("2 mon -")
    assert orders_change(BY_DAY, before, after) == {("mon", 5, 2, 5): -1, ("mon", None, 1, None): 1}


def test_null_is_a_group_of_its_own() -> None:
    before, after = rows("1 - 5", "2 - 6"), rows("1 - 5")
    assert orders_change(BY_DAY, before, after) == {(None, 11, 2, 5): -1, (None, 5, 1, 5): 1}


def test_the_least_value_leaves_and_the_next_takes_its_place() -> None:
    before, after = rows("1 mon 5", "2 mon 7"), rows("2 mon 7")
    assert orders_change(BY_DAY, before, after) == {("mon", 12, 2, 5): -1, ("mon", 7, 1, 7): 1}


def test_an_update_within_a_group_touches_the_group_though_its_key_stays() -> None:
    assert orders_change(BY_DAY, rows("1 mon 5"), rows("1 mon 6")) == {
        ("mon", 5, 1, 5): -1,
        ("mon", 6, 1, 6): 1,
    }


def test_a_row_updated_to_itself_changes_nothing() -> None:
    assert orders_change(BY_DAY, rows("1 mon 5"), rows("1 mon 5")) == {}


def test_changes_that_cancel_within_a_group_leave_no_trace() -> None:
    before, after = rows("1 mon 5", "2 mon 7"), rows("1 mon 7", "2 mon 5")
    assert orders_change(BY_DAY, before, after) == {}


def test_one_of_two_equal_rows_goes_and_the_distinct_row_stays() -> None:
    days = Distinct(Project(ORDERS, (("day", Ref("o_day")),)))
    assert orders_change(days, rows("1 mon 5", "2 mon 7"), rows("1 mon 5")) == {}
    assert orders_change(days, rows("1 mon 5"), rows()) == {("mon",): -1}


def test_duplicates_keep_their_count_through_a_projection_and_a_union() -> None:
    days = Project(ORDERS, (("day", Ref("o_day")),))
    twice = UnionAll((days, days))
    assert orders_change(twice, rows("1 mon 5"), rows("1 mon 5", "2 mon 5", "3 mon 5")) == {("mon",): 4}


def test_a_count_over_nothing_is_zero_and_not_missing() -> None:
    count = Aggregate(ORDERS, (), (("many", AggregateCall("count")),))
    assert orders_change(count, rows("1 mon 5"), rows()) == {(1,): -1, (0,): 1}
    assert orders_change(count, rows(), rows()) == {}


def test_both_sides_of_a_join_deleted_in_one_round_are_subtracted_once() -> None:
    joined = Join(ORDERS, CUSTOMERS, "inner", equal(Ref("o_id"), Ref("c_id")))
    assert both_change(joined, (rows("1 mon 5"), rows()), (rows("1 north"), rows())) == {
        (1, "mon", 5, 1, "north"): -1
    }


def test_both_sides_of_a_join_inserted_in_one_round_are_added_once() -> None:
    joined = Join(ORDERS, CUSTOMERS, "inner", equal(Ref("o_id"), Ref("c_id")))
    assert both_change(joined, (rows(), rows("1 mon 5")), (rows(), rows("1 north"))) == {
        (1, "mon", 5, 1, "north"): 1
    }


def test_null_join_keys_match_nothing_but_are_preserved_by_a_left_join() -> None:
    joined = Join(ORDERS, CUSTOMERS, "left", equal(Ref("o_id"), Ref("c_id")))
    before, after = rows("- mon 5"), rows("- mon 5", "- tue 6")
    assert both_change(joined, (before, after), (rows("- north"), rows("- north"))) == {
        (None, "tue", 6, None, None): 1
    }


def test_the_first_partner_replaces_the_padding_and_the_last_brings_it_back() -> None:
    joined = Join(ORDERS, CUSTOMERS, "left", equal(Ref("o_id"), Ref("c_id")))
    orders = (rows("1 mon 5"), rows("1 mon 5"))
    padded, paired = (1, "mon", 5, None, None), (1, "mon", 5, 1, "north")
    assert both_change(joined, orders, (rows(), rows("1 north"))) == {padded: -1, paired: 1}
    assert both_change(joined, orders, (rows("1 north"), rows())) == {padded: 1, paired: -1}


def test_a_second_partner_does_not_touch_a_semi_join() -> None:
    known = Join(ORDERS, CUSTOMERS, "semi", equal(Ref("o_id"), Ref("c_id")))
    orders = (rows("1 mon 5"), rows("1 mon 5"))
    assert both_change(known, orders, (rows("1 north"), rows("1 north", "1 south"))) == {}


def test_not_in_over_a_set_that_gains_a_null_loses_every_row() -> None:
    outside = Join(ORDERS, CUSTOMERS, "anti", Call("coalesce", (equal(Ref("o_id"), Ref("c_id")), TRUE)))
    orders = (rows("1 mon 5", "2 tue 6"), rows("1 mon 5", "2 tue 6"))
    before, after = rows("2 north"), rows("2 north", "- south")
    assert both_change(outside, orders, (before, after)) == {(1, "mon", 5): -1}
    assert both_change(outside, orders, (after, before)) == {(1, "mon", 5): 1}


def test_not_in_over_nothing_keeps_even_a_null() -> None:
    outside = Join(ORDERS, CUSTOMERS, "anti", Call("coalesce", (equal(Ref("o_id"), Ref("c_id")), TRUE)))
    orders = (rows("- mon 5"), rows("- mon 5"))
    assert both_change(outside, orders, (rows("2 north"), rows())) == {(None, "mon", 5): 1}


def test_a_full_join_pads_whichever_side_is_left_alone() -> None:
    joined = Join(ORDERS, CUSTOMERS, "full", equal(Ref("o_id"), Ref("c_id")))
    assert both_change(joined, (rows("1 mon 5"), rows()), (rows("1 north"), rows("1 north"))) == {
        (1, "mon", 5, 1, "north"): -1,
        (None, None, None, 1, "north"): 1,
    }


def test_except_all_counts_and_except_does_not() -> None:
    days = Project(ORDERS, (("day", Ref("o_day")),))
    regions = Project(CUSTOMERS, (("region", Ref("c_region")),))
    orders = (rows("1 mon 5"), rows("1 mon 5", "2 mon 6"))
    customers = (rows("1 mon"), rows("1 mon"))
    assert both_change(SetOp(days, regions, "except", all=True), orders, customers) == {("mon",): 1}
    assert both_change(SetOp(days, regions, "except"), orders, customers) == {}


def test_a_row_that_enters_the_top_pushes_the_last_one_out() -> None:
    best = Top(ORDERS, (SortKey(Ref("o_amount"), descending=True), SortKey(Ref("o_id"))), 2)
    before, after = rows("1 mon 5", "2 tue 7"), rows("1 mon 5", "2 tue 7", "3 wed 6")
    assert orders_change(best, before, after) == {(1, "mon", 5): -1, (3, "wed", 6): 1}


def test_a_new_row_renumbers_its_partition_and_no_other() -> None:
    call = WindowCall("row_number", (), (Ref("o_day"),), (SortKey(Ref("o_amount")),))
    numbered = Window(ORDERS, (("place", call),))
    before, after = rows("1 mon 5", "2 tue 7"), rows("1 mon 5", "2 tue 7", "3 mon 1")
    assert orders_change(numbered, before, after) == {
        (1, "mon", 5, 1): -1,
        (1, "mon", 5, 2): 1,
        (3, "mon", 1, 1): 1,
    }


def test_empty_tables_change_nothing_and_break_nothing() -> None:
    for kind in ("inner", "left", "full", "semi", "anti"):
        joined = Join(ORDERS, CUSTOMERS, kind, equal(Ref("o_id"), Ref("c_id")))  # type: ignore[arg-type]
        assert both_change(joined, (rows(), rows()), (rows(), rows())) == {}
