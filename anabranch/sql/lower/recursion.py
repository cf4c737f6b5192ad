"""WITH RECURSIVE: a CTE that reads itself becomes a table of its own, which its plan reads.

    q AS (A UNION S(q))        q = δ(A + S(q))
    q AS (A UNION ALL S(q))    q = A + S(q)

What the table holds is the least solution. A, the anchor, is what doesn't read q; it gives q its types,
as in Spark, which converts the step to them and refuses one that is wider. Otherwise Spark does less: it
refuses UNION, several steps side by side, and a step in front of the anchor. And it shows a step only the
rows of the pass before. For a step that takes the rows of q one by one that is the same. Where a step
reads q twice, Spark loses rows that the least solution has; behind DISTINCT or EXISTS, it repeats rows
that several passes find.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from anabranch.algebra.plan import Distinct, Plan, UnionAll, tables
from anabranch.errors import NotIncremental
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.names import Names
from anabranch.sql.lower.outer_columns import environment_without_domain
from anabranch.sql.lower.scope import (
    CteDefinition,
    Environment,
    NeedsDomain,
    RecursiveTable,
    Relation,
    check_arity,
)
from anabranch.sql.lower.set_operations import combine_parts
from anabranch.sql.lower.syntax.query_shape import (
    body_as_query,
    column_names,
    free_names,
    union_parts,
    unwrap_body,
    unwrap_query,
)
from anabranch.sql.lower.syntax.tree import Body, Cte, Node, Query, SetOperation

RECURSION_PREFIX = "__recursion"
"""What the tables of recursive CTEs are called, before a number."""

WithCtes = Callable[[Context, Query, Environment], Environment]


@dataclass(frozen=True)
class Recursion:
    """A recursive CTE: a table that holds the least solution of `table = plan`."""

    table: str
    """A name that no table of the lake has; scans of it stand for the CTE."""
    plan: Plan
    columns: tuple[str, ...]
    """What the table calls the columns of `plan.names`."""
    anchor: Plan
    """The parts of the plan that don't read the table: the same columns, in the types that it has."""


def reads_itself(cte: Cte) -> bool:
    """Whether a CTE's query refers to the CTE."""
    return (cte.name.lower(),) in free_names(cte.query)


def lower_recursive(
    context: Context, cte: Cte, environment: Environment, with_ctes: WithCtes
) -> RecursiveTable:
    """The table that stands for a recursive CTE. It reads nothing of the block around, so once is enough."""
    if cte not in context.loops:
        try:
            context.loops[cte] = _lower_cte(context, cte, environment_without_domain(environment), with_ctes)
        except NeedsDomain as need:
            raise NotIncremental(
                f'the recursion of "{cte.name}" can\'t be maintained incrementally here',
                detail=f"{context.place(cte)}: it reads columns of an outer query.",
                hint=f'keep them out of "{cte.name}", and compare them with its result.',
            ) from need
    return context.loops[cte]


def _lower_cte(context: Context, cte: Cte, environment: Environment, with_ctes: WithCtes) -> RecursiveTable:
    query = unwrap_query(cte.query)
    top = unwrap_body(query.body)
    distinct = isinstance(top, SetOperation) and not top.all
    parts = list(union_parts(top, everything=not distinct))
    looping = _recursive_names(query, cte.name)
    steps = [part for part in parts if _reads(part, looping)]
    anchors = [part for part in parts if part not in steps]
    _check_no_order_or_limit(context, cte, query)
    if not distinct:
        _check_union_kinds(context, cte, steps)
    if not anchors:
        raise context.invalid(
            cte,
            f'the recursion of "{cte.name}" begins with nothing',
            "add a part that doesn't read it, in a UNION with those that do.",
        )

    def lower_bodies(bodies: list[Body], known: Environment) -> list[Relation]:
        return [context.rules.query(context, body_as_query(body), known) for body in bodies]

    node = SetOperation(top.first, top.last, "union", not distinct, tuple(parts))
    before = replace(query, ctes=tuple(c for c in query.ctes if c.name.lower() not in looping))
    found = lower_bodies(anchors, with_ctes(context, before, environment))
    names = column_names(parts[0]) if parts[0] in steps else None
    loop = _recursive_table(context, cte, combine_parts(context, node, found), names)
    inside = {**environment.ctes, cte.name.lower(): CteDefinition(cte, environment, loop=loop)}
    found += lower_bodies(steps, with_ctes(context, query, replace(environment, ctes=inside)))
    plan = combine_parts(context, node, found).plan
    _check_order(context, cte, plan, loop.table)
    context.recursions.append(Recursion(loop.table, plan, loop.columns, _anchor_plan(plan, len(anchors))))
    return loop


def _recursive_names(query: Query, name: str) -> frozenset[str]:
    """The names that stand for the CTE or for something that reads it, where the query's body stands."""
    found = {name.lower()}
    for cte in query.ctes:
        own = cte.name.lower()
        if _reads(cte.query, found - {own} if query.recursive else found):
            found.add(own)
        else:
            found.discard(own)
    return frozenset(found)


def _reads(node: Node, names: Collection[str]) -> bool:
    free = free_names(node)
    return any((name,) in free for name in names)


def _check_no_order_or_limit(context: Context, cte: Cte, query: Query) -> None:
    last: Node | None = query.order[0] if query.order else query.limit or query.offset
    if last is not None:
        raise context.invalid(
            last,
            f'the recursion of "{cte.name}" can\'t be ordered or cut',
            f'order the rows where "{cte.name}" is read.',
        )


def _check_union_kinds(context: Context, cte: Cte, steps: list[Body]) -> None:
    """Under UNION ALL each derivation counts; under UNION inside it only some would."""
    for step in steps:
        below = unwrap_query(body_as_query(step)).body
        if isinstance(below, SetOperation) and below.op == "union" and not below.all:
            raise context.invalid(
                step,
                f'the recursion of "{cte.name}" mixes UNION and UNION ALL',
                "write UNION everywhere, or UNION ALL.",
            )


def _recursive_table(
    context: Context, cte: Cte, anchor: Relation, names: tuple[str, ...] | None
) -> RecursiveTable:
    """The CTE as its readers see it: named by its list, else by its first part, of the anchor's types."""
    if cte.columns:
        check_arity(context, cte, len(cte.columns), len(anchor.fields))
        names = cte.columns
    if names is None or len(names) != len(anchor.fields):
        names = tuple(field.name for field in anchor.fields)
    columns = Names()
    context.tally.loops += 1
    return RecursiveTable(
        f"{RECURSION_PREFIX}{context.tally.loops}",
        tuple(columns.fresh(name) for name in names),
        names,
        tuple(context.types.get(field.plan) for field in anchor.fields),
    )


def _check_order(context: Context, cte: Cte, plan: Plan, own: str) -> None:
    """Each recursion reads only those that are complete: none around it."""
    complete = {own, *(recursion.table for recursion in context.recursions)}
    if any(table.startswith(RECURSION_PREFIX) and table not in complete for table in tables(plan)):
        raise context.not_incremental(
            cte,
            f'the recursion of "{cte.name}" can\'t be maintained incrementally',
            "it reads a recursion that it is itself a part of",
            "make one recursion of both",
        )


def _anchor_plan(plan: Plan, count: int) -> Plan:
    """The first parts of a union."""
    match plan:
        case Distinct(below):
            return Distinct(_anchor_plan(below, count))
        case UnionAll(parts) if count > 1:
            return UnionAll(parts[:count])
        case UnionAll(parts):
            return parts[0]
    raise AssertionError(plan)
