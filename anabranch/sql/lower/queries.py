"""A whole query: its CTEs, its body, and ORDER BY … LIMIT at its end."""

from __future__ import annotations

from anabranch.sql.lower.carry import carrying
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.ctes import with_ctes
from anabranch.sql.lower.inline import inline_table
from anabranch.sql.lower.order import cuts, ordered
from anabranch.sql.lower.relations import aliased
from anabranch.sql.lower.scope import Environment, Relation
from anabranch.sql.lower.select import lower_select
from anabranch.sql.lower.set_operations import combined
from anabranch.sql.lower.syntax.shape import bare
from anabranch.sql.lower.syntax.tree import Body, InlineTable, Query, Select, SetOperation


def lower_query(context: Context, query: Query, environment: Environment) -> Relation:
    """The relation that a query describes: its columns, then those it carries."""
    environment = with_ctes(context, query, environment)
    if isinstance(query.body, Select):
        return lower_select(context, query.body, query, environment)
    relation = _body(context, query.body, environment)
    return ordered(context, relation, query, environment) if cuts(query) else relation


def _body(context: Context, body: Body, environment: Environment) -> Relation:
    match body:
        case Select():
            return lower_select(context, body, bare(body), environment)
        case Query():
            return lower_query(context, body, environment)
        case InlineTable():
            relation = aliased(context, inline_table(context, body), body.alias)
            return relation if environment.domain is None else carrying(context, relation, environment.domain)
        case SetOperation():
            parts = [_body(context, part, environment) for part in body.parts]
            return combined(context, body, parts)
