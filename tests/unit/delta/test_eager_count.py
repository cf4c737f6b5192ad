"""Partners are counted before a left join, where nothing but their number is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.algebra.evaluate import Tables, ZSet, evaluate
from anabranch.algebra.plan import Aggregate, AggregateCall, Join, Plan
from anabranch.algebra.scalar import Call, Literal, Ref, all_of, equal, null_safe_equal
from anabranch.delta.eager_count import count_eagerly
from anabranch.delta.hidden_state import split_hidden_state
from tests.unit.delta.small import rows, scan

CUSTOMERS, ORDERS = scan("c", "id name"), scan("o", "customer number")
COLUMNS = {"c": ("id", "name"), "o": ("customer", "number")}
BY_CUSTOMER = equal(Ref("c_id"), Ref("o_customer"))
NAME = (("name", Ref("c_name")),)
ORDERED = ("ordered", AggregateCall("count", (Ref("o_number"),)))
JOINED = Join(CUSTOMERS, ORDERS, "left", BY_CUSTOMER)
COUNTED = Aggregate(JOINED, NAME, (ORDERED,))


def contents(plan: Plan, customers: ZSet, orders: ZSet) -> ZSet:
    tables = {"c": customers, "o": orders}
    return evaluate(plan, Tables(COLUMNS, tables, tables))


def test_each_key_is_counted_once_and_stored() -> None:
    state, result = split_hidden_state(COUNTED, COUNTED.names, "q")
    assert state.table == "q__state"
    assert isinstance(state.plan, Aggregate)
    assert state.plan.input == ORDERS
    assert result.plan.names == COUNTED.names


@pytest.mark.parametrize(
    ("customers", "orders"),
    [
        (rows("1 ann", "2 bob"), rows("1 7", "1 8")),
        (rows("1 ann", "1 ann", "2 ann"), rows("1 7", "1 8", "2 9", "3 9")),
        (rows("- ann", "2 bob"), rows("- 7", "2 -", "2 5")),
        (rows(), rows("1 7")),
        (rows("1 ann"), rows()),
    ],
    ids=["one has none", "customers that share a name and a number", "nulls", "nobody", "nothing"],
)
@pytest.mark.parametrize("keys", [NAME, ()], ids=["by name", "all"])
@pytest.mark.parametrize("matches", [equal, null_safe_equal])
def test_the_counts_are_the_same(customers: ZSet, orders: ZSet, keys: tuple, matches) -> None:
    joined = replace(JOINED, on=matches(Ref("c_id"), Ref("o_customer")))
    plan = Aggregate(joined, keys, (ORDERED, ("known", AggregateCall("count", (Ref("o_customer"),)))))
    counted = count_eagerly(plan)
    assert counted.counts
    assert contents(counted.plan, customers, orders) == contents(plan, customers, orders)


@pytest.mark.parametrize(
    "plan",
    [
        replace(COUNTED, calls=(("all", AggregateCall("count")),)),
        replace(COUNTED, calls=(("kinds", AggregateCall("count", (Ref("o_number"),), distinct=True)),)),
        replace(COUNTED, calls=(ORDERED, ("own", AggregateCall("count", (Ref("c_name"),))))),
        replace(COUNTED, calls=(("total", AggregateCall("sum", (Ref("o_number"),))),)),
        replace(
            COUNTED,
            calls=(
                ("never none", AggregateCall("count", (Call("coalesce", (Ref("o_number"), Literal(0))),))),
            ),
        ),
        replace(COUNTED, calls=()),
        replace(COUNTED, keys=(("number", Ref("o_number")),)),
        replace(COUNTED, input=replace(JOINED, kind="inner")),
        replace(COUNTED, input=replace(JOINED, on=Call("~=", (Ref("c_id"), Ref("o_customer"))))),
        replace(COUNTED, input=replace(JOINED, on=Literal(True))),
        replace(
            COUNTED,
            input=replace(JOINED, on=all_of([BY_CUSTOMER, Call("<", (Ref("c_id"), Ref("o_number")))])),
        ),
    ],
    ids=[
        "rows without a partner count",
        "distinct",
        "values of the left side",
        "sums",
        "a value where there is no partner",
        "nothing",
        "groups of the right side",
        "an inner join",
        "equal by conversion",
        "no equality",
        "more than an equality",
    ],
)
def test_whatever_else_is_asked_is_left_alone(plan: Plan) -> None:
    counted = count_eagerly(plan)
    assert counted.plan == plan
    assert not counted.counts
