"""Which operators only ever gain rows as their input gains some.

Stream tables that read each other have a least fixed point, and one that is reached by adding rows, if
nothing between a member's cyclic inputs and its result takes a row away because another one came.

    gains only      filter, project, union, explode, inner join, DISTINCT, INTERSECT, semi join on either
                    side, left join on its preserved side
    may lose        aggregate, window, LIMIT, EXCEPT, anti join, the side of an outer join that may be NULL

What a plan reads from elsewhere may be computed by anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from anabranch.algebra.plan import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Plan,
    Project,
    Scan,
    SetOp,
    Top,
    UnionAll,
    Values,
    Window,
    subplans,
    tables,
)


def reads_any(plan: Plan, names: Collection[str]) -> bool:
    """Whether a plan reads one of the tables."""
    return not tables(plan).isdisjoint(names)


def non_monotone_operator(plan: Plan, recursive: Collection[str]) -> str | None:
    """The operator through which a row of a recursive table could take another one away, if there is one."""
    return next(_non_monotone_operators(plan, recursive), None)


def _non_monotone_operators(plan: Plan, recursive: Collection[str]) -> Iterator[str]:
    # The innermost first: a scalar subquery is an aggregate, and a join only because of that.
    for part in subplans(plan):
        if not reads_any(part, recursive):
            continue
        match part:
            case Scan() | Values() | Filter() | Project() | UnionAll() | Generate() | Distinct():
                pass
            case Join(_, _, "inner" | "semi"):
                pass
            case Join(_, right, "left"):
                if reads_any(right, recursive):
                    yield "the side of a left join that may be NULL"
            case Join(_, _, "full"):
                yield "a full outer join"
            case Join(_, _, "anti"):
                yield "an anti join (NOT EXISTS, NOT IN)"
            case Aggregate():
                yield _aggregate_text(part)
            case Window():
                yield "a window function"
            case Top():
                yield "ORDER BY … LIMIT"
            case SetOp(_, _, "except"):
                yield "EXCEPT"
            case SetOp(_, _, "intersect", True):
                yield "INTERSECT ALL"
            case SetOp():
                pass
            case _:
                yield type(part).__name__


def _aggregate_text(plan: Aggregate) -> str:
    functions = ", ".join(dict.fromkeys(call.function for _, call in plan.calls))
    return f"an aggregate ({functions or 'GROUP BY'})"


def non_linear_operator(plan: Plan, recursive: Collection[str]) -> str | None:
    """The operator that doesn't treat every row of a recursive table alone, if there is one.

    SQL's own recursion gives a step the rows of the iteration before, not all that there are. That makes no
    difference only if every row is treated alone, and counts as often as it comes.
    """
    for part in reversed(subplans(plan)):
        if not reads_any(part, recursive):
            continue
        match part:
            case Join(left, right) if reads_any(left, recursive) and reads_any(right, recursive):
                return "a join with itself"
            case Join(_, right, kind) if kind != "inner" and reads_any(right, recursive):
                return "EXISTS or IN"
            case Distinct():
                return "DISTINCT"
            case SetOp():
                return "INTERSECT"
            case _:
                pass
    return None
