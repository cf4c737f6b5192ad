"""Carrying the columns of the block around through a correlated query."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.algebra.plan import Join
from anabranch.algebra.scalar import TRUE
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.domain import Domain
from anabranch.sql.lower.scope import Environment, OuterBlock, Relation


def join_with_domain(context: Context, relation: Relation, domain: Domain) -> Relation:
    """D × R, unless R carries D's columns already."""
    if relation.carried is not None:
        return relation
    values, carried = domain.with_fresh_names(context)
    return Relation(Join(values, relation.plan, "inner", TRUE), relation.fields, carried)


def outer_block(
    environment: Environment, carried: Mapping[str, str] | None, free: bool = False
) -> OuterBlock | None:
    """How a block sees the block around it, when these of its columns are carried."""
    outer = environment.outer
    if outer is None:
        return None
    return OuterBlock(outer.scope, outer.token, outer.used, carried, free)


def environment_without_domain(environment: Environment) -> Environment:
    """The environment of a part that is first tried on its own, carrying nothing."""
    return Environment(environment.ctes, outer_block(environment, None))
