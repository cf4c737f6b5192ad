"""One SELECT block on its way to a plan, clause by clause, in the order in which SQL means them."""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.algebra.plan import Values
from anabranch.algebra.scalar import TRUE, Scalar
from anabranch.sql.lower.conditions import filter_rows
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.laterals import lateral_view
from anabranch.sql.lower.outer_columns import join_with_domain, outer_block
from anabranch.sql.lower.plan_builder import PlanBuilder
from anabranch.sql.lower.relations import lower_relation
from anabranch.sql.lower.scope import Environment, Relation, Scope
from anabranch.sql.lower.select_list import Output, expand_select_list
from anabranch.sql.lower.syntax.tree import Select


@dataclass
class Block:
    """What is known of a block after FROM and WHERE."""

    context: Context
    select: Select
    environment: Environment
    site: PlanBuilder
    expressions: Expressions
    outputs: list[Output]
    carried: dict[str, str] | None
    beyond: list[Scalar] = field(default_factory=list)
    """Conditions of WHERE that read columns of the block around, where those may stand for themselves."""
    one_row: bool = False


def begin_block(context: Context, select: Select, environment: Environment, free: bool = False) -> Block:
    """FROM and WHERE. With `free`, WHERE may read the block around without carrying its columns."""
    context.count_block(select)
    source = from_clause(context, select, environment)
    if environment.domain is not None:
        source = join_with_domain(context, source, environment.domain)
    outer = outer_block(environment, source.carried, free)
    scope = Scope(source.fields, outer)
    site = PlanBuilder(source.plan)
    expressions = Expressions(context, scope, site, environment.ctes)
    beyond: list[Scalar] = []
    if select.where is not None:
        beyond = filter_rows(expressions, site, select.where)
    if outer is not None:
        outer.free = False
    carried = None if source.carried is None else dict(source.carried)
    outputs = expand_select_list(context, select, scope)
    return Block(context, select, environment, site, expressions, outputs, carried, beyond)


def from_clause(context: Context, select: Select, environment: Environment) -> Relation:
    """The relation that FROM and LATERAL VIEW describe; without FROM there is one row, of nothing."""
    if select.source is not None:
        relation = lower_relation(context, select.source, environment)
    elif environment.domain is not None:
        values, carried = environment.domain.with_fresh_names(context)
        relation = Relation(values, (), carried)
    else:
        relation = Relation(Values((context.fresh_column("one"),), ((TRUE,),)), ())
    for view in select.views:
        relation = lateral_view(context, relation, view, environment)
    return relation
