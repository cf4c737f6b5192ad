"""Small changes stand in one partition; what is large stays where it is."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Filter,
    Join,
    Materialised,
    Net,
    Plan,
    Project,
    UnionAll,
)
from anabranch.algebra.scalar import Call, Literal, Ref, Scalar, equal, null_safe_equal
from anabranch.delta.affected_keys import affected_keys, restrict_to_keys
from anabranch.delta.join_order import reduce_right_sides
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.render.dialect import DUCKDB, SPARK
from anabranch.engine.render.statement import render
from tests.unit.delta.small import scan

ORDERS, ITEMS, MAKERS = scan("o", "id item"), scan("i", "id maker"), scan("m", "id name")
CHANGE = Delta("o", ORDERS.columns)
JOINED = Join(CHANGE, ITEMS, "inner", equal(Ref("o_item"), Ref("i_id")))
FURTHER = Join(JOINED, MAKERS, "inner", equal(Ref("i_maker"), Ref("m_id")))


def text(plan: Plan, *tables: str, changes: bool = True) -> str:
    return render(plan, SPARK, known=RelationFacts(changes=changes, tables=frozenset(tables))).template


def test_small_relations_are_read_by_one_task_and_met_without_an_exchange():
    found = text(FURTHER, "i", "m")
    assert found.count("/*+ COALESCE(1) */") == 3
    assert found.count("SHUFFLE_HASH(") == 2
    assert "BROADCAST" not in found
    assert "REPARTITION" not in found


def test_a_change_is_sent_to_a_large_table_and_gathered_once_where_it_is_added_up():
    found = text(Net(FURTHER))
    assert found.count("BROADCAST(") == 2
    assert found.count("REPARTITION(1)") == 1


def test_a_change_that_is_sent_to_a_small_table_stands_together_there():
    found = text(Net(FURTHER), "m")
    assert found.count("BROADCAST(") == 2
    assert "REPARTITION" not in found


def test_a_change_that_nothing_groups_is_not_gathered():
    assert "REPARTITION" not in text(FURTHER)


def test_rows_that_are_grouped_anew_are_added_up_where_they_are_read():
    keys = affected_keys(CHANGE, [Ref("o_item")])
    again = Aggregate(
        restrict_to_keys(ORDERS, [Ref("o_item")], keys),
        (("k", Ref("o_item")),),
        (("n", AggregateCall("count")),),
    )
    assert "REPARTITION" not in text(again)
    assert (
        text(
            Net(UnionAll((again, Net(Project(CHANGE, (("k", Ref("o_id")), ("n", Ref("o_item")))))))),
        ).count("REPARTITION(1)")
        == 1
    )


def test_a_semi_join_that_stands_together_is_written_as_an_inner_one_with_differing_partners():
    keys = Materialised("step_0", (("k", "k"),), weighted=False)
    found = text(Join(ITEMS, keys, "semi", null_safe_equal(Ref("i_id"), Ref("k"))), "i")
    assert "SEMI" not in found
    assert "SELECT DISTINCT * FROM" in found
    assert "SEMI" in text(Join(ITEMS, keys, "semi", null_safe_equal(Ref("i_id"), Ref("k"))))
    twice = Join(
        ITEMS,
        Materialised("step_0", (("k", "k"), ("l", "l")), weighted=False),
        "semi",
        null_safe_equal(Ref("i_id"), Ref("k")),
    )
    assert "SEMI" in text(twice, "i"), "a row may have several partners there"


def test_a_semi_join_over_converted_values_stays_one_since_differing_partners_may_equal_one_value():
    keys = Materialised("step_0", (("k", "k"),), weighted=False)
    found = text(Join(ITEMS, keys, "semi", Call("~=", (Ref("i_id"), Ref("k")))), "i")
    assert "SEMI" in found


def test_differing_partners_are_not_made_to_differ_again():
    keys = affected_keys(CHANGE, [Ref("o_item")])
    found = text(Join(ITEMS, keys, "semi", null_safe_equal(Ref("i_id"), Ref("__k0"))), "i")
    assert found.count("DISTINCT") == 1 + found.count("IS NOT DISTINCT")


def test_a_larger_change_is_sent_around_but_not_put_into_one_partition():
    found = text(Net(FURTHER), "m", changes=False)
    assert "BROADCAST(" in found
    assert "REPARTITION" not in found


def test_partners_that_one_task_reads_are_not_narrowed_first():
    left = Join(CHANGE, ITEMS, "left", equal(Ref("o_item"), Ref("i_id")))
    assert reduce_right_sides(left, RelationFacts(tables=frozenset({"i"}))) == left
    assert reduce_right_sides(left, RelationFacts()) != left


@pytest.mark.parametrize("dialect", [SPARK, DUCKDB])
def test_without_knowledge_of_sizes_nothing_is_hinted(dialect):
    assert "/*+" not in render(FURTHER, dialect).template
    assert "/*+" not in render(FURTHER, DUCKDB, known=RelationFacts()).template


LIKE = Call("like", (Ref("i_maker"), Literal("%special%")))


def looked_up(condition: Scalar) -> Filter:
    keys = affected_keys(CHANGE, [Ref("o_item")])
    return Filter(Join(ITEMS, keys, "semi", null_safe_equal(Ref("i_id"), Ref("__k0"))), condition)


def test_a_dear_condition_waits_until_its_rows_are_looked_up():
    plan = looked_up(LIKE)
    assert "WHERE IF(monotonically_increasing_id() >= 0, " in text(plan)
    assert "monotonically" not in text(plan, "i"), "the table is small: there is nothing to wait for"
    assert "monotonically" not in render(plan, SPARK).template


def test_a_comparison_is_made_before_anything_is_looked_up():
    assert "monotonically" not in text(looked_up(Call(">", (Ref("i_id"), Literal(3)))))
