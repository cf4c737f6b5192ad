"""The rest of a SELECT block: groups, windows, the SELECT list, DISTINCT, and where LIMIT cuts."""

from __future__ import annotations

from anabranch.algebra.plan import Distinct, Plan, Project, SortKey
from anabranch.algebra.scalar import Ref, Scalar
from anabranch.sql.lower.aggregates import aggregates_in, group
from anabranch.sql.lower.block import Block, begin_block
from anabranch.sql.lower.conditions import filter_rows
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.functions import GENERATORS
from anabranch.sql.lower.generators import generate_rows
from anabranch.sql.lower.order import (
    first_rows,
    has_limit,
    limit_and_offset,
    limit_result,
    order_position,
    sort_key,
)
from anabranch.sql.lower.scope import Environment, Field, Relation
from anabranch.sql.lower.select_list import Output
from anabranch.sql.lower.syntax.tree import Expression, FunctionCall, Name, Node, Query, Select, Sort
from anabranch.sql.lower.windows import compute_windows


def lower_select(context: Context, select: Select, query: Query, environment: Environment) -> Relation:
    """A whole block; `query` is the query it is the body of."""
    return complete_block(begin_block(context, select, environment), query)


def complete_block(block: Block, query: Query) -> Relation:
    """Everything after WHERE."""
    select = block.select
    items: list[Node] = [output.node for output in block.outputs if output.node is not None]
    sorts: list[Node] = (
        [sort.value for sort in query.order] if has_limit(query) and not query.order_all else []
    )
    later = [*items, *([] if select.qualify is None else [select.qualify]), *sorts]
    if is_grouped(block):
        group(block, later if select.having is None else [*later, select.having])
    if select.having is not None:
        _apply_having(block, select.having)
    compute_windows(block, later)
    _generate(block)
    _lower_items(block)
    if select.qualify is not None:
        filter_rows(block.expressions, block.site, select.qualify)
    return _result(block, query)


def is_grouped(block: Block) -> bool:
    """Whether the block makes groups of its rows."""
    select = block.select
    nodes: list[Node] = [output.node for output in block.outputs if output.node is not None]
    nodes += [] if select.qualify is None else [select.qualify]
    grouped = select.grouping is not None or select.having is not None
    return grouped or next(aggregates_in(nodes), None) is not None


def _apply_having(block: Block, having: Expression) -> None:
    """HAVING may name items of the SELECT list, where no column has that name."""
    expressions = block.expressions
    for output in block.outputs:
        if output.alias is not None and output.node is not None:
            known = output.alias.lower() in expressions.aliases
            expressions.aliases[output.alias.lower()] = None if known else output.node
    filter_rows(expressions, block.site, having)
    expressions.aliases = {}


def _generate(block: Block) -> None:
    """A generator in the SELECT list: its columns take its place."""
    found: list[Output] = []
    seen = False
    for output in block.outputs:
        node = output.node
        if not isinstance(node, FunctionCall) or node.name not in GENERATORS:
            found.append(output)
            continue
        if seen:
            raise block.context.invalid(
                node, "there can be only one generator in a SELECT list", "use LATERAL VIEW."
            )
        seen = True
        args = block.expressions.scalars(node.args)
        names = output.item.aliases
        plan, columns = generate_rows(
            block.context, block.site, node, node.name, args, node.args, names, False
        )
        block.site.plan = plan
        for name, column in columns:
            found.append(Output(name, None, output.item, None, Ref(column)))
            block.expressions.aliases[name.lower()] = Ref(column)
    block.outputs = found


def _lower_items(block: Block) -> None:
    """Each item, which may name those before it."""
    aliases = block.expressions.aliases
    for output in block.outputs:
        if output.node is not None:
            output.scalar = block.expressions.scalar(output.node)
        if output.alias is not None:
            aliases[output.alias.lower()] = None if output.alias.lower() in aliases else output.scalar


def scalar_of(output: Output) -> Scalar:
    """An item's scalar, which is known by now."""
    assert output.scalar is not None
    return output.scalar


def _result(block: Block, query: Query) -> Relation:
    context = block.context
    items: list[tuple[str, Scalar]] = []
    fields: list[Field] = []
    for output in block.outputs:
        scalar = scalar_of(output)
        name = context.fresh_column(output.preferred_name, scalar)
        items.append((name, scalar))
        fields.append(Field(output.name or "", name, _qualifier(output, block)))
    kept = [(name, Ref(name)) for name in (block.carried or {}).values()]
    if not has_limit(query) or block.select.distinct:
        plan: Plan = Project(block.site.plan, (*items, *kept))
        plan = Distinct(plan) if block.select.distinct else plan
        relation = Relation(plan, tuple(fields), block.carried)
        if has_limit(query):
            relation = limit_result(context, relation, query, block.environment)
    else:
        relation = _limit_block(block, query, items, fields)
    plain = tuple(Field(f.name, f.plan) for f in relation.fields)
    one_row = block.one_row and block.select.having is None and block.select.qualify is None
    return Relation(relation.plan, plain, relation.carried, one_row and not has_limit(query))


def _qualifier(output: Output, block: Block) -> tuple[str, ...]:
    """Behind DISTINCT, ORDER BY may still name a column by its relation."""
    field = output.field
    if isinstance(output.node, Name) and not output.item.aliases:
        found = block.expressions.scope.find_own(block.context, output.node, or_none=True)
        field = found[0] if found is not None and found[1] == len(output.node.parts) else None
    return () if field is None else field.qualifier


def _limit_block(
    block: Block, query: Query, items: list[tuple[str, Scalar]], fields: list[Field]
) -> Relation:
    """LIMIT over a plain block: its order may use columns that the result doesn't have."""
    context = block.context
    limit, offset = limit_and_offset(context, query, block.site.plan)
    keys = _sort_keys(block, query, items)
    kept = [(name, Ref(name)) for name in (block.carried or {}).values()]
    extra: list[tuple[str, Scalar]] = []
    by_scalar: dict[Scalar, Ref] = {scalar: Ref(name) for name, scalar in reversed(items)}
    sorts: list[SortKey] = []
    for scalar, sort in keys:
        if scalar not in by_scalar:
            extra.append((context.fresh_column("sort", scalar), scalar))
            by_scalar[scalar] = Ref(extra[-1][0])
        sorts.append(sort_key(by_scalar[scalar], sort))
    plan = Project(block.site.plan, (*items, *extra, *kept))
    top = first_rows(context, Relation(plan, tuple(fields), block.carried), sorts, limit, offset)
    if extra:
        top = Project(top, tuple((name, Ref(name)) for name, _ in (*items, *kept)))
    return Relation(top, tuple(fields), block.carried)


def _sort_keys(block: Block, query: Query, items: list[tuple[str, Scalar]]) -> list[tuple[Scalar, Sort]]:
    """The order's keys: items by position or name first, then any column."""
    if query.order_all:
        return [(scalar, query.order[0]) for _, scalar in items]
    expressions = block.expressions
    expressions.aliases = {}
    for output in block.outputs:
        name = (output.name or "").lower()
        scalar = scalar_of(output)
        known = expressions.aliases.get(name, scalar)
        expressions.aliases[name] = scalar if known == scalar else None
    expressions.aliases_first = True
    found: list[tuple[Scalar, Sort]] = []
    for sort in query.order:
        position = order_position(block.context, sort, len(items))
        found.append((expressions.scalar(sort.value) if position is None else items[position][1], sort))
    return found
