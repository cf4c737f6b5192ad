"""Values that depend on the order in which rows are read: sums of floating point, lists, deviations.

Computed twice over the same rows, they may differ in their last digits. Inside of a query that must not
happen: what a change takes away is computed from the rows as they were, and has to equal what is stored. So
these values are computed once and stored (see `hidden_state`), and only read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anabranch.algebra.plan import Aggregate, AggregateCall, Plan, Project, Window, WindowCall
from anabranch.algebra.scalar import Scalar

Types = Callable[[Plan], Mapping[str, str]]
"""The types of a plan's columns, in Spark's words: only the engine knows them."""

ORDER_FREE = frozenset(
    """any approx_count_distinct bit_and bit_or bit_xor bool_and bool_or count count_if cume_dist dense_rank
    every first_value lag last_value lead max median min nth_value ntile percent_rank percentile
    percentile_cont percentile_disc rank row_number single some""".split()
)
"""Functions of the rows as a bag; those of windows get an order of all columns."""
ADDING = ("sum", "avg")
FLOATING = ("float", "double")
SMALL_INTEGERS = ("tinyint", "smallint", "int")
"""Their sums are exact even where Spark adds up doubles to find an average."""


def depends_on_order(plan: Aggregate | Window, types: Types) -> bool:
    """Whether a value of a group or a window may be another one when it is computed again."""
    return any(_is_order_dependent(plan, name, call, types) for name, call in plan.calls)


def _is_order_dependent(
    plan: Aggregate | Window, name: str, call: AggregateCall | WindowCall, types: Types
) -> bool:
    if call.function not in ADDING:
        return call.function not in ORDER_FREE
    # Asked only where the function doesn't say: it takes the engine.
    if types(plan)[name] not in FLOATING:
        return False
    return call.function == "sum" or _type_of(plan.input, call.args[0], types) not in SMALL_INTEGERS


def _type_of(plan: Plan, scalar: Scalar, types: Types) -> str:
    return types(Project(plan, (("x", scalar),)))["x"]
