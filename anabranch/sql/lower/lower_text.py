"""`lower`: one SELECT to a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from anabranch.algebra.plan import Plan, tables
from anabranch.algebra.prune_columns import parents_first, prune_columns
from anabranch.errors import InvalidName, InvalidOutput, InvalidQuery, SqlTooLarge
from anabranch.names import TableName, check_column_name
from anabranch.schema import Schema
from anabranch.sql.lexer import SqlText, lex, place
from anabranch.sql.lower.coercions import mark_converting_equalities
from anabranch.sql.lower.context import Context, Rules
from anabranch.sql.lower.correlate import correlate
from anabranch.sql.lower.expressions import MAX_ARGUMENTS
from anabranch.sql.lower.names import Names
from anabranch.sql.lower.order import has_limit
from anabranch.sql.lower.queries import lower_query
from anabranch.sql.lower.recursion import Recursion
from anabranch.sql.lower.rename import rename_columns
from anabranch.sql.lower.scope import Environment, Relation, check_arity
from anabranch.sql.lower.subqueries import filter_by_subquery, subquery_value
from anabranch.sql.lower.syntax.queries import read_query
from anabranch.sql.lower.syntax.query_shape import first_part
from anabranch.sql.lower.syntax.tree import (
    DerivedTable,
    InlineTable,
    Node,
    Query,
    Select,
    Star,
    TableFunction,
    TableRef,
    walk_nodes,
)
from anabranch.sql.parse import format_snippet, one_statement
from anabranch.sql.query import parse_query_lexemes
from anabranch.sql.recursion_limit import deep_recursion
from anabranch.sql.sandbox import check_sandbox

MAX_VIEW_DEPTH = 16
MAX_PLAN_NODES = 5_000


@dataclass(frozen=True)
class LoweredQuery:
    """A query as a plan: `columns` are what the user calls the columns of `plan.names`."""

    plan: Plan
    columns: tuple[str, ...]
    notices: tuple[str, ...]
    tables: frozenset[TableName]
    settled: bool = True
    """Whether the text leaves no choice: not among rows that tie, nor of an order to aggregate in."""
    recursions: tuple[Recursion, ...] = ()
    """The tables of recursive CTEs that the plan reads, each behind those that it reads itself."""


def lower(
    text: str, schemas: Mapping[TableName, Schema], views: Mapping[TableName, str] | None = None
) -> LoweredQuery:
    """The plan of a query over tables of these schemas and views of these texts.

    >>> from anabranch.sql.ddl import parse_schema
    >>> orders = {TableName.parse("orders"): parse_schema("id BIGINT, region STRING")}
    >>> lowered = lower("SELECT region, count(*) AS n FROM orders GROUP BY region", orders)
    >>> lowered.columns, [str(table) for table in lowered.tables]
    (('region', 'n'), ['orders'])
    """
    with limit_nesting():
        return lower_parsed_query(parse_and_check(text), schemas, views or {})


@contextmanager
def limit_nesting() -> Iterator[None]:
    """Room for texts that are nested deeply; one that needs more is refused."""
    try:
        with deep_recursion:
            yield
    except RecursionError as error:
        raise SqlTooLarge("the SQL text is nested too deeply") from error


def lower_parsed_query(
    found: ParsedQuery,
    schemas: Mapping[TableName, Schema],
    views: Mapping[TableName, str],
    names: tuple[str, ...] | None = None,
) -> LoweredQuery:
    """The plan of a text that was read; with `names`, those are its columns'."""
    query = found.query
    rules = Rules(lower_query, subquery_value, filter_by_subquery, correlate, _lower_view)
    context = Context(found.sql, schemas, views, rules, Names(found.kept))
    context.count_relations(found.relations)
    relation = _lower_standalone(context, query, names)
    if query.order and not has_limit(query):
        context.add_notice("ORDER BY at the end is dropped: a table has no order")
    recursions = _reachable_recursions(relation.plan, context.recursions)
    _check_size([relation.plan, *(recursion.plan for recursion in recursions)])

    def finish_plan(plan: Plan) -> Plan:
        plan = mark_converting_equalities(prune_columns(plan), context.types)
        # A plan keeps its hash; computed here, no later walk has to descend for it.
        hash(plan)
        return plan

    return LoweredQuery(
        finish_plan(relation.plan),
        tuple(field.name for field in relation.fields),
        tuple(context.notices),
        frozenset(context.tables),
        not context.tally.choices,
        tuple(replace(r, plan=finish_plan(r.plan), anchor=finish_plan(r.anchor)) for r in recursions),
    )


def _reachable_recursions(plan: Plan, recursions: list[Recursion]) -> list[Recursion]:
    """Those that a plan reads, and those that they read."""
    read = set(tables(plan))
    found: list[Recursion] = []
    for recursion in reversed(recursions):
        if recursion.table in read:
            read |= tables(recursion.plan)
            found.append(recursion)
    return found[::-1]


@dataclass(frozen=True)
class ParsedQuery:
    """A text as a tree; `kept` are names that its lambdas use."""

    sql: SqlText
    query: Query
    kept: frozenset[str]
    relations: int


def parse_and_check(text: str) -> ParsedQuery:
    """The tree of a text that the front end accepts: limits, sandbox, which tables it names."""
    sql = one_statement(lex(text))
    check_sandbox(sql)
    query, kept = read_query(sql)
    relations = _count_relations(sql, query)
    parse_query_lexemes(sql)
    return ParsedQuery(sql, query, kept, relations)


def _count_relations(sql: SqlText, query: Query) -> int:
    """The number of relations, after a look at the whole before anything is built of it."""
    relations = 0
    for node in walk_nodes(query):
        relations += isinstance(node, TableRef | DerivedTable | TableFunction | InlineTable)
        for items in vars(node).values():
            if isinstance(items, tuple) and len(items) > MAX_ARGUMENTS:
                raise SqlTooLarge(
                    "a list in the query is too long",
                    detail=f"{place(sql.text, sql.lexemes[node.first].start)}: {len(items)} items; "
                    f"{MAX_ARGUMENTS} are allowed.",
                    hint="put the values into a table, and join it.",
                )
    return relations


def _check_size(plans: list[Plan]) -> None:
    """Every use of a shared part counts: whoever walks a plan as a tree meets it each time."""
    total = 0
    for plan in plans:
        sizes: dict[Plan, int] = {}
        for node in reversed(parents_first(plan)):
            sizes[node] = 1 + sum(sizes[below] for below in node.inputs)
        total += sizes[plan]
    if total > MAX_PLAN_NODES:
        raise SqlTooLarge(
            "the query is too complex",
            detail=f"its plan has {total} operators; {MAX_PLAN_NODES} are allowed.",
            hint="put a part of it into a stream table of its own.",
        )


def _lower_standalone(context: Context, query: Query, names: tuple[str, ...] | None = None) -> Relation:
    """A query that stands alone: its columns have names, each once, and nothing else is in its plan."""
    relation = lower_query(context, query, Environment())
    if names is not None:
        check_arity(context, query, len(names), len(relation.fields))
        fields = zip(names, relation.fields, strict=True)
        relation = replace(relation, fields=tuple(replace(field, name=name) for name, field in fields))
    seen: set[str] = set()
    for number, field in enumerate(relation.fields, start=1):
        where = _format_item(context, query, number)
        if not field.name:
            raise InvalidOutput(
                f"column {number} of the result has no name",
                detail=where,
                hint="give it an alias: expression AS name.",
            )
        try:
            check_column_name(field.name)
        except InvalidName as error:
            raise InvalidName(error.message, detail=where, hint=error.hint) from error
        if field.name.lower() in seen:
            raise InvalidOutput(
                f'two columns of the result are called "{field.name}"',
                detail=where,
                hint="give one of them an alias: column AS name. Case makes no difference.",
            )
        seen.add(field.name.lower())
    columns = [field.plan for field in relation.fields]
    if list(relation.plan.names) != columns:
        plan = rename_columns(relation.plan, [(column, column) for column in columns])
        relation = replace(relation, plan=plan)
    return relation


def _format_item(context: Context, query: Query, number: int) -> str:
    """The item of the SELECT list that a column comes from, if one can be told."""
    body = first_part(query)
    if not isinstance(body, Select) or any(isinstance(item.value, Star) for item in body.items):
        return f"{context.where}column {number}."
    item = body.items[min(number, len(body.items)) - 1]
    return f"{context.place(item)}, in {format_snippet(context.text(item))}."


def _lower_view(context: Context, name: TableName, node: Node) -> Relation:
    """A view's own query, lowered once."""
    if name in context.shared:
        return context.shared[name]
    if name in context.opened or len(context.opened) >= MAX_VIEW_DEPTH:
        raise InvalidQuery(
            f'the view "{name}" reads itself' if name in context.opened else "views are nested too deeply",
            detail=f"{context.place(node)}: {' -> '.join(map(str, (*context.opened, name)))}.",
        )
    found = parse_and_check(context.views[name])
    context.names.reserve(found.kept)
    inner = replace(context, sql=found.sql, where=f'in the view "{name}", ', opened=(*context.opened, name))
    inner.count_relations(found.relations)
    context.shared[name] = _lower_standalone(inner, found.query)
    return context.shared[name]
