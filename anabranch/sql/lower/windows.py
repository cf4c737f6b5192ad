"""Window functions: one Window node per distinct PARTITION BY.

Where rows tie in the window's order, which of them comes first is arbitrary, and the result would
change from refresh to refresh. So for functions that look at single rows, all columns follow the
window's own keys; rows that still tie are equal, and equal rows can't be told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.algebra.plan import SortKey, Window, WindowCall
from anabranch.algebra.scalar import TRUE, Call, Ref, Scalar
from anabranch.sql.lower.aggregate_calls import function_and_arguments
from anabranch.sql.lower.block import Block
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.functions import AGGREGATES, ORDER_DEPENDENT, UNSTABLE, WINDOWS
from anabranch.sql.lower.order import has_order, sort_key
from anabranch.sql.lower.syntax.tree import Expression, Frame, FunctionCall, Node, WindowSpec, walk_block

_RANKS = frozenset("rank dense_rank percent_rank cume_dist".split())
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_IGNORES_NULL = frozenset("sum count min max avg mean bool_and bool_or any every some".split())


def windows_in(nodes: Iterable[Node]) -> Iterator[FunctionCall]:
    """The window functions of a block's expressions."""
    for node in nodes:
        for part in walk_block(node):
            if isinstance(part, FunctionCall) and part.over is not None:
                yield part


def compute_windows(block: Block, nodes: list[Node]) -> None:
    """Add a column for each window function."""
    calls = list(windows_in(nodes))
    if not calls:
        return
    specs = _window_specs(block)
    ties = _tie_breakers(block)
    found: dict[tuple[Scalar, ...], dict[WindowCall, str]] = {}
    ready: dict[Expression, Scalar] = {}
    for node in calls:
        call = _window_call(block, node, specs, ties)
        columns = found.setdefault(call.partition, {})
        if call not in columns:
            columns[call] = block.context.fresh_column(call.function)
        ready[node] = Ref(columns[call])
    for columns in found.values():
        block.site.plan = Window(block.site.plan, tuple((name, call) for call, name in columns.items()))
    block.expressions.ready.update(ready)


def _window_specs(block: Block) -> dict[str, WindowSpec]:
    specs: dict[str, WindowSpec] = {}
    for name, given in block.select.windows:
        spec = specs.get(given) if isinstance(given, str) else given
        if spec is None:
            raise block.context.invalid(block.select, f'there is no window "{given}"')
        specs[name] = spec
    return specs


def _tie_breakers(block: Block) -> tuple[Ref, ...]:
    """The columns of the rows; a map has no order, and what is carried is the same for all."""
    carried = set((block.carried or {}).values())
    names = [name for name in block.site.plan.names if name not in carried]
    return tuple(Ref(name) for name in names if has_order(block.context.types.get(name)))


def _window_call(
    block: Block, node: FunctionCall, specs: dict[str, WindowSpec], ties: tuple[Ref, ...]
) -> WindowCall:
    context, expressions = block.context, block.expressions
    spec = specs.get(node.over) if isinstance(node.over, str) else node.over
    if spec is None:
        raise context.invalid(node, f'there is no window "{node.over}"', "define it: WINDOW w AS (…).")
    _check_function(context, node)
    _check_not_nested(context, node)
    partition = tuple(dict.fromkeys(expressions.scalars(spec.partition)))
    partition += tuple(Ref(name) for name in (block.carried or {}).values())
    order = tuple(sort_key(expressions.scalar(sort.value), sort) for sort in spec.order)
    name, args = _arguments(block, node)
    if name in WINDOWS and not order:
        raise context.invalid(node, f"{name}() needs an order", f"write {name}() OVER (ORDER BY …).")
    frame = None if spec.frame is None else spec.frame.text
    if not _needs_tie_breakers(name, order, spec.frame, args):
        if name in ORDER_DEPENDENT:
            context.add_choice_notice(
                f"{name}() may choose among rows that tie; it is kept equal up to that choice"
            )
        return WindowCall(name, args, partition, order, frame)
    context.add_choice_notice(f"rows that tie in the window of {name}() are ordered by all their columns")
    keys = {key.scalar for key in order}
    more = tuple(SortKey(ref) for ref in ties if ref not in keys and ref not in partition)
    return WindowCall(name, args, partition, order + more, frame if order else _WHOLE)


def _needs_tie_breakers(
    name: str, order: tuple[SortKey, ...], frame: Frame | None, args: tuple[Scalar, ...]
) -> bool:
    """Whether more keys are needed, and don't change the meaning.

    Under RANGE rows that tie are in each other's frames; more keys would take them apart, unless the
    function looks at an end of the frame that is the partition's own.
    """
    if name in _RANKS:
        return False
    by_row = name in WINDOWS and name != "nth_value"
    if by_row:
        return True
    if not order:
        return name in ORDER_DEPENDENT or name == "nth_value"
    if frame is not None and frame.unit == "rows":
        whole = (frame.start, frame.end) == ("unbounded preceding", "unbounded following")
        return not whole or name in ORDER_DEPENDENT or name == "nth_value"
    if name not in ORDER_DEPENDENT and name != "nth_value":
        return False
    start = "unbounded preceding" if frame is None else frame.start
    end = "current row" if frame is None else frame.end
    if (start, end) == ("unbounded preceding", "unbounded following"):
        return True
    plain = len(args) == 1
    if name in ("first", "first_value"):
        return plain and start == "unbounded preceding"
    return name in ("last", "last_value") and plain and end == "unbounded following"


def _check_function(context: Context, node: FunctionCall) -> None:
    if node.name in UNSTABLE or (node.name not in WINDOWS and node.name not in AGGREGATES):
        raise context.invalid(node, f"{node.name}() is not a window function")
    if node.distinct:
        raise context.invalid(node, "Spark has no DISTINCT in window functions", "use a subquery.")
    if node.nulls == "ignore" and node.name in WINDOWS:
        raise context.not_incremental(
            node,
            f"{node.name}() IGNORE NULLS can't be maintained incrementally yet",
            "a window function that skips NULLs isn't understood here",
            "filter the NULLs out first",
        )


def _check_not_nested(context: Context, node: FunctionCall) -> None:
    for part in walk_block(node):
        if part is not node and isinstance(part, FunctionCall) and part.over is not None:
            raise context.invalid(part, "a window function can't stand inside another one", "use a subquery.")


def _arguments(block: Block, node: FunctionCall) -> tuple[str, tuple[Scalar, ...]]:
    expressions, context = block.expressions, block.context
    if node.name in WINDOWS:
        return node.name, expressions.scalars(node.args)
    name, args = function_and_arguments(expressions, node)
    if node.where is None:
        return name, args or (TRUE,)  # count(*), which only GROUP BY writes without an argument
    if name not in _IGNORES_NULL or len(args) > 1:
        raise context.not_incremental(
            node,
            f"{name}() with FILTER and OVER can't be maintained incrementally yet",
            "only sum, count, min, max, avg and the boolean aggregates are understood here",
            "filter in a subquery",
        )
    # These pass over NULLs, so a row that is filtered out may as well be NULL.
    value = args[0] if args else TRUE
    return name, (Call("case", (expressions.scalar(node.where), value)),)
