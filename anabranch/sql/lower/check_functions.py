"""Which functions may stand in an expression over one row."""

from __future__ import annotations

from anabranch.errors import NotIncremental
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.current_time_literals import check_stable_time
from anabranch.sql.lower.functions import (
    AGGREGATES,
    DATETIME_READERS,
    GENERATORS,
    NOT_YET,
    SCALARS,
    UNSTABLE,
    WINDOWS,
)
from anabranch.sql.lower.syntax.tree import Expression, FunctionCall, Star


def check_callable(context: Context, node: FunctionCall) -> None:
    """Refuse what isn't a stable function of one row's values."""
    name = node.name
    if node.over is not None or name in WINDOWS:
        if node.over is None:
            raise context.invalid(node, f"{name}() needs a window", f"write {name}() OVER (ORDER BY …).")
        raise context.invalid(
            node,
            "a window function can't stand here",
            "compute it in a subquery, and use its column.",
        )
    if name in AGGREGATES or name in ("grouping", "grouping_id"):
        raise context.invalid(
            node, f"the aggregate {name}() can't stand here", "aggregate in a subquery, or use HAVING."
        )
    if name in GENERATORS:
        raise context.invalid(
            node, f"{name}() makes rows, so it can't be part of an expression", "use LATERAL VIEW."
        )
    if node.distinct or node.where is not None or node.within or node.nulls is not None:
        raise context.invalid(node, f"{name}() is not an aggregate")
    _check_stable(context, node)
    if name not in SCALARS:
        raise context.not_incremental(
            node,
            f"the function {name}() can't be maintained incrementally",
            "it isn't one of Spark's own, so nobody knows whether it gives the same value twice",
            "use Spark's functions",
        )
    for arg in node.args:
        if isinstance(arg, Star):
            raise context.invalid(arg, f"{name}(*) means nothing here", "name the columns.")
        if name in DATETIME_READERS:
            check_stable_time(context, arg, "TIMESTAMP")


def _check_stable(context: Context, node: FunctionCall) -> None:
    name = node.name
    reason = UNSTABLE.get(name)
    if name == "unix_timestamp" and not node.args:
        reason = UNSTABLE["now"]
    if reason is not None:
        raise unstable_function_error(context, node, name, reason)
    if name in NOT_YET:
        raise context.not_incremental(
            node, f"{name}() can't be maintained incrementally yet", NOT_YET[name], "leave it out"
        )


def unstable_function_error(context: Context, node: Expression, name: str, reason: str) -> NotIncremental:
    """The error that a function may give another value for the same row."""
    return context.not_incremental(
        node, f"{name}() can't be maintained incrementally", reason, f"remove {name}()"
    )
