"""Aggregates, windows and the first rows of an order, as SQL."""

from __future__ import annotations

from sqlglot import exp

from anabranch.algebra.plan import Aggregate, AggregateCall, SortKey, Top, Window, WindowCall
from anabranch.render.dialect import Dialect
from anabranch.render.scalars import column, raw, scalar_sql

TOO_MANY_ROWS = "a scalar subquery gave more than one row"


def aggregate_sql(plan: Aggregate, relation: str, dialect: Dialect) -> exp.Select:
    """SELECT keys, aggregates GROUP BY keys.

    Grouped by the keys' new names: a constant key written out would be read as a column's number.
    """
    keys = [exp.alias_(scalar_sql(key, dialect), name, quoted=True) for name, key in plan.keys]
    calls = [exp.alias_(_aggregate(call, dialect), name, quoted=True) for name, call in plan.calls]
    query = exp.select(*keys, *calls).from_(relation)
    return query.group_by(*[column(name) for name, _ in plan.keys], copy=False) if keys else query


def _aggregate(call: AggregateCall, dialect: Dialect) -> exp.Expr:
    args = [scalar_sql(arg, dialect).sql(dialect.name) for arg in call.args]
    if call.function == "single":
        error = f"{dialect.error_function}('{TOO_MANY_ROWS}')"
        return raw(f"CASE WHEN COUNT(*) > 1 THEN {error} ELSE MAX({args[0]}) END")
    distinct = "DISTINCT " if call.distinct else ""
    text = f"{call.function}({distinct}{', '.join(args) or '*'})"
    if call.where is not None:
        text += f" FILTER (WHERE {scalar_sql(call.where, dialect).sql(dialect.name)})"
    return raw(text)


def window_sql(plan: Window, relation: str, dialect: Dialect) -> exp.Select:
    """SELECT columns, function OVER (PARTITION BY … ORDER BY … frame)."""
    items: list[exp.Expr] = [column(name) for name in plan.input.names]
    items += [exp.alias_(_window(call, dialect), name, quoted=True) for name, call in plan.calls]
    return exp.select(*items).from_(relation)


def _window(call: WindowCall, dialect: Dialect) -> exp.Expr:
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
    return raw(f"{call.function}({args}) OVER ({' '.join(over)})")


def top_sql(plan: Top, relation: str, dialect: Dialect) -> exp.Select:
    """SELECT columns ORDER BY … LIMIT … OFFSET …"""
    query = exp.select(*[column(name) for name in plan.names]).from_(relation)
    if plan.order:
        query = query.order_by(raw(order_sql(plan.order, dialect)), copy=False)
    if plan.limit is not None:
        query = query.limit(plan.limit, copy=False)
    return query.offset(plan.offset, copy=False) if plan.offset else query


def order_sql(keys: tuple[SortKey, ...], dialect: Dialect) -> str:
    """The criteria of an order, with the place of NULLs always said."""
    return ", ".join(
        f"{scalar_sql(key.scalar, dialect).sql(dialect.name)} {'DESC' if key.descending else 'ASC'} "
        f"NULLS {'FIRST' if key.nulls_first else 'LAST'}"
        for key in keys
    )
