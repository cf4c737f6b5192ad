"""Rows of large tables are looked up by keys that are known before anything is computed."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Filter,
    Join,
    Materialised,
    Plan,
    Scan,
    subplans,
)
from anabranch.algebra.scalar import Call, Literal, Ref, all_of
from anabranch.delta import differentiate
from anabranch.delta.look_ups import as_look_up, choose_look_ups, key_sources
from anabranch.delta.materialise import Steps, materialise_shared
from anabranch.delta.simplify import simplify
from anabranch.delta.single_partition import RelationFacts
from tests.unit.delta.test_read_once import EXACT
from tests.unit.delta.test_small_first import A, B, C, means_the_same, on

LOOKUPS = frozenset("abc")
KNOWN = RelationFacts(exact=EXACT, scans=True, lookups=LOOKUPS)


def steps(query: Plan, changed: str, known: RelationFacts = KNOWN) -> Steps:
    origins: dict[Plan, Plan] = {}
    rules = differentiate(query, origins=origins)
    plan = simplify(rules, changed=changed, known=known, origins=tuple(origins.items()))
    assert means_the_same(plan, simplify(rules, changed=changed))
    return materialise_shared(plan, lookups=known.lookups)


def scanned(found: Steps) -> set[str]:
    """The tables that statements read, not look-ups."""
    parts = [found.last, *(plan for leaf, plan in found.before if leaf.name not in found.looked_up)]
    return {part.table for plan in parts for part in subplans(plan) if isinstance(part, Scan)}


@pytest.mark.parametrize("changed", ["a", "b", "ab"])
@pytest.mark.parametrize("kind", ["inner", "left", "semi", "anti"])
def test_what_a_change_meets_is_looked_up_and_no_statement_scans_it(kind: str, changed: str) -> None:
    found = steps(Join(A, B, kind, on("a_k", "b_k")), changed)  # type: ignore[arg-type]
    assert found.looked_up
    assert not scanned(found)


def test_a_table_further_away_is_looked_up_by_keys_of_rows_that_were() -> None:
    found = steps(Join(Join(A, B, "inner", on("a_k", "b_k")), C, "inner", on("b_v", "c_k")), "a")
    assert not scanned(found)
    sources = [key_sources(plan) for leaf, plan in found.before if leaf.name in found.looked_up]
    assert any(isinstance(source, Materialised) for each in sources if each for source, _ in each)


def test_a_table_is_looked_up_by_all_columns_whose_keys_are_known() -> None:
    both = all_of((on("a_k", "b_k"), on("a_v", "b_v")))
    found = steps(Join(A, B, "inner", both), "a")
    (look_up,) = [one for _, plan in found.before if (one := as_look_up(plan)) is not None]
    assert {column.name for column in look_up.keys} == {"__r_k", "__r_v"}


def test_keys_are_computed_before_the_rows_that_have_them() -> None:
    found = steps(Join(A, B, "left", on("a_k", "b_k")), "ab")
    done: set[str] = set()
    for leaf, plan in found.before:
        assert {part.name for part in subplans(plan) if isinstance(part, Materialised)} <= done
        done.add(leaf.name)


def test_tables_that_are_not_looked_up_are_scanned() -> None:
    only_c = RelationFacts(exact=EXACT, scans=True, lookups=frozenset("c"))
    found = steps(Join(A, B, "left", on("a_k", "b_k")), "ab", only_c)
    assert not found.looked_up
    assert scanned(found) == {"a", "b"}


def test_what_no_equality_bounds_is_scanned() -> None:
    less = Call("<", (Ref("a_k"), Ref("b_k")))
    assert scanned(steps(Join(A, B, "inner", less), "a")) == {"b"}


def test_keys_that_are_computed_are_no_look_up() -> None:
    groups = Aggregate(
        Delta("b", (("k", "k"), ("v", "v"))), (("g", Ref("k")),), (("n", AggregateCall("count")),)
    )
    keys = Filter(groups, Call(">", (Ref("n"), Literal(1))))
    assert as_look_up(Join(A, keys, "semi", on("a_k", "g"))) is None
    assert choose_look_ups(Join(A, keys, "semi", on("a_k", "g")), LOOKUPS) == (set(), set())


def test_keys_of_a_step_are_looked_up_rather_than_those_of_the_change_it_came_from() -> None:
    # Rows of a that a change of c touches are judged at both ends: they are a step, and few after the filter.
    few = Filter(A, Call(">", (Ref("a_v"), Literal(1))))
    found = steps(Join(few, C, "anti", on("a_k", "c_k")), "c")
    assert not scanned(found)
    by_name = {leaf.name: plan for leaf, plan in found.before}
    of_c = [one for plan in by_name.values() if (one := as_look_up(plan)) and one.scan.table == "c"]
    assert of_c
    for look_up in of_c:
        (column,) = look_up.keys
        assert isinstance(column.keys, Materialised)
        sources = key_sources(by_name[column.keys.name])
        assert sources is not None
        for source, _ in sources:
            assert isinstance(source, Materialised)
            assert source.name not in found.looked_up
