"""Moving restrictions down, beginning joins with the change, narrowing partners: nothing else may change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from anabranch.algebra.evaluate import Tables, ZSet, evaluate
from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Distinct,
    Filter,
    Join,
    Negate,
    Plan,
    Project,
    Scan,
    SetOp,
    SortKey,
    Top,
    UnionAll,
    Window,
    WindowCall,
    walk,
)
from anabranch.algebra.scalar import TRUE, Call, Literal, Ref, Scalar, all_of, equal, null_safe_equal
from anabranch.delta import differentiate
from anabranch.delta.join_order import reduce_right_sides, reorder_joins
from anabranch.delta.push_semi_joins import push_semi_join
from anabranch.delta.simplify import simplify
from anabranch.delta.small_subplans import IsSmall
from tests.unit.delta.small import rows, scan

A, B, C, D = (scan(table, "k v") for table in "abcd")
COLUMNS = dict.fromkeys("abcd", ("k", "v"))
BEFORE: dict[str, ZSet] = {
    "a": rows("1 1", "1 1", "2 -", "- 3"),
    "b": rows("1 2", "2 3", "- 3", "3 -"),
    "c": rows("2 5", "3 5", "3 5", "- 1"),
    "d": rows("5 1", "1 2", "- -"),
}
AFTER: dict[str, ZSet] = {
    "a": rows("1 1", "2 -", "3 3", "- 3"),
    "b": rows("1 2", "3 3", "3 -", "- -"),
    "c": rows("2 5", "3 1", "3 5"),
    "d": rows("5 1", "5 1", "1 -"),
}
TABLES = Tables(COLUMNS, BEFORE, AFTER)
CHANGE = Delta("b", (("b_k", "k"), ("b_v", "v")))


def on(left: str, right: str) -> Scalar:
    return equal(Ref(left), Ref(right))


def means_the_same(found: Plan, plan: Plan) -> bool:
    return found.names == plan.names and dict(evaluate(found, TABLES)) == dict(evaluate(plan, TABLES))


def first_of(plan: Plan) -> Plan:
    """What a chain of joins begins with."""
    while plan.inputs:
        plan = plan.inputs[0]
    return plan


def joins(plan: Plan) -> Iterator[Join]:
    return (part for part in walk(plan) if isinstance(part, Join))


# -- small first ----------------------------------------------------------------------------------


def chain(*relations: Plan) -> Join:
    """a ⋈ b ⋈ c ⋈ d, in the order of the query."""
    a, b, c, d = relations
    some = Join(a, b, "inner", on("a_v", "b_k"))
    more = Join(some, c, "inner", on("b_v", "c_k"))
    return Join(more, d, "inner", all_of([on("c_v", "d_k"), Call("<=", (Ref("a_k"), Literal(3)))]))


def test_a_chain_of_four_tables_begins_with_the_one_that_changed() -> None:
    for place, table in enumerate("abcd"):
        relations: list[Plan] = [A, B, C, D]
        relations[place] = Delta(table, ((f"{table}_k", "k"), (f"{table}_v", "v")))
        plan = chain(*relations)
        found = reorder_joins(plan)
        assert first_of(found) == relations[place]
        assert means_the_same(found, plan)


def test_every_step_from_the_change_on_is_small() -> None:
    small = IsSmall()
    assert all(small(join) for join in joins(reorder_joins(chain(A, B, Delta("c", C.columns), D))))


def test_the_change_of_a_chain_begins_with_the_table_that_changed() -> None:
    plan = chain(A, B, C, D)
    for table in "abcd":
        found = simplify(differentiate(plan), changed={table})
        start = first_of(found)
        assert isinstance(start, Delta)
        assert start.table == table
    assert means_the_same(simplify(differentiate(plan)), differentiate(plan))


def test_tables_are_met_where_they_hang_together_and_not_crosswise() -> None:
    found = reorder_joins(chain(Delta("a", A.columns), B, C, D))
    assert all(join.on != TRUE for join in joins(found))


def test_tables_that_share_no_more_than_a_met_value_are_joined_last() -> None:
    """All customers of a nation with all its suppliers would be many: lines tie them by more."""
    first = Join(Join(C, A, "inner", TRUE), CHANGE, "inner", all_of((on("c_k", "b_k"), on("a_k", "b_k"))))
    plan = Join(first, D, "inner", all_of((on("d_k", "a_v"), on("c_v", "d_v"))))
    found = reorder_joins(plan)
    assert [part.table for part in walk(found) if isinstance(part, Scan | Delta)] == ["b", "c", "d", "a"]
    assert means_the_same(found, plan)


def test_no_condition_is_lost_on_the_way() -> None:
    both = Join(A, CHANGE, "inner", all_of([on("a_k", "b_k"), Call(">", (Ref("a_v"), Literal(0)))]))
    three = Join(both, C, "inner", Call("<>", (Ref("a_v"), Ref("c_v"))))
    assert means_the_same(reorder_joins(three), three)
    crossed = Join(Join(A, C, "inner", TRUE), CHANGE, "inner", Call("<", (Ref("a_v"), Ref("b_v"))))
    assert means_the_same(reorder_joins(crossed), crossed)


def test_a_chain_without_a_change_stays_as_it_is() -> None:
    assert reorder_joins(chain(A, B, C, D)) == chain(A, B, C, D)


def test_two_relations_stay_as_they_are() -> None:
    plan = Join(A, CHANGE, "inner", on("a_k", "b_k"))
    assert reorder_joins(plan) == plan


def test_an_outer_join_inside_a_chain_is_one_relation() -> None:
    padded = Join(A, C, "left", on("a_k", "c_k"))
    plan = Join(Join(padded, D, "inner", on("a_k", "d_k")), CHANGE, "inner", on("b_k", "d_k"))
    found = reorder_joins(plan)
    assert first_of(found) == CHANGE
    assert padded in set(walk(found))
    assert means_the_same(found, plan)


# -- partners -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["left", "semi", "anti"])
def test_the_partners_of_a_change_are_narrowed(kind: str) -> None:
    plan = Join(CHANGE, A, kind, on("b_k", "a_k"))  # type: ignore[arg-type]
    found = reduce_right_sides(plan)
    assert isinstance(found, Join)
    assert found.left == CHANGE
    assert isinstance(found.right, Join)
    assert (found.right.left, found.right.kind) == (A, "semi")
    assert means_the_same(found, plan)


@pytest.mark.parametrize("kind", ["inner", "full", "left", "semi", "anti"])
def test_what_is_preserved_is_never_narrowed(kind: str) -> None:
    right = Distinct(Project(A, (("x", Ref("a_k")),)))
    plan = Join(B, right, kind, equal(Ref("b_k"), Ref("x")))  # type: ignore[arg-type]
    assert reduce_right_sides(plan) == plan


def test_without_an_equality_partners_stay_as_they_are() -> None:
    plan = Join(CHANGE, A, "left", Call("<", (Ref("b_k"), Ref("a_k"))))
    assert reduce_right_sides(plan) == plan


def test_partners_are_narrowed_by_the_equality_and_matched_by_all_of_the_condition() -> None:
    condition = all_of([null_safe_equal(Ref("a_k"), Ref("b_k")), Call("<", (Ref("b_v"), Ref("a_v")))])
    for kind in ("left", "semi", "anti"):
        plan = Join(CHANGE, A, kind, condition)
        found = reduce_right_sides(plan)
        assert found != plan
        assert means_the_same(found, plan)


# -- restrictions ---------------------------------------------------------------------------------

KEYS = Distinct(Project(Filter(C, Call("<=", (Ref("c_k"), Literal(3)))), (("__k0", Ref("c_k")),)))
NULL_TOO = Distinct(Project(C, (("__k0", Ref("c_k")),)))
COUNT = (("many", AggregateCall("count")),)
NUMBER = WindowCall("row_number", (), (Ref("a_k"),), (SortKey(Ref("a_v")),))

RESTRICTED: dict[str, tuple[Plan, str]] = {
    "filter": (Filter(A, Call(">", (Ref("a_v"), Literal(0)))), "a_k"),
    "project": (Project(A, (("x", Call("+", (Ref("a_k"), Literal(1)))),)), "x"),
    "negate": (Negate(A), "a_k"),
    "distinct": (Distinct(A), "a_k"),
    "union": (UnionAll((A, B)), "a_k"),
    "intersect": (SetOp(A, B, "intersect"), "a_k"),
    "except all": (SetOp(A, B, "except", all=True), "a_k"),
    "groups by their key": (Aggregate(A, (("g", Ref("a_k")),), COUNT), "g"),
    "groups by a count": (Aggregate(A, (("g", Ref("a_k")),), COUNT), "many"),
    "no groups": (Aggregate(A, (), COUNT), "many"),
    "window by its partition": (Window(A, (("n", NUMBER),)), "a_k"),
    "window by another column": (Window(A, (("n", NUMBER),)), "a_v"),
    "window by its number": (Window(A, (("n", NUMBER),)), "n"),
    "top": (Top(A, (SortKey(Ref("a_v")), SortKey(Ref("a_k"))), 2), "a_k"),
    **{
        f"{kind} by {column}": (Join(A, B, kind, on("a_k", "b_k")), column)  # type: ignore[arg-type]
        for kind, column in itertools.chain(
            itertools.product(("inner", "left", "full"), ("a_k", "a_v", "b_k", "b_v")),
            itertools.product(("semi", "anti"), ("a_k", "a_v")),
        )
    },
}


@pytest.mark.parametrize("case", RESTRICTED)
@pytest.mark.parametrize("keys", [KEYS, NULL_TOO], ids=["keys", "keys with NULL"])
def test_a_restriction_means_the_same_wherever_it_ends_up(case: str, keys: Plan) -> None:
    plan, column = RESTRICTED[case]
    condition = null_safe_equal(Ref(column), Ref("__k0"))
    assert means_the_same(push_semi_join(plan, keys, condition), Join(plan, keys, "semi", condition))


def test_a_restriction_goes_down_to_both_tables_of_an_inner_join() -> None:
    plan = Project(Join(A, B, "inner", on("a_k", "b_k")), (("k", Ref("b_k")), ("v", Ref("a_v"))))
    found = push_semi_join(plan, KEYS, null_safe_equal(Ref("k"), Ref("__k0")))
    restricted = {join.left for join in joins(found) if join.kind == "semi"}
    assert restricted == {A, B}


def test_a_restriction_by_columns_of_both_sides_narrows_each_and_the_pairs() -> None:
    keys = Distinct(Project(D, (("__k0", Ref("d_k")), ("__k1", Ref("d_v")))))
    plan = Join(A, B, "inner", Call("<=", (Ref("a_k"), Ref("b_k"))))
    condition = all_of([null_safe_equal(Ref("a_v"), Ref("__k0")), null_safe_equal(Ref("b_v"), Ref("__k1"))])
    found = push_semi_join(plan, keys, condition)
    assert len([join for join in joins(found) if join.kind == "semi"]) == 3
    assert means_the_same(found, Join(plan, keys, "semi", condition))


def test_a_restriction_stays_above_the_first_rows_and_above_a_group_without_keys() -> None:
    for case in ("top", "no groups"):
        plan, column = RESTRICTED[case]
        condition = null_safe_equal(Ref(column), Ref("__k0"))
        assert push_semi_join(plan, KEYS, condition) == Join(plan, KEYS, "semi", condition)


def test_a_table_that_is_read_twice_is_restricted_in_each_place_by_its_own_column() -> None:
    again = Scan("a", (("x_k", "k"), ("x_v", "v")))
    plan = Join(A, again, "inner", on("a_k", "x_v"))
    condition = null_safe_equal(Ref("a_k"), Ref("__k0"))
    assert means_the_same(push_semi_join(plan, NULL_TOO, condition), Join(plan, NULL_TOO, "semi", condition))
