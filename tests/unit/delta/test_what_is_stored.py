"""What a query stores of itself, and how the stored rows follow the changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from anabranch.algebra.evaluate import Row, Tables, ZSet, evaluate, plus
from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    Plan,
    Project,
    SortKey,
    StoredResult,
    Tally,
    Top,
    Window,
    WindowCall,
    walk,
)
from anabranch.algebra.scalar import Call, Literal, Ref, equal
from anabranch.delta.hidden_state import NEVER, split_hidden_state
from anabranch.delta.maintenance_plan import MaintenancePlan, plan_maintenance
from anabranch.delta.order_of_rows import Types, depends_on_order
from anabranch.delta.simplify import simplify
from tests.unit.delta.small import rows, scan

ORDERS = scan("o", "day amount")
DAY = (("day", Ref("o_day")),)
TOTAL = ("total", AggregateCall("sum", (Ref("o_amount"),)))
AVERAGE = ("average", AggregateCall("avg", (Ref("o_amount"),)))
MANY = ("many", AggregateCall("count"))
LEAST = ("least", AggregateCall("min", (Ref("o_amount"),)))


def types_of(sums: str = "bigint", averages: str = "double", arguments: str = "int") -> Mapping[str, str]:
    return {"sum": sums, "avg": averages, "count": "bigint", "min": arguments, "": arguments}


def kept(plan: Plan, known: Mapping[str, str] | None = None) -> MaintenancePlan:
    """The query as it is stored, with sums and averages of certain types."""
    kinds = known or types_of()

    def types(part: Plan) -> dict[str, str]:
        calls = dict(part.calls) if isinstance(part, Aggregate) else {}
        return {name: kinds[calls[name].function if name in calls else ""] for name in part.names}

    return plan_maintenance(plan, plan.names, types)


def refreshed(query: MaintenancePlan, stored: ZSet, before: ZSet, after: ZSet) -> dict[Row, int]:
    """What is stored after a change of the orders, by the change alone."""
    tables = Tables({"o": ("day", "amount")}, {"o": before}, {"o": after}, query.columns, stored)
    change = evaluate(simplify(query.change, changed={"o"}), tables)
    found = plus(stored, change)
    assert found == dict(evaluate(query.stored, tables))
    return found


def reads_tables(plan: Plan) -> bool:
    return any(type(part).__name__ == "Scan" for part in walk(plan))


# -- groups ---------------------------------------------------------------------------------------


def test_a_group_that_vanishes_and_returns_begins_from_nothing() -> None:
    query = kept(Aggregate(ORDERS, DAY, (TOTAL, MANY)))
    assert query.strategy == "stored state"
    with_tuesday = {("mon", 5, 1, 1): 1, ("tue", 7, 1, 1): 1}
    gone = refreshed(query, with_tuesday, rows("mon 5", "tue 7"), rows("mon 5"))
    assert gone == {("mon", 5, 1, 1): 1}
    back = refreshed(query, gone, rows("mon 5"), rows("mon 5", "tue 2"))
    assert back == {("mon", 5, 1, 1): 1, ("tue", 2, 1, 1): 1}


def test_a_group_is_not_gone_while_rows_without_values_are_left() -> None:
    query = kept(Aggregate(ORDERS, DAY, (TOTAL, MANY)))
    after = refreshed(query, {("mon", 5, 2, 1): 1}, rows("mon 5", "mon -"), rows("mon -"))
    assert after == {("mon", None, 1, 0): 1}


def test_the_group_of_null_is_found_again() -> None:
    query = kept(Aggregate(ORDERS, DAY, (MANY,)))
    assert refreshed(query, {(None, 1): 1}, rows("- 5"), rows("- 5", "- 6")) == {(None, 2): 1}


def test_a_sum_whose_last_value_goes_is_null_again() -> None:
    query = kept(Aggregate(ORDERS, (), (TOTAL,)))
    assert query.columns == ("total", "__h0")
    assert refreshed(query, {(5, 1): 1}, rows("mon 5"), rows("mon -")) == {(None, 0): 1}
    assert refreshed(query, {(None, 0): 1}, rows("mon -"), rows("mon 0")) == {(0, 1): 1}


def test_values_that_add_up_to_zero_are_not_no_values() -> None:
    query = kept(Aggregate(ORDERS, (), (TOTAL,)))
    after = refreshed(query, {(5, 1): 1}, rows("mon 5"), rows("mon 5", "mon -5"))
    assert after == {(0, 2): 1}


def test_an_average_of_no_values_is_null() -> None:
    query = kept(Aggregate(ORDERS, (), (AVERAGE,)))
    assert query.strategy == "stored state"
    assert query.columns == ("average", "__h0", "__h1")
    assert refreshed(query, {(5, 1, 5): 1}, rows("mon 5"), rows("mon -")) == {(None, 0, None): 1}
    assert refreshed(query, {(None, 0, None): 1}, rows(), rows("mon 4", "tue 8")) == {(6, 2, 12): 1}


def test_a_filtered_count_follows_only_the_rows_it_counts() -> None:
    large = AggregateCall("count", (), where=Call(">", (Ref("o_amount"), Literal(5))))
    query = kept(Aggregate(ORDERS, (), (("large", large),)))
    assert refreshed(query, {(1,): 1}, rows("mon 7"), rows("mon 7", "mon 3", "tue 9")) == {(2,): 1}


# -- what is hidden -------------------------------------------------------------------------------


def test_hidden_columns_are_stored_only_where_the_query_does_not_show_them() -> None:
    counted = Aggregate(ORDERS, DAY, (MANY,))
    assert kept(counted).hidden_columns == ()
    without_day = kept(Project(counted, (("many", Ref("many")),)))
    assert without_day.columns == ("many", "__h0")
    renamed = kept(Project(counted, (("n", Ref("many")), ("d", Ref("day")))))
    assert renamed.hidden_columns == ()


def test_a_count_that_the_query_shows_says_whether_a_sum_has_values() -> None:
    values = ("values", AggregateCall("count", (Ref("o_amount"),)))
    assert kept(Aggregate(ORDERS, (), (TOTAL, values))).hidden_columns == ()
    assert kept(Aggregate(ORDERS, (), (TOTAL, MANY))).hidden_columns == ("__h0",)


def test_keys_that_a_computation_hides_are_stored_beside_it() -> None:
    least = Aggregate(ORDERS, DAY, (LEAST,))
    shown = kept(Project(least, (("twice", Call("+", (Ref("least"), Ref("least")))),)))
    assert shown.strategy == "affected keys"
    assert shown.columns == ("twice", "__h0")
    after = refreshed(shown, {(10, "mon"): 1, (4, "tue"): 1}, rows("mon 5", "tue 2"), rows("mon 3", "tue 2"))
    assert after == {(6, "mon"): 1, (4, "tue"): 1}


# -- which way ------------------------------------------------------------------------------------


def test_having_is_not_maintained_from_state() -> None:
    many = Filter(Aggregate(ORDERS, DAY, (TOTAL, MANY)), Call(">", (Ref("many"), Literal(1))))
    query = kept(many)
    assert query.strategy == "affected keys"
    # Monday was not stored while it had one row: nothing could have been added to it.
    after = refreshed(query, {}, rows("mon 5"), rows("mon 5", "mon 7"))
    assert after == {("mon", 12, 2): 1}


def test_floating_point_sums_are_recomputed_and_exact_ones_added_to() -> None:
    totals = Aggregate(ORDERS, DAY, (TOTAL,))
    exact, floating = kept(totals), kept(totals, types_of(sums="double", arguments="double"))
    assert (exact.strategy, floating.strategy) == ("stored state", "affected keys")
    assert not reads_tables(exact.change)
    assert reads_tables(floating.change)


def test_decimals_are_added_to_as_long_as_no_digit_is_lost() -> None:
    totals = Aggregate(ORDERS, DAY, (TOTAL,))
    assert kept(totals, types_of(sums="decimal(25,2)")).strategy == "stored state"
    assert kept(totals, types_of(sums="decimal(38,10)")).strategy == "affected keys"


def test_averages_of_large_integers_are_recomputed() -> None:
    averages = Aggregate(ORDERS, DAY, (AVERAGE,))
    assert kept(averages, types_of(arguments="int")).strategy == "stored state"
    assert kept(averages, types_of(arguments="bigint")).strategy == "affected keys"


def test_a_least_value_has_no_state_that_a_change_could_be_added_to() -> None:
    assert kept(Aggregate(ORDERS, DAY, (LEAST, MANY))).strategy == "affected keys"
    counted = AggregateCall("count", (Ref("o_amount"),), distinct=True)
    assert kept(Aggregate(ORDERS, DAY, (("kinds", counted),))).strategy == "affected keys"


def test_a_count_of_several_values_is_recomputed() -> None:
    both = AggregateCall("count", (Ref("o_day"), Ref("o_amount")))
    query = kept(Aggregate(ORDERS, DAY, (("both", both),)))
    assert query.strategy == "affected keys"
    assert refreshed(query, {("mon", 1): 1}, rows("mon 5"), rows("mon 5", "mon -")) == {("mon", 1): 1}
    with pytest.raises(ValueError, match="2 values"):
        Tally(ORDERS, (), (("both", both),))


def test_a_plain_query_does_not_read_what_is_stored() -> None:
    query = kept(Filter(ORDERS, Call(">", (Ref("o_amount"), Literal(1)))))
    assert query.strategy == "change"
    assert not any(isinstance(part, StoredResult) for part in walk(query.change))


# -- state below the root -------------------------------------------------------------------------

BY_AMOUNT = (SortKey(Ref("o_amount")), SortKey(Ref("o_day")))


def test_the_first_rows_of_a_plain_table_are_not_stored_twice() -> None:
    large = Filter(ORDERS, Call(">", (Ref("o_amount"), Literal(1))))
    for source in (ORDERS, large, Project(large, tuple((name, Ref(name)) for name in large.names))):
        assert [piece.table for piece in split_hidden_state(Top(source, BY_AMOUNT, 3), ("a", "b"), "q")] == [
            "q"
        ]


def test_the_first_rows_of_groups_are_taken_from_stored_groups() -> None:
    totals = Aggregate(ORDERS, DAY, (TOTAL,))
    first = Project(Top(totals, (SortKey(Ref("total")), SortKey(Ref("day"))), 1), (("best", Ref("day")),))
    state, result = split_hidden_state(first, ("best",), "q")
    assert (state.table, state.plan, state.columns) == ("q__state", totals, ("c0", "c1"))
    assert result.table == "q"
    stored: Mapping[str, ZSet] = {"q__state": {("mon", 5): 1, ("tue", 2): 1}}
    tables = Tables({"q__state": ("c0", "c1")}, stored, stored)
    assert evaluate(result.plan, tables) == {("tue",): 1}


def join_with_days(groups: Plan) -> Plan:
    return Join(scan("c", "day"), groups, "inner", equal(Ref("c_day"), Ref("day")))


def stored_tables(plan: Plan, types: Types) -> list[str]:
    pieces = split_hidden_state(plan, plan.names, "q", NEVER, lambda part: depends_on_order(part, types))
    return [piece.table for piece in pieces]


@pytest.mark.parametrize(
    ("call", "types", "is_stored"),
    [
        (TOTAL, types_of(sums="double", arguments="double"), True),
        (TOTAL, types_of(sums="bigint"), False),
        (TOTAL, types_of(sums="decimal(25,2)", arguments="decimal(15,2)"), False),
        (AVERAGE, types_of(averages="double", arguments="double"), True),
        (AVERAGE, types_of(averages="double", arguments="bigint"), True),
        (AVERAGE, types_of(averages="double", arguments="int"), False),
        (AVERAGE, types_of(averages="decimal(19,6)", arguments="decimal(15,2)"), False),
        (LEAST, types_of(arguments="double"), False),
        (MANY, types_of(), False),
        (("spread", AggregateCall("stddev", (Ref("o_amount"),))), types_of(), True),
        (("all", AggregateCall("collect_list", (Ref("o_amount"),))), types_of(), True),
    ],
)
def test_groups_inside_are_stored_if_their_values_depend_on_the_order_of_rows(
    call: tuple[str, AggregateCall], types: Mapping[str, str], is_stored: bool
) -> None:
    groups = Aggregate(ORDERS, DAY, (call,))

    def types_in(plan: Plan) -> Mapping[str, str]:
        calls = dict(plan.calls) if isinstance(plan, Aggregate) else {}
        return {name: types[calls[name].function if name in calls else ""] for name in plan.names}

    assert stored_tables(join_with_days(groups), types_in) == ["q__state"] * is_stored + ["q"]
    # At the root what is stored is the result.
    assert stored_tables(groups, types_in) == ["q"]


def test_windows_inside_are_stored_if_they_add_floating_point_up() -> None:
    day = (Ref("o_day"),)
    for function, types, is_stored in (
        ("sum", "double", True),
        ("sum", "bigint", False),
        ("rank", "int", False),
    ):
        call = WindowCall(function, (Ref("o_amount"),), day, BY_AMOUNT)
        window = Project(Window(ORDERS, (("w", call),)), (("day", Ref("o_day")), ("w", Ref("w"))))
        found = stored_tables(join_with_days(window), lambda plan: dict.fromkeys(plan.names, types))  # noqa: B023
        assert found == ["q__state"] * is_stored + ["q"]


def test_what_stands_above_the_first_rows_stays_above_them() -> None:
    other = scan("c", "day")
    joined = Join(ORDERS, other, "semi", equal(Ref("o_day"), Ref("c_day")))
    top = Top(joined, BY_AMOUNT, 1)
    above = Filter(top, Call(">", (Ref("o_amount"), Literal(5))))
    _, result = split_hidden_state(above, above.names, "q")
    assert isinstance(result.plan, Filter)
    assert replace(result.plan, input=top) == above
