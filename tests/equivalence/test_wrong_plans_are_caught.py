"""Plans that are wrong in one way, as a mistake in the front end would make them: random texts must tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache

import pytest

from anabranch.algebra.plan import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Plan,
    SetOp,
    SortKey,
    Top,
    Window,
)
from anabranch.algebra.scalar import TRUE, Call, Scalar
from anabranch.algebra.transform import transform_up
from tests.equivalence.duck_texts import DuckTexts, lowered
from tests.equivalence.sql import Case, applied, draw_case

TEXTS = 200
"""No more than the suite itself draws."""


def null_matches_nothing(plan: Plan) -> Plan:
    """NOT IN without its care for NULL."""
    if isinstance(plan, Join) and plan.kind == "anti" and isinstance(plan.on, Call):
        match plan.on:
            case Call("coalesce", (condition, value)) if value == TRUE:
                return replace(plan, on=condition)
    return plan


def joins_as(wrong: JoinKind, right: JoinKind) -> Callable[[Plan], Plan]:
    def rule(plan: Plan) -> Plan:
        if isinstance(plan, Join) and plan.kind == right:
            return replace(plan, kind=wrong)
        return plan

    return rule


def null_equals_nothing(plan: Plan) -> Plan:
    """`IS NOT DISTINCT FROM` read as `=`."""
    if isinstance(plan, Join):
        return replace(plan, on=_plain_equality(plan.on))
    return plan


def _plain_equality(scalar: Scalar) -> Scalar:
    match scalar:
        case Call("<=>", args):
            return Call("=", args)
        case Call("and", args):
            return Call("and", tuple(map(_plain_equality, args)))
        case _:
            return scalar


def all_and_distinct_exchanged(plan: Plan) -> Plan:
    return replace(plan, all=not plan.all) if isinstance(plan, SetOp) else plan


def except_as_intersect(plan: Plan) -> Plan:
    return replace(plan, kind="intersect") if isinstance(plan, SetOp) else plan


def nothing_is_distinct(plan: Plan) -> Plan:
    return plan.input if isinstance(plan, Distinct) else plan


def no_condition(plan: Plan) -> Plan:
    return plan.input if isinstance(plan, Filter) else plan


def aggregates_without_distinct(plan: Plan) -> Plan:
    if isinstance(plan, Aggregate):
        return replace(plan, calls=tuple((name, replace(call, distinct=False)) for name, call in plan.calls))
    return plan


def aggregates_without_filter(plan: Plan) -> Plan:
    if isinstance(plan, Aggregate):
        return replace(plan, calls=tuple((name, replace(call, where=None)) for name, call in plan.calls))
    return plan


def nothing_skipped(plan: Plan) -> Plan:
    return replace(plan, offset=0) if isinstance(plan, Top) else plan


def nulls_at_the_other_end(plan: Plan) -> Plan:
    match plan:
        case Top(_, order):
            return replace(plan, order=tuple(map(_other_end, order)))
        case Window(_, calls):
            moved = [(n, replace(call, order=tuple(map(_other_end, call.order)))) for n, call in calls]
            return replace(plan, calls=tuple(moved))
        case _:
            return plan


def _other_end(key: SortKey) -> SortKey:
    return replace(key, nulls_first=not key.nulls_first)


def windows_without_frame(plan: Plan) -> Plan:
    if isinstance(plan, Window):
        return replace(plan, calls=tuple((name, replace(call, frame=None)) for name, call in plan.calls))
    return plan


def windows_without_partition(plan: Plan) -> Plan:
    if isinstance(plan, Window):
        return replace(plan, calls=tuple((name, replace(call, partition=())) for name, call in plan.calls))
    return plan


def only_the_first_key(plan: Plan) -> Plan:
    """A window's order without the keys that break ties."""
    if isinstance(plan, Window):
        return replace(
            plan, calls=tuple((name, replace(call, order=call.order[:1])) for name, call in plan.calls)
        )
    return plan


WRONG = {
    "NULL matches nothing": null_matches_nothing,
    "full is left": joins_as("left", "full"),
    "left is full": joins_as("full", "left"),
    "left is inner": joins_as("inner", "left"),
    "inner is left": joins_as("left", "inner"),
    "semi is anti": joins_as("anti", "semi"),
    "NULL equals nothing": null_equals_nothing,
    "ALL and DISTINCT exchanged": all_and_distinct_exchanged,
    "EXCEPT is INTERSECT": except_as_intersect,
    "nothing is distinct": nothing_is_distinct,
    "no condition": no_condition,
    "aggregates without DISTINCT": aggregates_without_distinct,
    "aggregates without FILTER": aggregates_without_filter,
    "nothing skipped": nothing_skipped,
    "NULLs at the other end": nulls_at_the_other_end,
    "windows without frame": windows_without_frame,
    "windows without partition": windows_without_partition,
    "only the first key of an order": only_the_first_key,
}


@cache
def drawn() -> list[tuple[Case, Plan]]:
    cases = [draw_case(seed) for seed in range(TEXTS)]
    return [(case, lowered(case.text, case.tables).plan) for case in cases]


@pytest.fixture(scope="module")
def duck() -> Iterator[DuckTexts]:
    with closing(DuckTexts()) as opened:
        yield opened


def tells(duck: DuckTexts, case: Case, wrong: Plan) -> bool:
    duck.create(case.tables)
    contents = case.contents
    for one in ({}, *case.rounds):
        contents = applied(contents, one)
        duck.load(contents, contents)
        if duck.evaluate(wrong) != duck.asked(case.text):
            return True
    return False


@pytest.mark.parametrize("name", WRONG)
def test_random_texts_tell(name: str, duck: DuckTexts) -> None:
    wrong = [(case, transform_up(plan, WRONG[name])) for case, plan in drawn()]
    differing = [(case, bad) for (case, bad), (_, good) in zip(wrong, drawn(), strict=True) if bad != good]
    assert any(tells(duck, case, bad) for case, bad in differing), f"{len(differing)} plans differ"
