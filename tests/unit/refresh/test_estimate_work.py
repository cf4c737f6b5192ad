"""Rows and work of plans, estimated from sizes, and their price in seconds."""

from __future__ import annotations

import doctest
import math
from dataclasses import astuple, fields
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Distinct,
    Filter,
    Join,
    Materialised,
    Net,
    Plan,
    Project,
    Scan,
    StoredResult,
    Support,
    Top,
    UnionAll,
    Values,
    tables,
)
from anabranch.algebra.scalar import Call, Literal, Ref
from anabranch.delta.hidden_state import split_hidden_state
from anabranch.delta.maintenance_plan import MaintenancePlan, plan_maintenance
from anabranch.delta.simplify import simplify
from anabranch.delta.single_partition import RelationFacts
from anabranch.refresh import estimate_work
from anabranch.refresh.cost_estimate import SPARK, CostConstants, cost_constants, estimate_seconds
from anabranch.refresh.estimate_work import (
    MOST,
    NO_WORK,
    Estimate,
    InputSizes,
    RelationSize,
    Work,
    WorkEstimator,
    expected_distinct,
)
from anabranch.refresh.execute import change_statements
from anabranch.sql.lower import lower
from tests.equivalence.check import drawn_types
from tests.equivalence.draw import Draw
from tests.tpch.schemas import SCHEMAS

ORDERS = Scan("orders", (("key", "key"), ("customer", "customer"), ("day", "day")))
LINES = Scan("lines", (("order", "order"), ("part", "part"), ("price", "price")))
NEW_ORDERS = Delta("orders", (("key", "key"), ("customer", "customer")))
NEW_LINES = Delta("lines", (("new_order", "order"), ("new_part", "part")))
SIZES = InputSizes(
    tables={
        "orders": RelationSize(1_500_000, 60_000_000, 6, {"key": 6_000_000, "customer": 100_000}),
        "lines": RelationSize(6_000_000, 240_000_000, 6, {"part": 200_000}),
    },
    changes={"orders": RelationSize(15_000, 600_000, 6), "lines": RelationSize(60_000, 2_400_000, 6)},
    stored=RelationSize(100, 4000, 2),
)


def estimate(plan: Plan, sizes: InputSizes = SIZES) -> Estimate:
    return WorkEstimator(sizes).estimate_statement(plan)


def equal(left: str, right: str) -> Call:
    return Call("=", (Ref(left), Ref(right)))


def test_the_examples_hold() -> None:
    assert not doctest.testmod(estimate_work).failed


# -- rows -------------------------------------------------------------------------------------------


def test_a_table_has_its_rows_and_is_read_in_the_columns_that_are_asked_for() -> None:
    found = estimate(ORDERS)
    assert found.rows == 1_500_000
    assert found.work == Work(
        statements=1, operators=1, scanned_rows=1_500_000, scanned_bytes=60_000_000 * 3 / 6
    )


def test_a_change_has_its_rows_and_nothing_is_scanned() -> None:
    assert estimate(NEW_ORDERS).work == Work(statements=1, operators=1, changed_rows=15_000)


def test_a_table_joined_by_its_key_has_a_row_for_each_that_refers_to_it() -> None:
    assert estimate(Join(LINES, ORDERS, "inner", equal("order", "key"))).rows == 6_000_000


def test_a_change_finds_as_many_rows_as_each_key_has() -> None:
    lines = estimate(Join(NEW_ORDERS, LINES, "inner", equal("key", "order")))
    assert lines.rows == pytest.approx(60_000)
    by_part = estimate(Join(NEW_LINES, LINES, "inner", equal("new_part", "part")))
    assert by_part.rows == pytest.approx(60_000 * 30)


def test_a_semi_join_keeps_the_part_whose_keys_occur() -> None:
    keys = Distinct(Project(Support(NEW_LINES), (("wanted", Ref("new_part")),)))
    found = estimate(Join(LINES, keys, "semi", equal("part", "wanted"))).rows
    assert 0.2 * 6_000_000 < found < 0.3 * 6_000_000
    others = estimate(Join(LINES, keys, "anti", equal("part", "wanted"))).rows
    assert found + others == pytest.approx(6_000_000)


def test_several_equalities_choose_no_less_than_a_row_of_the_smaller_side() -> None:
    pairs = Scan("pairs", (("a", "a"), ("b", "b")))
    uses = Scan("uses", (("c", "a"), ("d", "b")))
    sizes = InputSizes(
        {
            "pairs": RelationSize(800, distinct={"a": 200, "b": 100}),
            "uses": RelationSize(6000, distinct={"a": 200, "b": 100}),
        }
    )
    both = Call("and", (equal("a", "c"), equal("b", "d")))
    assert estimate(Join(uses, pairs, "inner", both), sizes).rows == pytest.approx(6000)


def test_groups_are_no_more_than_values_of_their_key() -> None:
    count = (("n", AggregateCall("count")),)
    by_customer = Aggregate(ORDERS, (("customer", Ref("customer")),), count)
    assert estimate(by_customer).rows == pytest.approx(100_000, rel=0.01)
    assert estimate(Aggregate(ORDERS, (), count)).rows == 1
    assert estimate(by_customer).work.aggregated_values == 1_500_000


def test_conditions_let_a_part_pass_and_patterns_cost() -> None:
    equality = Filter(ORDERS, Call("=", (Ref("customer"), Literal(7))))
    assert estimate(equality).rows == pytest.approx(15)
    order = Filter(ORDERS, Call("<", (Ref("day"), Literal(7))))
    assert estimate(order).rows == pytest.approx(1_500_000 / 3, rel=0.02)
    negated = Filter(ORDERS, Call("not", (Call("<", (Ref("day"), Literal(7))),)))
    assert estimate(order).rows + estimate(negated).rows == pytest.approx(1_500_000)
    pattern = Filter(ORDERS, Call("not", (Call("like", (Ref("day"), Literal("%x%"))),)))
    assert estimate(pattern).work.matched_texts == 1_500_000


def test_a_step_is_paid_once_and_has_its_rows_wherever_it_is_read() -> None:
    estimator = WorkEstimator(SIZES)
    step = estimator.estimate_statement(Join(NEW_ORDERS, LINES, "inner", equal("key", "order")))
    assert step.work.scanned_rows == 6_000_000
    estimator.add_step("step_0", step)
    read = Materialised("step_0", (("a", "key"), ("b", "part")), True)
    found = estimator.estimate_statement(Net(read))
    assert found.rows == step.rows
    assert found.work == Work(statements=1, operators=2, grouped_rows=step.rows)
    assert found.values_of("b") == 200_000


def test_a_look_up_scans_nothing_and_fetches_the_rows_of_its_keys() -> None:
    estimator = WorkEstimator(SIZES)
    keys = Distinct(Project(Support(NEW_ORDERS), (("wanted", Ref("key")),)))
    found = estimator.estimate_look_up(keys)
    assert found.work == Work(key_rows=found.rows, changed_rows=15_000)
    estimator.add_step("keys", found)
    step = Materialised("keys", (("wanted", "wanted"),), False)
    looked_up = estimator.estimate_look_up(Join(LINES, step, "semi", equal("order", "wanted")))
    assert looked_up.work.scanned_rows == looked_up.work.statements == 0
    assert looked_up.work.key_rows == found.rows


def test_what_this_process_computes_looks_large_tables_up_and_reads_small_ones() -> None:
    plan = Join(NEW_ORDERS, ORDERS_AGAIN, "inner", equal("key", "other"))
    far = WorkEstimator(SIZES).estimate_interpreted(plan, 50_000, 100_000)
    assert far is not None
    assert far.work == Work(interpreted_rows=30_000)
    near = WorkEstimator(SIZES).estimate_interpreted(plan, 2_000_000, 2_000_000)
    assert near is not None
    assert near.work == Work(interpreted_rows=1_530_000)
    assert WorkEstimator(SIZES).estimate_interpreted(plan, 2_000_000, 1_000_000) is None
    assert WorkEstimator(SIZES).estimate_interpreted(plan, 50_000, 10_000) is None


ORDERS_AGAIN = Scan("orders", (("other", "key"),))


def test_the_other_operators_have_rows_too() -> None:
    assert estimate(UnionAll((NEW_ORDERS, NEW_ORDERS))).rows == 30_000
    assert estimate(Top(ORDERS, (), 10)).rows == 10
    assert estimate(Values(("a",), ((Literal(1),), (Literal(2),)))).rows == 2
    assert estimate(StoredResult((("a", "a"),))).work.scanned_rows == 100
    assert estimate(Scan("unknown", (("a", "a"),))).rows == 0
    assert expected_distinct(0, 5) == expected_distinct(5, 0) == 0


# -- seconds ----------------------------------------------------------------------------------------


def test_every_kind_of_work_has_a_price_and_every_price_is_positive() -> None:
    assert {each.name for each in fields(CostConstants)} == {"fixed", *(each.name for each in fields(Work))}
    assert all(price > 0 for price in astuple(SPARK))
    assert cost_constants("spark") == cost_constants("an engine that nobody measured") == SPARK


def test_seconds_are_the_fixed_ones_and_those_of_all_amounts() -> None:
    assert estimate_seconds(NO_WORK, SPARK) == SPARK.fixed
    assert estimate_seconds(Work(statements=2, written_rows=10), SPARK) == pytest.approx(
        SPARK.fixed + 2 * SPARK.statements + 10 * SPARK.written_rows
    )
    endless = Work(*(MOST for _ in fields(Work)))
    assert math.isfinite(estimate_seconds(endless + endless, SPARK))
    assert endless.scaled(8) == endless


# -- real queries, whatever their sizes -------------------------------------------------------------


@cache
def maintained(query: str) -> tuple[tuple[str, MaintenancePlan], ...]:
    text = (Path(__file__).parents[2] / "tpch" / "queries" / f"{query}.sql").read_text()
    lowered = lower(text, SCHEMAS)
    states = split_hidden_state(lowered.plan, lowered.columns, "result")
    return tuple(
        (
            state.table,
            plan_maintenance(state.plan, state.columns, lambda plan: dict.fromkeys(plan.names, "bigint")),
        )
        for state in states
    )


QUERIES = [f"q{number:02}" for number in range(1, 23)]
NAMES = [str(name) for name in SCHEMAS]
AMOUNT = st.integers(0, 10**13)
FACTS = st.builds(
    RelationFacts,
    few=st.just(True),
    scans=st.booleans(),
    lookups=st.sampled_from([frozenset(), frozenset(NAMES)]),
)
SOME_SIZES = st.dictionaries(
    st.sampled_from(NAMES), st.builds(RelationSize, AMOUNT, AMOUNT, st.integers(0, 20))
)


def differential_work(query: str, sizes: InputSizes, known: RelationFacts) -> Work:
    work = NO_WORK
    for _, kept in maintained(query):
        changed = tables(kept.stored) & set(sizes.changes)
        estimator = WorkEstimator(sizes)
        for statement in change_statements(kept, changed, known=known):
            plan = statement.plan
            look_up = statement.rendered is None
            found = estimator.estimate_look_up(plan) if look_up else estimator.estimate_statement(plan)
            if statement.step is not None:
                estimator.add_step(statement.step.name, found)
            work += found.work
    return work


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(QUERIES), SOME_SIZES, SOME_SIZES, FACTS)
def test_estimates_are_numbers_and_never_negative(
    query: str, whole: dict[str, RelationSize], changes: dict[str, RelationSize], known: RelationFacts
) -> None:
    sizes = InputSizes(whole, changes, RelationSize(5))
    full = [WorkEstimator(sizes).estimate_statement(kept.stored).work for _, kept in maintained(query)]
    for work in (*full, differential_work(query, sizes, known)):
        assert all(0 <= amount <= MOST for amount in work.amounts())
        seconds = estimate_seconds(work, SPARK)
        assert math.isfinite(seconds)
        assert seconds > 0


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(QUERIES),
    st.tuples(st.integers(1, 50_000), st.integers(1, 50_000)).map(sorted),
    FACTS,
)
def test_more_changed_rows_never_cost_less(query: str, shares: list[int], known: RelationFacts) -> None:
    whole = {name: RelationSize(1_000_000, 40_000_000, 10) for name in NAMES}
    costs = [
        estimate_seconds(
            differential_work(
                query,
                InputSizes(whole, {"orders": RelationSize(rows), "lineitem": RelationSize(4 * rows)}),
                known,
            ),
            SPARK,
        )
        for rows in shares
    ]
    assert costs[0] <= costs[1] * (1 + 1e-9)


@pytest.mark.parametrize("query", QUERIES)
def test_larger_tables_never_cost_a_full_refresh_less(query: str) -> None:
    def cost(scale: int) -> float:
        whole = {name: RelationSize(1_000 * scale, 40_000 * scale, 10) for name in NAMES}
        works = [
            WorkEstimator(InputSizes(whole)).estimate_statement(kept.stored).work
            for _, kept in maintained(query)
        ]
        return estimate_seconds(sum(works, NO_WORK), SPARK)

    costs = [cost(scale) for scale in (1, 10, 100, 1000, 10_000)]
    assert costs == sorted(costs)


@pytest.mark.parametrize("start", range(0, 150, 25))
def test_every_operator_of_random_queries_and_their_changes_is_estimated(start: int) -> None:
    for seed in range(start, start + 25):
        draw = Draw(seed)
        plan = draw.query(draw.database(), 4)
        kept = plan_maintenance(plan, plan.names, drawn_types)
        changed = tables(plan)
        whole = {name: RelationSize(10**6 + seed, 10**7, 5) for name in changed}
        changes = {name: RelationSize(10**4 + seed, 10**5, 5) for name in changed}
        estimator = WorkEstimator(InputSizes(whole, changes, RelationSize(100)))
        for each in (kept.stored, simplify(kept.change, changed=changed)):
            found = estimator.estimate_statement(each)
            assert 0 <= found.rows <= MOST
            assert all(0 <= amount <= MOST for amount in found.work.amounts())
            interpreted = estimator.estimate_interpreted(each, 1000, 10**30)
            assert interpreted is not None
            assert 0 <= interpreted.work.interpreted_rows <= MOST
