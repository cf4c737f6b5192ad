"""WHERE, HAVING and QUALIFY: the rows for which a condition is true.

What must all hold is taken apart. Parts without a subquery filter first; `EXISTS` and `IN` that stand
alone are joins; any other part is a value that must be true.
"""

from __future__ import annotations

from anabranch.algebra.scalar import Scalar, refs
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.negation import conjuncts_of
from anabranch.sql.lower.plan_builder import PlanBuilder
from anabranch.sql.lower.syntax.tree import Exists, Expression, InQuery, ScalarQuery, walk_block


def filter_rows(expressions: Expressions, site: PlanBuilder, condition: Expression) -> list[Scalar]:
    """Filter the site; gives back the parts that read columns of the block around it."""
    parts = conjuncts_of(condition)
    plain = [expressions.scalar(part) for part in parts if not has_subquery(part)]
    here = set(site.plan.names)
    local = [scalar for scalar in plain if set(refs(scalar)) <= here]
    beyond = [scalar for scalar in plain if not set(refs(scalar)) <= here]
    site.filter(local)
    for part in parts:
        if has_subquery(part) and not expressions.context.rules.filter(expressions, site, part):
            scalar = expressions.scalar(part)
            if set(refs(scalar)) <= site.names:
                site.filter([scalar])
            else:
                beyond.append(scalar)
    return beyond


def has_subquery(node: Expression) -> bool:
    """Whether there is a subquery in an expression."""
    return any(isinstance(part, Exists | InQuery | ScalarQuery) for part in walk_block(node))
