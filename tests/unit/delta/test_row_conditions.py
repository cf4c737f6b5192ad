"""Conditions on single tables choose the rows that are looked up, and the keys of look-ups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Filter,
    Join,
    Negate,
    Net,
    Project,
    UnionAll,
    subplans,
)
from anabranch.algebra.scalar import TRUE, Call, Function, Literal, Ref, Scalar, Verbatim, all_of
from anabranch.delta.look_ups import as_changed_rows, as_chosen_rows, as_look_up, is_bound, key_sources
from anabranch.delta.materialise import materialise_shared
from anabranch.delta.row_conditions import conditions_of_leaves, is_plain, plain_conditions
from anabranch.delta.simplify import simplify
from tests.unit.delta.test_look_ups import KNOWN, scanned, steps
from tests.unit.delta.test_small_first import A, B, C, on

FEW = Call(">", (Ref("a_v"), Literal(1)))
FEW_A = Call("=", (Ref("a_v"), Literal(1)))
FEW_B = Call("=", (Ref("b_v"), Literal(2)))
FEW_C = Call("=", (Ref("c_v"), Literal(3)))
DATE = Verbatim(("DATE '1995-01-01'",))


@pytest.mark.parametrize(
    "condition",
    [
        FEW,
        Call("<", (Literal(3), Ref("a"))),
        Call("<=", (Ref("a"), Ref("b"))),
        Call("in", (Ref("a"), Literal("x"), Literal("y"))),
        Call("or", (FEW, Call("is null", (Ref("a"),)))),
        Call("not", (Call("like", (Ref("a"), Literal("x%"))),)),
        Call(">=", (Ref("a"), Call("+", (DATE, Verbatim(("INTERVAL '1' YEAR",)))))),
    ],
)
def test_comparisons_with_constants_and_between_columns_are_plain(condition: Scalar) -> None:
    assert is_plain(condition)


@pytest.mark.parametrize(
    "condition",
    [
        Call("=", (Literal(1), Literal(1))),
        Call("=", (Ref("a"), Literal(None))),
        Call("=", (Call("upper", (Ref("a"),)), Literal("X"))),
        Call("<=>", (Ref("a"), Literal(1))),
        Call("in", (Ref("a"), Literal(1), Literal(None))),
        Call(">", (Ref("a"), Verbatim(("TIMESTAMP '2020-01-01 00:00:00'",)))),
        Call(">", (Ref("a"), Verbatim(("current_date()",)))),
        Function("isnan", (Ref("a"),)),
        TRUE,
    ],
)
def test_what_computes_converts_or_depends_on_the_session_is_not(condition: Scalar) -> None:
    assert not is_plain(condition)


def test_of_a_conjunction_the_plain_parts_are_taken() -> None:
    assert plain_conditions(all_of((FEW, Function("isnan", (Ref("a_k"),))))) == {FEW}


def own(*conditions: tuple[str, str, int]) -> frozenset[Scalar]:
    return frozenset(Call(op, (Ref(name), Literal(value))) for name, op, value in conditions)


def test_a_condition_above_joins_and_groups_holds_for_the_rows_below_that_it_speaks_of() -> None:
    joined = Join(A, B, "inner", on("a_k", "b_k"))
    found = conditions_of_leaves(Filter(joined, all_of((FEW, FEW_B))))
    assert found == {A: own(("v", ">", 1)), B: own(("v", "=", 2))}
    count = AggregateCall("count", ())
    grouped = Filter(Aggregate(A, (("g", Ref("a_v")),), (("n", count),)), Call(">", (Ref("g"), Literal(1))))
    assert conditions_of_leaves(grouped) == {A: own(("v", ">", 1))}
    assert conditions_of_leaves(Filter(grouped.input, Call(">", (Ref("n"), Literal(1))))) == {A: frozenset()}


@pytest.mark.parametrize(("kind", "left"), [("left", True), ("semi", True), ("anti", True), ("full", False)])
def test_rows_without_a_match_are_kept_by_what_is_asked_of_the_other_side(kind: str, left: bool) -> None:
    joined = Join(A, B, kind, all_of((on("a_k", "b_k"), FEW_B)))  # type: ignore[arg-type]
    found = conditions_of_leaves(Filter(joined, FEW))
    assert found[A] == (own(("v", ">", 1)) if left else frozenset())
    assert found[B] == (own(("v", "=", 2)) if kind != "full" else frozenset())


def test_a_table_that_is_read_twice_keeps_what_both_reads_ask() -> None:
    more = all_of((FEW, Call("<", (Ref("a_k"), Literal(9)))))
    assert conditions_of_leaves(UnionAll((Filter(A, FEW), Filter(A, more)))) == {A: own(("v", ">", 1))}
    assert conditions_of_leaves(UnionAll((Filter(A, FEW), A))) == {A: frozenset()}


def test_parts_of_a_union_may_be_converted_and_are_not_judged() -> None:
    both = UnionAll((A, Project(B, (("a_k", Ref("b_k")), ("a_v", Ref("b_v"))))))
    assert conditions_of_leaves(Filter(both, FEW)) == {A: frozenset(), B: frozenset()}


@pytest.mark.parametrize("changed", ["a", "b", "ab"])
def test_keys_come_from_the_changed_rows_that_matter_and_other_rows_are_left_out(changed: str) -> None:
    found = steps(Join(Filter(A, FEW), Filter(B, FEW_B), "inner", on("a_k", "b_k")), changed)
    looked_up = [one for _, plan in found.before if (one := as_look_up(plan)) is not None]
    assert looked_up
    assert all(look_up.conditions for look_up in looked_up)
    of_changes = [
        rows
        for _, plan in found.before
        for source, _ in key_sources(plan) or ()
        if (rows := as_changed_rows(source)) is not None
    ]
    assert of_changes
    assert all(rows.conditions for rows in of_changes)


def test_what_is_left_of_a_filtered_table_chooses_changed_rows_and_these_ask_for_others() -> None:
    query = Join(Join(A, Filter(B, FEW_B), "inner", on("a_k", "b_k")), C, "inner", on("a_v", "c_k"))
    found = steps(query, "a")
    by_name = {leaf.name: plan for leaf, plan in found.before}
    (chosen,) = [one for plan in by_name.values() if (one := as_chosen_rows(plan)) is not None]
    assert (chosen.source.table, [key.name for key in chosen.keys]) == ("a", ["__q_k"])  # type: ignore[attr-defined]
    look_ups = [one for plan in by_name.values() if (one := as_look_up(plan)) is not None]
    assert [one.scan.table for one in look_ups] == ["b", "c"]
    (key,) = look_ups[1].keys
    ((source, _),) = key_sources(by_name[key.keys.name])  # type: ignore[attr-defined,misc]
    assert as_chosen_rows(by_name[source.name]) == chosen  # type: ignore[attr-defined]
    # Statements read what was chosen, not the whole change.
    statements = [found.last, *(plan for name, plan in by_name.items() if name not in found.looked_up)]
    assert not any(isinstance(part, Delta) for plan in statements for part in subplans(plan))


def test_looked_up_rows_are_chosen_by_what_was_looked_up_by_them() -> None:
    query = Join(Join(A, B, "inner", on("a_k", "b_k")), Filter(C, FEW_C), "inner", on("b_v", "c_k"))
    found = steps(query, "a")
    chosen = [one for _, plan in found.before if (one := as_chosen_rows(plan)) is not None]
    assert [[key.name for key in one.keys] for one in chosen] == [["__q_v"], ["__q_k"]]


def test_a_small_filtered_table_chooses_what_is_looked_up_of_large_ones() -> None:
    query = Join(Join(A, B, "inner", on("a_k", "b_k")), Filter(C, FEW_C), "inner", on("b_v", "c_k"))
    known = replace(KNOWN, lookups=frozenset("ab"), tables=frozenset("c"), readable=frozenset("c"))
    found = steps(query, "a", known)
    look_ups = [one for _, plan in found.before if (one := as_look_up(plan)) is not None]
    assert [(one.scan.table, len(one.keys), len(one.conditions)) for one in look_ups] == [
        ("c", 0, 1),
        ("b", 2, 0),
    ]


def test_filters_on_other_tables_alone_ask_for_no_rows_of_a_large_one() -> None:
    query = Join(Filter(A, FEW), B, "inner", on("a_v", "b_k"))
    known = replace(KNOWN, lookups=frozenset("b"), tables=frozenset("a"), readable=frozenset("a"))
    found = materialise_shared(simplify(query, changed="", known=known), lookups=known.lookups)
    assert [one.scan.table for _, plan in found.before if (one := as_look_up(plan)) is not None] == ["a"]


def test_rows_before_and_after_a_change_are_bounded_by_what_a_filter_leaves_of_others() -> None:
    query = Join(Filter(A, FEW_A), B, "semi", on("a_k", "b_k"))
    found = steps(query, "ab")
    assert not scanned(found)
    of_b = [one for _, plan in found.before if (one := as_look_up(plan)) and one.scan.table == "b"]
    (look_up,) = of_b
    # By the keys that changes touch, and by those that the filter has left of the other table.
    assert len(look_up.keys) == 2
    assert {key.name for key in look_up.keys} == {look_up.keys[0].name}
    netted = [part.input for part in subplans(found.last) if isinstance(part, Net)]
    netted += [part.input for _, plan in found.before for part in subplans(plan) if isinstance(part, Net)]
    assert any(isinstance(rows, Join) and is_bound(rows) for rows in netted)


def test_only_rows_that_meet_a_condition_are_taken_away_from_those_that_do() -> None:
    query = Join(Filter(A, FEW), Filter(B, FEW_B), "left", on("a_k", "b_k"))
    found = steps(query, "ab")
    taken = [
        part.input
        for plan in (found.last, *(plan for _, plan in found.before))
        for part in subplans(plan)
        if isinstance(part, Negate)
    ]
    assert taken
    assert not any(isinstance(rows, Delta) for rows in taken)
