"""Partners looked up at both ends are looked up once, at the later one."""

from __future__ import annotations

from anabranch.algebra.plan import Filter, Join, Plan, Project, Rows, Scan, subplans
from anabranch.algebra.scalar import Call, Literal, Ref
from anabranch.delta import differentiate
from anabranch.delta.join_order import reduce_right_sides
from anabranch.delta.materialise import materialise_shared
from anabranch.delta.simplify import simplify
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.render.dialect import SPARK
from anabranch.engine.render.statement import render
from tests.unit.delta.test_small_first import CHANGE, A, B, C, means_the_same, on

EXACT = RelationFacts(exact=frozenset((table, column) for table in "abcd" for column in "kv"))
POSITIVE = Filter(B, Call(">", (Ref("b_v"), Literal(0))))
KINDS = ("left", "semi", "anti")


def change(plan: Plan, known: RelationFacts = EXACT) -> Plan:
    return simplify(differentiate(plan), changed="ab", known=known)


def reads(plan: Plan) -> set[tuple[str, str]]:
    """Which tables are read, at which end."""
    return {(leaf.table, leaf.at.name) for leaf in subplans(plan) if isinstance(leaf, Scan)}


def test_the_right_side_of_a_join_is_read_at_its_end_only() -> None:
    for kind in KINDS:
        plan = Join(A, POSITIVE, kind, on("a_k", "b_k"))
        found = change(plan)
        assert ("b", "SINCE") not in reads(found)
        assert ("b", "UNTIL") in reads(found)
        assert means_the_same(found, differentiate(plan))


def test_without_knowing_that_values_are_exact_both_ends_are_read() -> None:
    plan = Join(A, B, "left", on("a_k", "b_k"))
    some = RelationFacts(exact=EXACT.exact - {("b", "v")})
    for known in (RelationFacts(), some):
        found = change(plan, known)
        assert ("b", "SINCE") in reads(found)
        assert means_the_same(found, differentiate(plan))


def test_a_column_that_nobody_reads_needn_t_be_exact() -> None:
    keys = Scan("b", (("b_k", "k"),))
    found = change(Join(A, keys, "semi", on("a_k", "b_k")), RelationFacts(exact=EXACT.exact - {("b", "v")}))
    assert ("b", "SINCE") not in reads(found)


def test_a_small_table_is_simply_read_twice() -> None:
    plan = Join(A, B, "left", on("a_k", "b_k"))
    found = change(plan, RelationFacts(exact=EXACT.exact, tables=frozenset("b")))
    assert not any(isinstance(part, Rows) for part in subplans(found))


def test_both_ends_and_the_left_s_own_change_share_one_look() -> None:
    steps = materialise_shared(change(Join(A, POSITIVE, "left", on("a_k", "b_k"))))
    looks = [
        part
        for plan in (steps.last, *(plan for _, plan in steps.before))
        for part in subplans(plan)
        if isinstance(part, Join) and isinstance(part.left, Scan) and part.left.table == "b"
    ]
    assert len(looks) == 1


def test_rows_that_were_there_twice_are_there_twice() -> None:
    plan = Join(B, A, "left", on("b_k", "a_k"))
    found = change(plan)
    assert any(isinstance(part, Rows) for part in subplans(found))
    assert means_the_same(found, differentiate(plan))


def test_computed_columns_are_computed_at_each_end() -> None:
    # From exact values may come others that aren't.
    computed = Project(B, (("b_k", Ref("b_k")), ("x", Call("+", (Ref("b_v"), Literal(1))))))
    plan = Join(A, computed, "left", on("a_k", "b_k"))
    found = change(plan)
    assert ("b", "SINCE") not in reads(found)
    assert all(not isinstance(part, Rows) or "x" not in part.names for part in subplans(found))
    assert means_the_same(found, differentiate(plan))


def test_where_one_look_up_needs_the_answer_of_another_each_is_made_for_itself() -> None:
    condition = on("b_k", "a_k")
    first = Join(CHANGE, A, "semi", condition)
    second = Join(first, A, "semi", condition)
    plan = Join(second, C, "left", on("b_v", "c_k"))
    assert means_the_same(reduce_right_sides(plan), plan)


def test_rows_by_weight_are_repeated_in_spark() -> None:
    found = change(Join(A, B, "left", on("a_k", "b_k")))
    text = render(found, SPARK).template
    assert "explode(array_repeat(0, CAST(__weight AS INT)))" in text
