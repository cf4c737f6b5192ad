"""Aggregates, windows and the first rows of an order, as SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from anabranch.algebra.plan import Aggregate, AggregateCall, SortKey, Tally, Top, WindowCall
from anabranch.algebra.scalar import is_never_null
from anabranch.engine.render.dialect import Dialect
from anabranch.engine.render.scalar_sql import alias_as, column, raw_sql, scalar_sql, select

TOO_MANY_ROWS = "a scalar subquery gave more than one row"


def aggregate_sql(plan: Aggregate, relation: str, dialect: Dialect) -> exp.Select:
    """SELECT keys, aggregates GROUP BY keys.

    Groups by the keys' new names: a constant key written out would be read as a column's number.
    """
    return _group_by_sql(
        plan, [_aggregate_call_sql(call, dialect) for _, call in plan.calls], relation, dialect
    )


def tally_sql(plan: Tally, relation: str, weight: exp.Expr, dialect: Dialect) -> exp.Select:
    """The same over a change: every row counts by its weight."""
    shown = weight.sql(dialect.name)
    return _group_by_sql(
        plan, [_weighted_call_sql(call, shown, dialect) for _, call in plan.calls], relation, dialect
    )


def _group_by_sql(
    plan: Aggregate | Tally, values: Sequence[exp.Expr], relation: str, dialect: Dialect
) -> exp.Select:
    keys = [alias_as(name, scalar_sql(key, dialect)) for name, key in plan.keys]
    calls = [alias_as(name, value) for (name, _), value in zip(plan.calls, values, strict=True)]
    query = select([*keys, *calls], relation)
    return query.group_by(*[column(name) for name, _ in plan.keys], copy=False) if keys else query


def _weighted_call_sql(call: AggregateCall, weight: str, dialect: Dialect) -> exp.Expr:
    conditions = [] if call.where is None else [scalar_sql(call.where, dialect).sql(dialect.name)]
    counted = weight
    if call.args:
        argument = scalar_sql(call.args[0], dialect).sql(dialect.name)
        if call.function == "sum":
            # A NULL times a weight is NULL, which a sum leaves out.
            counted = f"({argument}) * {weight}"
        elif not is_never_null(call.args[0]):
            conditions.append(f"({argument}) IS NOT NULL")
    chosen = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
    total = f"SUM({counted}){chosen}"
    return raw_sql(total if call.function == "sum" else f"COALESCE({total}, 0)")


def _aggregate_call_sql(call: AggregateCall, dialect: Dialect) -> exp.Expr:
    args = [scalar_sql(arg, dialect).sql(dialect.name) for arg in call.args]
    if call.function == "single":
        error = f"{dialect.error_function}('{TOO_MANY_ROWS}')"
        return raw_sql(f"CASE WHEN COUNT(*) > 1 THEN {error} ELSE MAX({args[0]}) END")
    distinct = "DISTINCT " if call.distinct else ""
    text = f"{call.function}({distinct}{', '.join(args) or '*'})"
    if call.where is not None:
        text += f" FILTER (WHERE {scalar_sql(call.where, dialect).sql(dialect.name)})"
    return raw_sql(text)


def window_sql(
    kept: Sequence[str], calls: Iterable[tuple[str, WindowCall]], relation: str, dialect: Dialect
) -> exp.Select:
    """SELECT kept columns, function OVER (PARTITION BY … ORDER BY … frame)."""
    items: list[exp.Expr] = [column(name) for name in kept]
    items += [alias_as(name, _window_call_sql(call, dialect)) for name, call in calls]
    return select(items, relation)


def _window_call_sql(call: WindowCall, dialect: Dialect) -> exp.Expr:
    args = ", ".join(scalar_sql(arg, dialect).sql(dialect.name) for arg in call.args)
    over = []
    if call.partition:
        over.append(
            "PARTITION BY " + ", ".join(scalar_sql(key, dialect).sql(dialect.name) for key in call.partition)
        )
    if call.order:
        over.append("ORDER BY " + order_sql(call.order, dialect))
    if call.frame:
        over.append(call.frame)
    return raw_sql(f"{call.function}({args}) OVER ({' '.join(over)})")


def top_sql(plan: Top, kept: Sequence[str], relation: str, dialect: Dialect) -> exp.Select:
    """SELECT kept columns ORDER BY … LIMIT … OFFSET …"""
    query = select([column(name) for name in kept], relation)
    if plan.order:
        query = query.order_by(raw_sql(order_sql(plan.order, dialect)), copy=False)
    if plan.limit is not None:
        query = query.limit(plan.limit, copy=False)
    return query.offset(plan.offset, copy=False) if plan.offset else query


def order_sql(keys: tuple[SortKey, ...], dialect: Dialect) -> str:
    """The keys of an ORDER BY, always with NULLS FIRST or LAST."""
    return ", ".join(
        f"{scalar_sql(key.scalar, dialect).sql(dialect.name)} {'DESC' if key.descending else 'ASC'} "
        f"NULLS {'FIRST' if key.nulls_first else 'LAST'}"
        for key in keys
    )
