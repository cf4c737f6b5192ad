"""Carrying the columns of the block around through a correlated query."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.algebra.plan import Join
from anabranch.algebra.scalar import TRUE
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.domain import Domain
from anabranch.sql.lower.scope import Environment, Outer, Relation


def carrying(context: Context, relation: Relation, domain: Domain) -> Relation:
    """D × R, unless R carries D's columns already."""
    if relation.carried is not None:
        return relation
    values, carried = domain.fresh(context)
    return Relation(Join(values, relation.plan, "inner", TRUE), relation.fields, carried)


def outer_of(environment: Environment, carried: Mapping[str, str] | None, free: bool = False) -> Outer | None:
    """How a block sees the block around it, when these of its columns are carried."""
    outer = environment.outer
    if outer is None:
        return None
    return Outer(outer.scope, outer.token, outer.used, carried, free)


def closed(environment: Environment) -> Environment:
    """The environment of a part that is first tried on its own, carrying nothing."""
    return Environment(environment.ctes, outer_of(environment, None))
