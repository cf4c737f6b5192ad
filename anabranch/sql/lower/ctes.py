"""WITH: what the names that it defines stand for."""

from __future__ import annotations

from anabranch.sql.lower.context import Context
from anabranch.sql.lower.outer_columns import environment_without_domain
from anabranch.sql.lower.recursion import lower_recursive, reads_itself
from anabranch.sql.lower.scope import CteDefinition, Environment, NeedsDomain
from anabranch.sql.lower.syntax.tree import Query


def with_ctes(context: Context, query: Query, environment: Environment) -> Environment:
    """The environment in which a query's own CTEs are known; each sees those before it."""
    ctes = dict(environment.ctes)
    for cte in query.ctes:
        inner = Environment(dict(ctes), environment.outer)
        definition = CteDefinition(cte, inner)
        if query.recursive and reads_itself(cte):
            definition.loop = lower_recursive(context, cte, inner, with_ctes)
        else:
            try:
                definition.relation = context.rules.query(
                    context, cte.query, environment_without_domain(inner)
                )
            except NeedsDomain as need:
                # It reads the block around: lowered where it is used.
                if environment.outer is None or need.token is not environment.outer.token:
                    raise
        ctes[cte.name.lower()] = definition
    return Environment(ctes, environment.outer, environment.domain)
