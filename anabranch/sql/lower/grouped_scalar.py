"""The commonest correlated subquery: (SELECT f(sum(x), …) FROM r WHERE r.k = outer.k).

It is grouped once by its key and joined to the rows outside. A row that finds no group meets the
aggregates of nothing: counts are 0 there, everything else is NULL, and f is computed from those.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.algebra.plan import Aggregate
from anabranch.algebra.scalar import Call, Literal, Ref, Scalar, all_of, equal, refs
from anabranch.sql.lower.aggregate_calls import aggregate_call
from anabranch.sql.lower.aggregates import aggregates_in
from anabranch.sql.lower.block import Block
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.functions import EMPTY_GROUP
from anabranch.sql.lower.key_pairs import key_pairs
from anabranch.sql.lower.scope import NeedsDomain, Scope
from anabranch.sql.lower.syntax.tree import Expression, ScalarQuery
from anabranch.sql.lower.windows import windows_in


def lower_grouped_scalar(expressions: Expressions, node: ScalarQuery, block: Block) -> Scalar | None:
    """The value, or None if the subquery isn't of this kind."""
    context = block.context
    output = block.outputs[0]
    if len(block.outputs) != 1 or output.node is None or not _is_plain_aggregate(block, output.node):
        return None
    pairs = key_pairs(context, block.beyond, block.site.plan)
    if pairs is None or any(op != "=" for (op, _), _ in pairs):
        return None
    found = {call: aggregate_call(block.expressions, call) for call in aggregates_in([output.node])}
    if not found or any(call.function not in EMPTY_GROUP for call in found.values()):
        return None
    keys = [(context.fresh_column("key", inner), inner) for _, inner in pairs]
    named = {call: context.fresh_column(call.function) for call in dict.fromkeys(found.values())}
    grouped = Aggregate(block.site.plan, tuple(keys), tuple((name, call) for call, name in named.items()))
    outside = [name for (_, outer), _ in pairs for name in refs(outer)]
    site = expressions.builder_with_columns(node, outside)
    before = block.expressions.scope
    outer_scope = None if before.outer is None else replace(before.outer, free=True)
    scope = Scope(before.fields, outer_scope, frozenset(f.plan for f in before.fields))
    after = Expressions(context, scope, site, expressions.ctes)
    for call_node, call in found.items():
        after.ready[call_node] = _value_or_empty_group(Ref(named[call]), call.function)
    on = [equal(outer, Ref(key)) for ((_, outer), _), (key, _) in zip(pairs, keys, strict=True)]
    before_join = site.plan
    site.join(grouped, "left", all_of(on))
    try:
        return after.scalar(output.node)
    except NeedsDomain:
        site.plan = before_join
        raise


def _is_plain_aggregate(block: Block, node: Expression) -> bool:
    select = block.select
    extras = (select.grouping, select.having, select.qualify)
    return not select.distinct and all(e is None for e in extras) and next(windows_in([node]), None) is None


def _value_or_empty_group(ref: Ref, function: str) -> Scalar:
    empty = EMPTY_GROUP[function]
    return ref if empty is None else Call("coalesce", (ref, Literal(empty)))
