"""How each kind of operator is explained."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Plan,
    Project,
    Scan,
    SetOp,
    SortKey,
    Top,
    UnionAll,
    Values,
    Window,
    WindowCall,
    walk,
)
from anabranch.algebra.scalar import TRUE, Call, Literal, Ref, equal
from anabranch.delta import differentiate
from anabranch.delta.explain_strategies import (
    WIDTH,
    HiddenColumn,
    OperatorStrategy,
    hidden_columns,
    operators,
    root_strategy,
    strategies,
    tree_text,
)
from anabranch.delta.maintenance_plan import MaintenancePlan, Types, plan_maintenance
from tests.spec.specs import lowered, paths, read
from tests.unit.delta.small import scan

ORDERS = scan("o", "id day amount")
CUSTOMERS = scan("c", "id region")
DAY, AMOUNT = Ref("o_day"), Ref("o_amount")
MATCH = equal(Ref("o_id"), Ref("c_id"))
SUM = AggregateCall("sum", (AMOUNT,))


def by_day(*calls: AggregateCall) -> Aggregate:
    return Aggregate(ORDERS, (("day", DAY),), tuple((f"x{place}", call) for place, call in enumerate(calls)))


def chosen(plan: Plan) -> str:
    return str(strategies(plan)[plan])


def kept(plan: Plan, amount: str = "int") -> MaintenancePlan:
    return plan_maintenance(plan, plan.names, types(amount))


def at_the_root(plan: Plan, amount: str = "int") -> OperatorStrategy | None:
    return root_strategy(plan, kept(plan, amount), types(amount))


def types(amount: str) -> Types:
    """Spark's types where every summed column has one type."""
    summed = {"int": "bigint", "bigint": "bigint", "decimal(30,10)": "decimal(38,10)"}.get(amount, amount)
    results = {"count": "bigint", "sum": summed, "avg": "double"}

    def of(plan: Plan) -> Mapping[str, str]:
        calls = dict(plan.calls) if isinstance(plan, Aggregate) else {}
        return {
            name: results.get(calls[name].function, amount) if name in calls else amount
            for name in plan.names
        }

    return of


# -- one operator ---------------------------------------------------------------------------------


def test_a_table_is_its_change() -> None:
    assert chosen(ORDERS) == "leaf: the change of o"


def test_values_never_change() -> None:
    assert chosen(Values(("a",), ((Literal(1),),))) == "leaf: stands in the query, never changes"


def test_a_filter_judges_changed_rows() -> None:
    assert chosen(Filter(ORDERS, TRUE)) == "linear: judges each changed row alone"


def test_a_projection_computes_changed_rows() -> None:
    assert chosen(Project(ORDERS, (("a", DAY),))) == "linear: computed from each changed row alone"


def test_a_union_is_the_changes_of_its_inputs() -> None:
    assert chosen(UnionAll((ORDERS, ORDERS))) == "linear: the changes of all inputs"


def test_an_exploded_row_makes_its_own_rows() -> None:
    plan = Generate(ORDERS, "explode", DAY, ("part",))
    assert chosen(plan) == "linear: each changed row makes its own rows"


def test_an_inner_join_meets_both_changes() -> None:
    plan = Join(ORDERS, CUSTOMERS, "inner", MATCH)
    assert chosen(plan) == "bilinear: each change meets matching rows of the other side"


def test_a_join_without_an_equality_meets_all_rows() -> None:
    plan = Join(ORDERS, CUSTOMERS, "inner", Call("<", (Ref("o_id"), Ref("c_id"))))
    assert chosen(plan) == "bilinear: each change meets all rows of the other side"


@pytest.mark.parametrize("kind", ["left", "semi", "anti"])
def test_a_join_that_preserves_its_left_side_judges_touched_left_rows_again(kind: JoinKind) -> None:
    plan = Join(ORDERS, CUSTOMERS, kind, MATCH)
    assert chosen(plan) == "preserved: changed left rows, and those that match a changed right row"


@pytest.mark.parametrize("kind", ["left", "semi", "anti"])
def test_without_an_equality_every_left_row_may_be_touched(kind: JoinKind) -> None:
    plan = Join(ORDERS, CUSTOMERS, kind, TRUE)
    assert chosen(plan) == "preserved: changed left rows; all are held against changed right rows"


def test_a_full_join_preserves_both_sides() -> None:
    plan = Join(ORDERS, CUSTOMERS, "full", MATCH)
    assert chosen(plan) == "preserved: as a left join, plus the right rows without a partner"


def test_groups_are_affected_by_their_keys() -> None:
    assert chosen(by_day(SUM)) == "affected keys: groups that the change touches (by o_day), at both ends"


def test_of_many_keys_only_some_are_named() -> None:
    wide = scan("t", "a b c d e f")
    plan = Aggregate(wide, tuple((f"k{name}", Ref(name)) for name in wide.names), ())
    assert "(by t_a, t_b, t_c, t_d, 2 more)" in chosen(plan)


def test_a_group_of_everything_is_computed_again() -> None:
    assert chosen(Aggregate(ORDERS, (), (("x", SUM),))) == "recompute: all rows are one group, at both ends"


def test_distinct_rows_are_affected_by_equal_rows() -> None:
    assert chosen(Distinct(ORDERS)) == "affected keys: rows equal to a changed row, at both ends"


def test_set_operations_are_affected_by_equal_rows_of_either_side() -> None:
    plan = SetOp(ORDERS, ORDERS, "except")
    assert chosen(plan) == "affected keys: rows equal to a changed row of either side, at both ends"


def test_windows_are_affected_by_their_partitions() -> None:
    plan = Window(ORDERS, (("r", WindowCall("rank", (), (DAY,), (SortKey(AMOUNT),))),))
    assert chosen(plan) == "affected keys: partitions that the change touches (by o_day), at both ends"


def test_a_window_over_everything_is_computed_again() -> None:
    plan = Window(ORDERS, (("r", WindowCall("rank", (), (), (SortKey(AMOUNT),))),))
    assert chosen(plan) == "recompute: all rows are one partition, at both ends"


def test_the_first_rows_are_computed_again() -> None:
    plan = Top(ORDERS, (SortKey(AMOUNT),), 3)
    assert chosen(plan) == "recompute: the first rows of an order have no keys, at both ends"


def test_what_is_part_of_a_change_is_no_query() -> None:
    with pytest.raises(TypeError, match="Delta is part of a change"):
        strategies(Delta("o", ORDERS.columns))


# -- a whole query --------------------------------------------------------------------------------


def test_below_what_is_computed_again_everything_is_read_in_full() -> None:
    filtered = Filter(ORDERS, TRUE)
    found = strategies(Top(filtered, (SortKey(AMOUNT),), 3))
    assert str(found[filtered]) == "recompute: in full, since it is recomputed above"
    assert str(found[ORDERS]) == "leaf: read in full, since it is recomputed above"


def test_a_part_that_something_else_needs_the_change_of_is_not_read_in_full() -> None:
    first = Project(Top(CUSTOMERS, (SortKey(Ref("c_id")),), 1), (("id", Ref("c_id")),))
    found = strategies(Join(CUSTOMERS, first, "semi", TRUE))
    assert str(found[CUSTOMERS]) == "leaf: the change of c"


def test_a_shared_part_is_explained_once_and_marked() -> None:
    shared = Filter(ORDERS, TRUE)
    plan = UnionAll((shared, shared))
    choices = strategies(plan)
    assert len(choices) == 3
    assert [(one.depth, one.text) for one in operators(plan, choices)] == [
        (0, "union all"),
        (1, "[1] filter true"),
        (2, "scan o: o_id := id, o_day := day, o_amount := amount"),
        (1, "[1]"),
    ]


def test_the_text_keeps_to_the_terminal_and_loses_nothing() -> None:
    plan: Plan = scan("t", " ".join(f"column_{number}" for number in range(30)))
    plan = Project(plan, tuple((f"a_rather_long_name_{n}", Ref(name)) for n, name in enumerate(plan.names)))
    for _ in range(12):
        plan = Filter(plan, TRUE)
    tree = operators(plan, strategies(plan))
    text = tree_text(tree)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert all(f"a_rather_long_name_{number} :=" in text for number in range(30))


def test_a_plan_too_deep_for_the_terminal_is_still_written() -> None:
    plan: Plan = ORDERS
    for _ in range(100):
        plan = Filter(plan, TRUE)
    text = tree_text(operators(plan, strategies(plan)))
    assert text.count("-- linear: ") == 100


def test_exactly_the_tables_said_to_bring_their_change_do() -> None:
    for path in paths():
        spec = read(path)
        plan = lowered(spec).plan
        said = {
            (leaf.table, leaf.columns)
            for leaf, choice in strategies(plan).items()
            if isinstance(leaf, Scan) and choice.reason == f"the change of {leaf.table}"
        }
        used = {(leaf.table, leaf.columns) for leaf in walk(differentiate(plan)) if isinstance(leaf, Delta)}
        assert said == used, path.name


# -- the top --------------------------------------------------------------------------------------


def test_sums_at_the_root_are_added_to() -> None:
    found = at_the_root(by_day(SUM, AggregateCall("avg", (AMOUNT,))))
    assert found == OperatorStrategy("stored state", "adds the change to stored counts and sums")


def test_the_state_of_a_group_of_everything_is_fed_by_changes() -> None:
    plan = Aggregate(ORDERS, (), (("x", SUM),))
    assert str(strategies(plan, at_the_root(plan))[ORDERS]) == "leaf: the change of o"


@pytest.mark.parametrize(
    ("plan", "amount", "why"),
    [
        (
            by_day(SUM, AggregateCall("count", (AMOUNT,), distinct=True)),
            "int",
            "the change doesn't tell count(distinct o_amount): other rows may have the same values",
        ),
        (by_day(SUM, AggregateCall("min", (AMOUNT,))), "int", "the change doesn't tell min(o_amount)"),
        (
            by_day(SUM, AggregateCall("count", (DAY, AMOUNT))),
            "int",
            "count(o_day, o_amount) looks at several values at once",
        ),
        (
            by_day(SUM),
            "double",
            "sum(o_amount) of type double is floating point, where the order of additions shows",
        ),
        (
            by_day(SUM, AggregateCall("avg", (AMOUNT,))),
            "bigint",
            "avg(o_amount) of type bigint is averaged in floating point",
        ),
        (
            by_day(SUM),
            "decimal(30,10)",
            "sum(o_amount) of type decimal(30,10) has too many digits to be added to exactly",
        ),
        (
            Filter(by_day(SUM), Call(">", (Ref("x0"), Literal(9)))),
            "int",
            "groups that the filter above drops aren't stored",
        ),
    ],
    ids=["distinct", "min", "two values", "double", "avg of bigint", "digits", "having"],
)
def test_a_root_without_stored_state_says_why(plan: Plan, amount: str, why: str) -> None:
    found = at_the_root(plan, amount)
    assert found is not None
    assert found.strategy == "affected keys"
    assert found.reason == "recomputes the groups that the change touches (by o_day); the old rows are stored"
    assert found.note == f"(no stored state: {why})"


def test_a_root_of_everything_without_stored_state_says_why() -> None:
    found = at_the_root(Aggregate(ORDERS, (), (("x", AggregateCall("max", (AMOUNT,))),)))
    assert found is not None
    assert str(found) == "recompute: all rows are one group; the old rows are stored"
    assert found.note == "(no stored state: the change doesn't tell max(o_amount))"


def test_a_root_that_is_linear_has_no_choice_of_its_own() -> None:
    assert at_the_root(Filter(Join(ORDERS, CUSTOMERS, "inner", MATCH), TRUE)) is None


def test_hidden_columns_say_what_they_are_for() -> None:
    grouped = by_day(AggregateCall("avg", (AMOUNT,)))
    plan = Project(grouped, (("average", Ref("x0")),))
    assert hidden_columns(kept(plan)) == (
        HiddenColumn("__h0", "o_day", "finds the stored row of a group"),
        HiddenColumn(
            "__h1", "count(o_amount)", "values counted: divides the average; without any it is NULL"
        ),
        HiddenColumn("__h2", "sum(o_amount)", "what the average is computed from"),
        HiddenColumn("__h3", "count(*)", "rows of the group: without any, it goes"),
    )


def test_a_sum_is_stored_with_the_number_of_its_values() -> None:
    found = {column.holds: column.reason for column in hidden_columns(kept(by_day(SUM)))}
    assert found["count(o_amount)"] == "values counted: without any, the sum is NULL"


def test_keys_that_the_query_does_not_show_are_hidden_columns() -> None:
    distinct = Project(Distinct(CUSTOMERS), (("region", Ref("c_region")),))
    assert hidden_columns(kept(distinct)) == (HiddenColumn("__h0", "c_id", "finds what is stored of a row"),)
    window = Window(ORDERS, (("r", WindowCall("rank", (), (DAY,), (SortKey(AMOUNT),))),))
    ranked = Project(window, (("r", Ref("r")),))
    assert hidden_columns(kept(ranked)) == (
        HiddenColumn("__h0", "o_day", "finds what is stored of a partition"),
    )
