"""A subquery and the rows it is asked for: how the two are related, whatever the subquery is used for.

Three cases, the cheapest that will do:

1. It reads nothing of the block around it: it is a relation of its own.
2. It reads the block around in conditions of its WHERE only, and doesn't group, cut or number its rows:
   those conditions become conditions between the two.
3. Anything else is computed for the domain of values that the block around has (see `domain`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.algebra.plan import Project
from anabranch.algebra.scalar import Ref, Scalar, refs
from anabranch.errors import AnabranchError
from anabranch.sql.lower.block import Block, begin_block
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.ctes import with_ctes
from anabranch.sql.lower.domain import Domain, domain_join_condition
from anabranch.sql.lower.functions import GENERATORS
from anabranch.sql.lower.order import has_limit
from anabranch.sql.lower.plan_builder import JoinTarget
from anabranch.sql.lower.scope import (
    CteDefinition,
    Environment,
    Field,
    NeedsDomain,
    OuterBlock,
    Relation,
    Scope,
)
from anabranch.sql.lower.select_block import complete_block, is_grouped, scalar_of
from anabranch.sql.lower.syntax.query_shape import unwrap_query
from anabranch.sql.lower.syntax.tree import FunctionCall, Name, Node, Query, Select, walk_nodes
from anabranch.sql.lower.windows import windows_in

MAX_ATTEMPTS = 20


@dataclass(frozen=True)
class CorrelatedSubquery:
    """A subquery's relation, and the conditions between its columns and those of the block around."""

    relation: Relation
    conditions: list[Scalar] = field(default_factory=list)
    exact: bool = False
    """Whether the conditions compare copies of the same columns, so that each row outside meets its own."""
    block: Block | None = None
    """A block that groups, still to be completed: its conditions are those of its WHERE."""


def correlate(
    context: Context,
    query: Query,
    ctes: Mapping[str, CteDefinition],
    scope: Scope,
    place: JoinTarget,
    node: Node,
    groups: bool = False,
    items: bool = True,
) -> CorrelatedSubquery:
    """Lower a subquery. With `groups`, a grouped block may be given back as it is after WHERE.

    Without `items` the SELECT list doesn't matter.
    """
    token = object()
    try:
        return _correlate_without_domain(context, query, ctes, OuterBlock(scope, token, {}), groups, items)
    except NeedsDomain as need:
        if need.token is not token:
            raise
    columns = _mentioned_outer_columns(context, query, scope)
    for _ in range(MAX_ATTEMPTS):
        outer = OuterBlock(scope, token, {})
        site = place.builder_with_columns(context, node, columns)
        domain = Domain.of(context, token, site.plan, columns)
        try:
            relation = context.rules.query(context, query, Environment(ctes, outer, domain))
        except NeedsDomain as need:
            if need.token is not token:
                raise
            columns = tuple(dict.fromkeys([*columns, *outer.used]))
            continue
        if set(outer.used) == set(columns):
            assert relation.carried is not None
            return CorrelatedSubquery(relation, [domain_join_condition(relation.carried)], exact=True)
        columns = tuple(column for column in columns if column in outer.used)
    raise context.not_incremental(
        node,
        "the subquery can't be maintained incrementally",
        "what it reads of the queries around it can't be told",
        "write it as a join",
    )


def _correlate_without_domain(
    context: Context,
    query: Query,
    ctes: Mapping[str, CteDefinition],
    outer: OuterBlock,
    groups: bool,
    items: bool,
) -> CorrelatedSubquery:
    query = unwrap_query(query)
    if not isinstance(query.body, Select):
        return CorrelatedSubquery(context.rules.query(context, query, Environment(ctes, outer)))
    environment = with_ctes(context, query, Environment(ctes, outer))
    block = begin_block(context, query.body, environment, free=True)
    if not block.beyond:
        return CorrelatedSubquery(complete_block(block, query))
    if groups and is_grouped(block):
        return CorrelatedSubquery(Relation(block.site.plan, ()), block.beyond, block=block)
    if is_grouped(block) or has_limit(query) or _has_window_or_generator(block):
        raise NeedsDomain(outer.token)
    return _plain_block_relation(block, items)


def _plain_block_relation(block: Block, items: bool) -> CorrelatedSubquery:
    """FROM and WHERE, the SELECT list, and whatever else the conditions read."""
    found: list[tuple[str, Scalar]] = []
    fields: list[Field] = []
    for output in block.outputs if items else []:
        if output.node is not None:
            output.scalar = block.expressions.scalar(output.node)
        scalar = scalar_of(output)
        name = block.context.fresh_column(output.preferred_name, scalar)
        found.append((name, scalar))
        fields.append(Field(output.name or "", name))
        if output.alias is not None:
            block.expressions.aliases[output.alias.lower()] = scalar
    there = set(block.site.plan.names)
    read = dict.fromkeys(name for condition in block.beyond for name in refs(condition))
    kept = [(name, Ref(name)) for name in read if name in there]
    plan = Project(block.site.plan, (*found, *kept)) if found or kept else block.site.plan
    return CorrelatedSubquery(Relation(plan, tuple(fields)), block.beyond)


def _has_window_or_generator(block: Block) -> bool:
    """Whether it looks at its rows together, or makes more of them."""
    nodes: list[Node] = [output.node for output in block.outputs if output.node is not None]
    nodes += [] if block.select.qualify is None else [block.select.qualify]
    generators = any(isinstance(n, FunctionCall) and n.name in GENERATORS for n in nodes)
    return generators or next(windows_in(nodes), None) is not None


def _mentioned_outer_columns(context: Context, query: Query, scope: Scope) -> tuple[str, ...]:
    """A first guess at what a subquery reads of the block around: whatever it mentions that is there."""
    found: dict[str, None] = {}
    for part in walk_nodes(query):
        if isinstance(part, Name):
            try:
                match = scope.find_own(context, part)
            except AnabranchError:
                continue
            if match is not None:
                found[match[0].plan] = None
    return tuple(found)
