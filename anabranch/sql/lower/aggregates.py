"""GROUP BY and aggregates: from the rows of a block to one row per group.

After grouping, an expression may use the group's keys and its aggregates, and nothing else. A part of
it that says the same as a key is that key, however it is written (`t.a + 1`, `1 + a`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from anabranch.algebra.plan import Aggregate, AggregateCall, Join, Plan, Project
from anabranch.algebra.scalar import TRUE, Call, Ref, Scalar, all_of, children
from anabranch.errors import AmbiguousColumn, InvalidQuery, UnknownColumnInQuery
from anabranch.sql.lower.aggregate_calls import aggregate_call
from anabranch.sql.lower.block import Block
from anabranch.sql.lower.conditions import has_subquery
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.domain import same_outer_row
from anabranch.sql.lower.expressions import Expressions
from anabranch.sql.lower.functions import AGGREGATES
from anabranch.sql.lower.grouping import Groups, group_keys
from anabranch.sql.lower.grouping_sets import expand_by_grouping_sets, grouping_values
from anabranch.sql.lower.outer_columns import outer_block
from anabranch.sql.lower.plan_builder import JoinTarget, PlanBuilder
from anabranch.sql.lower.scope import NeedsDomain, Scope
from anabranch.sql.lower.syntax.tree import (
    Expression,
    FunctionCall,
    KeywordLiteral,
    Name,
    Node,
    Number,
    String,
    walk_block,
)

_COMMUTATIVE = frozenset(["+", "*", "=", "<=>", "and", "or"])


def aggregates_in(nodes: Iterable[Node]) -> Iterator[FunctionCall]:
    """The aggregates of a block's expressions, not those of its windows themselves."""
    for node in nodes:
        for part in walk_block(node):
            if isinstance(part, FunctionCall) and part.over is None and part.name in AGGREGATES:
                yield part


def group(block: Block, nodes: list[Node]) -> None:
    """Turn the block's rows into groups; `nodes` are the expressions that come after grouping."""
    context, before = block.context, block.expressions
    groups = group_keys(block)
    found = {node: aggregate_call(before, node) for node in aggregates_in(nodes)}
    named = _named_calls(context, found.values())
    keys: list[tuple[str, Scalar]] = [
        (context.fresh_column(_key_name(scalar), scalar), scalar) for scalar in groups.keys
    ]
    block.one_row = groups.sets is None and not keys
    if block.one_row and not named:
        named = _named_calls(context, [AggregateCall("count")])  # SQL has no rows without columns
    number: Ref | None = None
    if groups.sets is not None:
        carried = [] if block.carried is None else [Ref(name) for name in block.carried.values()]
        used = [*(scalar for call in named.values() for scalar in call.scalars), *carried]
        block.site.plan, blanked = expand_by_grouping_sets(context, block.site.plan, groups, used)
        number = Ref(context.fresh_column("grouping_set"))
        keys = [(name, column) for (name, _), (_, column) in zip(keys, blanked, strict=False)]
        keys.append((number.name, blanked[-1][1]))
    marks = grouping_values(before, nodes, groups, number)
    plan = _aggregate_plan(block, keys, named)
    calls = {call: Ref(name) for name, call in named.items()}
    ready: dict[Expression, Scalar] = {node: calls[call] for node, call in found.items()}
    _enter_grouped_scope(block, plan, groups, [name for name, _ in keys], ready | marks)


def _named_calls(context: Context, calls: Iterable[AggregateCall]) -> dict[str, AggregateCall]:
    """A column for each call; equal calls share one."""
    distinct = dict.fromkeys(calls)
    return {context.fresh_column(call.function): call for call in distinct}


def _key_name(scalar: Scalar) -> str:
    return scalar.name if isinstance(scalar, Ref) else "key"


def _aggregate_plan(block: Block, keys: list[tuple[str, Scalar]], calls: dict[str, AggregateCall]) -> Plan:
    context, plan = block.context, block.site.plan
    if block.carried is None:
        return Aggregate(plan, tuple(keys), tuple(calls.items()))
    if not block.one_row:
        carried = {column: context.fresh_column(name, Ref(name)) for column, name in block.carried.items()}
        every = [*keys, *((carried[column], Ref(name)) for column, name in block.carried.items())]
        block.carried = carried
        return Aggregate(plan, tuple(every), tuple(calls.items()))
    return _one_group_per_outer_row(block, calls)


def _one_group_per_outer_row(block: Block, calls: dict[str, AggregateCall]) -> Plan:
    """γ(Q) without keys has a row even where Q has none, so each row of the domain must have one.

    D ⟕ (Q marked), grouped by D, every aggregate over marked rows only: an empty Q is an empty group,
    and Spark itself says what an aggregate of nothing is.
    """
    context, domain = block.context, block.environment.domain
    assert domain is not None
    assert block.carried is not None
    values, carried = domain.with_fresh_names(context)
    marker = context.fresh_column("match")
    kept = tuple((name, Ref(name)) for name in block.site.plan.names)
    marked = Project(block.site.plan, (*kept, (marker, TRUE)))
    present = Call("not", (Call("is null", (Ref(marker),)),))
    filtered = tuple(
        (name, replace(call, where=all_of([present, *([] if call.where is None else [call.where])])))
        for name, call in calls.items()
    )
    rows = Join(values, marked, "left", same_outer_row(carried, block.carried))
    keys = {column: context.fresh_column(name, Ref(name)) for column, name in carried.items()}
    block.carried = keys
    return Aggregate(rows, tuple((keys[c], Ref(name)) for c, name in carried.items()), filtered)


def _enter_grouped_scope(
    block: Block, plan: Plan, groups: Groups, keys: list[str], ready: dict[Expression, Scalar]
) -> None:
    """What the block's later expressions see: keys and aggregates."""
    context, before = block.context, block.expressions
    by_scalar = {scalar: Ref(name) for scalar, name in zip(groups.keys, keys, strict=False)}
    fields = tuple(
        replace(field, plan=by_scalar[Ref(field.plan)].name) if Ref(field.plan) in by_scalar else field
        for field in before.scope.fields
    )
    ungrouped = frozenset(f.plan for f in fields) - {ref.name for ref in by_scalar.values()}
    scope = Scope(fields, outer_block(block.environment, block.carried), ungrouped)
    block.site = PlanBuilder(plan)
    after = _GroupedExpressions(context, scope, block.site, before, by_scalar)
    after.ready = ready | {node: Ref(keys[key]) for node, key in groups.items.items()}
    for output in block.outputs:
        if output.node is None:
            output.scalar = _star_column(context, output.item, output.scalar, by_scalar)
    block.expressions = after


def _star_column(context: Context, node: Node, scalar: Scalar | None, keys: dict[Scalar, Ref]) -> Scalar:
    if scalar is None or scalar not in keys:
        raise context.invalid(node, "the star stands for columns that are neither grouped nor aggregated")
    return keys[scalar]


class _GroupedExpressions(Expressions):
    """Expressions over groups: a part that equals a key is that key."""

    def __init__(
        self, context: Context, scope: Scope, place: JoinTarget, before: Expressions, keys: dict[Scalar, Ref]
    ) -> None:
        super().__init__(context, scope, place, before.ctes)
        self._before = before
        self._keys = {_canonical(key): ref for key, ref in keys.items() if not isinstance(key, Ref)}
        self._sizes = {_size(key) for key in self._keys}
        self._tried: dict[Expression, Scalar | None] = {}
        before.remembers = True

    def lookup_scalar(self, node: Expression) -> Scalar | None:
        """Computed before, or equal to a key."""
        ready = self.ready.get(node)
        if ready is not None or not self._keys or isinstance(node, Name | Number | String | KeywordLiteral):
            return ready
        if node not in self._tried:
            self._tried[node] = self._matching_key(node)
        return self._tried[node]

    def _matching_key(self, node: Expression) -> Scalar | None:
        if has_subquery(node) or any(aggregates_in([node])):
            return None
        try:
            scalar = self._before.scalar(node)
            return self._keys.get(_canonical(scalar)) if _size(scalar) in self._sizes else None
        except (UnknownColumnInQuery, AmbiguousColumn, InvalidQuery, NeedsDomain):
            return None  # what is wrong with it will be said when it is lowered after grouping


def _size(scalar: Scalar) -> int:
    count, pending = 0, [scalar]
    while pending:
        count += 1
        pending.extend(children(pending.pop()))
    return count


def _canonical(scalar: Scalar) -> Scalar:
    """The same for `a + b` and `b + a`."""
    if not isinstance(scalar, Call):
        return scalar
    args = tuple(_canonical(arg) for arg in scalar.args)
    if scalar.op in _COMMUTATIVE:
        args = tuple(sorted(args, key=repr))
    return Call(scalar.op, args)
