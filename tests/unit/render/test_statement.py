"""What is only renamed, chosen or left out needs no SELECT of its own."""

from __future__ import annotations

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Filter,
    Join,
    Negate,
    Plan,
    Project,
    SortKey,
    Support,
    Tally,
    UnionAll,
    Window,
    WindowCall,
)
from anabranch.algebra.scalar import Call, Literal, Ref, Verbatim, equal
from anabranch.engine.render.dialect import SPARK
from anabranch.engine.render.statement import render
from tests.unit.delta.small import scan

A, B = scan("a", "k v w"), scan("b", "k x")
BIG = Call(">", (Ref("a_v"), Literal(1)))


def text(plan: Plan) -> str:
    return render(plan, SPARK).template


def test_a_filter_and_a_projection_are_one_select() -> None:
    plan = Project(Filter(A, BIG), (("k", Ref("a_k")), ("more", Call("+", (Ref("a_v"), Literal(1))))))
    assert text(plan) == "SELECT `k` AS `k`, (`v` + 1) AS `more` FROM {leaf_0} WHERE (`v` > 1)"


def test_columns_that_nothing_reads_are_not_selected() -> None:
    plan = Project(Join(Filter(A, BIG), B, "inner", equal(Ref("a_k"), Ref("b_k"))), (("x", Ref("b_x")),))
    found = render(plan, SPARK)
    assert "`w`" not in found.template
    assert [leaf.names for _, leaf in found.leaves] == [("k", "v"), ("k", "x")]
    assert found.template.endswith("SELECT `b_x` AS `x` FROM p0 INNER JOIN p1 ON (`a_k` = `b_k`)")


def test_a_computed_value_that_is_read_twice_is_computed_once() -> None:
    computed = Project(A, (("s", Call("+", (Ref("a_k"), Ref("a_v")))),))
    twice = Project(computed, (("t", Call("*", (Ref("s"), Ref("s")))),))
    assert text(twice) == (
        "WITH p0 AS (SELECT (`k` + `v`) AS `s` FROM {leaf_0}) SELECT (`s` * `s`) AS `t` FROM p0"
    )
    assert "FROM p0 WHERE (`s` > 1)" in text(Filter(computed, Call(">", (Ref("s"), Literal(1)))))


def test_only_columns_stand_in_the_text_of_a_user() -> None:
    renamed = Project(A, (("r", Ref("a_k")),))
    assert text(Project(renamed, (("t", Verbatim(("f(", Ref("r"), ")"))),))) == (
        "SELECT (f(`k`)) AS `t` FROM {leaf_0}"
    )
    constant = Project(A, (("r", Literal(1)),))
    assert "FROM p0" in text(Project(constant, (("t", Verbatim(("f(", Ref("r"), ")"))),)))


def test_what_stands_twice_has_a_name() -> None:
    joined = Join(A, B, "inner", equal(Ref("a_k"), Ref("b_k")))
    both = UnionAll((Project(joined, (("x", Ref("a_v")),)), Project(joined, (("x", Ref("b_x")),))))
    assert text(both).count("INNER JOIN") == 1


def test_parts_of_a_union_take_back_what_they_are_to() -> None:
    change = Delta("a", (("a_v", "v"),))
    both = UnionAll((change, Negate(Project(A, (("old", Ref("a_v")),)))))
    assert text(both) == (
        "SELECT `v` AS `a_v`, `__weight` AS `__weight` FROM {leaf_0} "
        "UNION ALL SELECT `v` AS `a_v`, -1 AS `__weight` FROM {leaf_1}"
    )
    assert "-`__weight`" in text(UnionAll((A, Negate(Delta("a", A.columns)))))


def test_hints_of_a_condition_stay_above_what_it_filters() -> None:
    grouped = Aggregate(Filter(A, BIG), (("g", Ref("a_k")),), (("n", AggregateCall("count")),))
    assert text(Filter(grouped, Call(">", (Ref("n"), Literal(1))))) == (
        "WITH p0 AS (SELECT `k` AS `a_k` FROM {leaf_0} WHERE (`v` > 1)), "
        "p1 AS (SELECT `a_k` AS `g`, count(*) AS `n` FROM p0 GROUP BY `g`) "
        "SELECT `g` AS `g`, `n` AS `n` FROM p1 WHERE (`n` > 1)"
    )


def test_values_that_are_never_null_are_counted_as_rows() -> None:
    flag = Call("case", (BIG, Literal(1), Literal(0)))
    calls = (("n", AggregateCall("count", (flag,))), ("s", AggregateCall("sum", (Ref("a_v"),))))
    found = text(Tally(Delta("a", A.columns), (("g", Ref("a_k")),), calls))
    assert "COALESCE(SUM(`__weight`), 0) AS `n`" in found
    assert "SUM((`a_v`) * `__weight`) AS `s`" in found


def test_calls_that_nothing_reads_are_not_made() -> None:
    calls = (("n", AggregateCall("count")), ("s", AggregateCall("sum", (Ref("a_w"),))))
    grouped = Aggregate(A, (("g", Ref("a_k")),), calls)
    assert "sum" not in text(Project(grouped, (("g2", Ref("g")), ("n2", Ref("n")))))
    ranks = tuple(
        (name, WindowCall("rank", (), (Ref("a_k"),), (SortKey(Ref(column)),)))
        for name, column in (("one", "a_v"), ("other", "a_w"))
    )
    found = text(Project(Window(A, ranks), (("one2", Ref("one")),)))
    assert found.count("rank()") == 1
    assert "`w`" not in found


def test_rows_that_occur_are_as_many_as_in_all_their_columns() -> None:
    occurring = Support(Delta("b", B.columns))
    counted = Project(occurring, (("k", Ref("b_k")),))
    assert "SELECT DISTINCT `b_k`, `b_x` FROM" in text(counted)
    matched = Join(A, occurring, "semi", equal(Ref("a_k"), Ref("b_k")))
    assert "SELECT DISTINCT `b_k` FROM" in text(matched)
