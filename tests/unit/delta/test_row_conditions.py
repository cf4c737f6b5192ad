"""Conditions on single tables choose the rows that are looked up, and the keys of look-ups."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Filter,
    Join,
    Negate,
    Project,
    UnionAll,
    subplans,
)
from anabranch.algebra.scalar import TRUE, Call, Function, Literal, Ref, Scalar, Verbatim, all_of
from anabranch.delta.look_ups import as_changed_rows, as_look_up, key_sources
from anabranch.delta.materialise import materialise_shared
from anabranch.delta.row_conditions import conditions_of_scans, is_plain, plain_conditions
from anabranch.delta.simplify import simplify
from tests.unit.delta.test_look_ups import KNOWN, steps
from tests.unit.delta.test_small_first import A, B, C, means_the_same, on

FEW = Call(">", (Ref("a_v"), Literal(1)))
FEW_B = Call("=", (Ref("b_v"), Literal(2)))
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
    found = conditions_of_scans(Filter(joined, all_of((FEW, FEW_B))))
    assert found == {A: own(("v", ">", 1)), B: own(("v", "=", 2))}
    count = AggregateCall("count", ())
    grouped = Filter(Aggregate(A, (("g", Ref("a_v")),), (("n", count),)), Call(">", (Ref("g"), Literal(1))))
    assert conditions_of_scans(grouped) == {A: own(("v", ">", 1))}
    assert conditions_of_scans(Filter(grouped.input, Call(">", (Ref("n"), Literal(1))))) == {A: frozenset()}


@pytest.mark.parametrize(("kind", "left"), [("left", True), ("semi", True), ("anti", True), ("full", False)])
def test_rows_without_a_match_are_kept_by_what_is_asked_of_the_other_side(kind: str, left: bool) -> None:
    joined = Join(A, B, kind, all_of((on("a_k", "b_k"), FEW_B)))  # type: ignore[arg-type]
    found = conditions_of_scans(Filter(joined, FEW))
    assert found[A] == (own(("v", ">", 1)) if left else frozenset())
    assert found[B] == (own(("v", "=", 2)) if kind != "full" else frozenset())


def test_a_table_that_is_read_twice_keeps_what_both_reads_ask() -> None:
    more = all_of((FEW, Call("<", (Ref("a_k"), Literal(9)))))
    assert conditions_of_scans(UnionAll((Filter(A, FEW), Filter(A, more)))) == {A: own(("v", ">", 1))}
    assert conditions_of_scans(UnionAll((Filter(A, FEW), A))) == {A: frozenset()}


def test_parts_of_a_union_may_be_converted_and_are_not_judged() -> None:
    both = UnionAll((A, Project(B, (("a_k", Ref("b_k")), ("a_v", Ref("b_v"))))))
    assert conditions_of_scans(Filter(both, FEW)) == {A: frozenset(), B: frozenset()}


@pytest.mark.parametrize("changed", ["a", "b", "ab"])
def test_keys_come_from_the_changed_rows_that_matter_and_other_rows_are_left_out(changed: str) -> None:
    found = steps(Join(Filter(A, FEW), Filter(B, FEW_B), "inner", on("a_k", "b_k")), changed)
    looked_up = [one for _, plan in found.before if (one := as_look_up(plan)) is not None]
    assert looked_up
    assert all(look_up.conditions for look_up in looked_up)
    sources = [each for _, plan in found.before for each, _ in key_sources(plan) or ()]
    assert sources
    assert all((rows := as_changed_rows(source)) and rows.conditions for source in sources)


def test_what_is_left_of_a_filtered_table_tells_which_changed_rows_ask_for_others() -> None:
    query = Join(Join(A, Filter(B, FEW_B), "inner", on("a_k", "b_k")), C, "inner", on("a_v", "c_k"))
    found = steps(query, "a")
    asking = [
        rows
        for _, plan in found.before
        for source, _ in key_sources(plan) or ()
        if (rows := as_changed_rows(source)) is not None
    ]
    assert [[match.name for match in rows.matches] for rows in asking] == [[], ["__v_k"]]
    scanned = [one.scan.table for _, plan in found.before if (one := as_look_up(plan)) is not None]
    assert scanned == ["b", "c"]


def test_columns_of_two_changes_are_not_taken_for_columns_of_one_row() -> None:
    first, second = (Delta("a", ((f"{name}_k", "k"), (f"{name}_v", "v"))) for name in ("one", "two"))
    pairs = Join(first, second, "inner", TRUE)
    plan = Join(Join(pairs, Filter(B, FEW_B), "inner", on("one_k", "b_k")), C, "inner", on("two_v", "c_k"))
    found = materialise_shared(simplify(plan, changed="a", known=KNOWN), lookups=KNOWN.lookups)
    asking = [source for _, step in found.before for source, _ in key_sources(step) or ()]
    assert all((rows := as_changed_rows(source)) is None or not rows.matches for source in asking)
    assert means_the_same(simplify(plan, changed="a", known=KNOWN), plan)


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
