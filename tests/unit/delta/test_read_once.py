"""Large tables are read once, reduced to the keys that can be asked for; weights flow where they may."""

from __future__ import annotations

from collections import Counter

import pytest

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Distinct,
    Filter,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    Tally,
    UnionAll,
    subplans,
)
from anabranch.algebra.scalar import Call, Literal, Ref, null_safe_equal
from anabranch.algebra.weights import HasWeightColumn
from anabranch.delta import differentiate
from anabranch.delta.both_ends import change_at_both_ends
from anabranch.delta.keep_weights import keep_weights
from anabranch.delta.key_bounds import KeyBounds
from anabranch.delta.materialise import materialise_shared
from anabranch.delta.simplify import simplify
from anabranch.delta.single_partition import RelationFacts
from tests.unit.delta.test_small_first import CHANGE, A, B, C, means_the_same, on

EXACT = frozenset((table, column) for table in "abcd" for column in "kv")
SCANS = RelationFacts(exact=EXACT, scans=True)
TOTAL = Aggregate(B, (("g", Ref("b_k")),), (("total", AggregateCall("sum", (Ref("b_v"),))),))


def change(plan: Plan, changed: str = "ab", known: RelationFacts = SCANS) -> Plan:
    origins: dict[Plan, Plan] = {}
    rules = differentiate(plan, origins=origins)
    found = simplify(rules, changed=changed, known=known, origins=tuple(origins.items()))
    assert means_the_same(found, simplify(rules, changed=changed))
    return found


def reads(plan: Plan) -> Counter[tuple[str, str]]:
    """How often tables are read in all steps together, at which end."""
    steps = materialise_shared(plan)
    parts = [steps.last, *(step for _, step in steps.before)]
    return Counter(
        (part.table, part.at.name) for step in parts for part in subplans(step) if isinstance(part, Scan)
    )


@pytest.mark.parametrize("kind", ["left", "semi", "anti", "inner"])
def test_whatever_the_join_each_table_is_read_once(kind: str) -> None:
    found = reads(change(Join(A, B, kind, on("a_k", "b_k"))))  # type: ignore[arg-type]
    assert set(found.values()) == {1}
    assert {table for table, _ in found} == {"a", "b"}


def test_rows_are_looked_up_by_keys_that_went_through_groups() -> None:
    having = Filter(TOTAL, Call(">", (Ref("total"), Literal(2))))
    found = reads(change(Join(A, having, "semi", on("a_k", "g"))))
    assert found == {("a", "UNTIL"): 1, ("b", "UNTIL"): 1}


def test_a_table_that_hangs_on_a_reduced_one_is_reduced_after_it() -> None:
    # c is met by values of a, whose own rows are found by keys of b's change.
    plan = Join(Join(A, C, "inner", on("a_v", "c_k")), TOTAL, "left", on("a_k", "g"))
    assert reads(change(plan, changed="b"))["c", "UNTIL"] == 1


def test_values_that_are_not_the_same_in_all_respects_are_read_at_both_ends() -> None:
    some = RelationFacts(exact=EXACT - {("b", "v")}, scans=True)
    found = reads(change(Join(A, B, "left", on("a_k", "b_k")), known=some))
    assert found["b", "SINCE"] == found["b", "UNTIL"] == 1
    assert ("a", "SINCE") not in found


def test_small_tables_are_read_as_they_are() -> None:
    small = RelationFacts(exact=EXACT, tables=frozenset("abcd"), scans=True)
    found = change(Join(A, Join(B, C, "inner", on("b_v", "c_v")), "inner", on("a_k", "b_k")), known=small)
    assert not any(isinstance(part, Rows) for part in subplans(found))


def test_one_table_that_changed_is_left_to_the_rules() -> None:
    origins: dict[Plan, Plan] = {}
    rules = differentiate(Join(A, B, "semi", on("a_k", "b_k")), origins=origins)
    assert change_at_both_ends(rules, tuple(origins.items()), "a", SCANS) == rules
    assert change_at_both_ends(rules, tuple(origins.items()), "ab", SCANS) != rules


def test_sides_that_meet_by_no_equality_are_left_to_the_rules() -> None:
    origins: dict[Plan, Plan] = {}
    less = Call("<", (Ref("a_k"), Ref("b_k")))
    rules = differentiate(Join(A, B, "semi", less), origins=origins)
    assert change_at_both_ends(rules, tuple(origins.items()), "ab", SCANS) == rules


@pytest.mark.parametrize(
    "plan",
    [
        Join(A, B, "anti", null_safe_equal(Ref("a_k"), Ref("b_k"))),
        Join(C, Join(A, B, "inner", on("a_k", "b_k")), "anti", on("c_k", "a_k")),
        Join(Distinct(A), TOTAL, "left", on("a_k", "g")),
        Distinct(UnionAll((A, B, C))),
        Aggregate(
            Join(A, B, "left", on("a_k", "b_k")), (("g", Ref("a_k")),), (("n", AggregateCall("count")),)
        ),
    ],
    ids=["null is a key", "an unchanged left", "a left join of groups", "a union", "groups of a join"],
)
def test_both_ends_at_once_give_what_the_rules_give(plan: Plan) -> None:
    change(plan)


def test_a_column_of_the_padded_side_may_be_null_whatever_it_is_equated_with() -> None:
    left = Join(CHANGE, A, "left", on("b_k", "a_k"))
    bounds = KeyBounds(left)
    assert bounds(left, "b_k") is not None
    assert bounds(left, "a_k") is None
    assert bounds(Join(CHANGE, A, "inner", on("b_k", "a_k")), "a_k") is not None


def test_keys_are_those_of_the_change_in_all_columns_that_are_read() -> None:
    # In the key alone, an update of another column would leave no trace.
    found = KeyBounds(Join(CHANGE, A, "inner", on("b_k", "a_k")))(Project(CHANGE, (("x", Ref("b_k")),)), "x")
    assert found is not None
    ((source, _),) = found
    assert isinstance(source, Delta)
    assert {column for _, column in source.columns} == {"k", "v"}


def test_weights_flow_to_what_adds_them_up_and_not_to_groups() -> None:
    was = Rows(Net(UnionAll((B, Negate(CHANGE)))))
    counted = Tally(was, (("g", Ref("b_k")),), (("n", AggregateCall("count")),))
    assert keep_weights(counted) == Tally(was.input.input, counted.keys, counted.calls)
    grouped = Aggregate(was, (("g", Ref("b_k")),), (("n", AggregateCall("count")),))
    assert keep_weights(grouped) == grouped
    asked = Join(A, was, "semi", on("a_k", "b_k"))
    assert keep_weights(Net(asked)) == Net(asked)
    assert not HasWeightColumn()(keep_weights(grouped))
