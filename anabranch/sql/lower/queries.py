"""A whole query: its CTEs, its body, and ORDER BY … LIMIT at its end."""

from __future__ import annotations

from anabranch.sql.lower.context import Context
from anabranch.sql.lower.ctes import with_ctes
from anabranch.sql.lower.inline_tables import inline_table
from anabranch.sql.lower.order import has_limit, limit_result
from anabranch.sql.lower.outer_columns import join_with_domain
from anabranch.sql.lower.relations import apply_alias
from anabranch.sql.lower.scope import Environment, Relation
from anabranch.sql.lower.select_block import lower_select
from anabranch.sql.lower.set_operations import combine_parts
from anabranch.sql.lower.syntax.query_shape import body_as_query
from anabranch.sql.lower.syntax.tree import Body, InlineTable, Query, Select, SetOperation


def lower_query(context: Context, query: Query, environment: Environment) -> Relation:
    """The relation that a query describes: its columns, then those it carries."""
    environment = with_ctes(context, query, environment)
    if isinstance(query.body, Select):
        return lower_select(context, query.body, query, environment)
    relation = _body(context, query.body, environment)
    return limit_result(context, relation, query, environment) if has_limit(query) else relation


def _body(context: Context, body: Body, environment: Environment) -> Relation:
    match body:
        case Select():
            return lower_select(context, body, body_as_query(body), environment)
        case Query():
            return lower_query(context, body, environment)
        case InlineTable():
            relation = apply_alias(context, inline_table(context, body), body.alias)
            return (
                relation
                if environment.domain is None
                else join_with_domain(context, relation, environment.domain)
            )
        case SetOperation():
            parts = [_body(context, part, environment) for part in body.parts]
            return combine_parts(context, body, parts)
