"""What GROUP BY names: expressions, positions and aliases of the SELECT list, ALL, grouping sets."""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.algebra.scalar import Scalar
from anabranch.sql.lower.block import Block
from anabranch.sql.lower.functions import AGGREGATES, GENERATORS
from anabranch.sql.lower.grouping_lists import list_grouping_sets
from anabranch.sql.lower.select_list import Output
from anabranch.sql.lower.syntax.tree import (
    Expression,
    FunctionCall,
    Grouping,
    GroupingSets,
    Name,
    Node,
    Number,
    walk_block,
)


@dataclass
class Groups:
    """The keys, each once, in the order of GROUP BY."""

    keys: list[Scalar] = field(default_factory=list)
    items: dict[Expression, int] = field(default_factory=dict)
    """Items of the SELECT list that are keys as a whole, and which key."""
    sets: list[tuple[int, ...]] | None = None
    """Grouping sets, as positions of keys; None for plain grouping."""

    def add(self, scalar: Scalar) -> int:
        """The position of a key, which is new unless it stood there before."""
        if scalar not in self.keys:
            self.keys.append(scalar)
        return self.keys.index(scalar)


def group_keys(block: Block) -> Groups:
    """The keys of a block's groups."""
    groups = Groups()
    grouping = block.select.grouping
    if grouping is None:
        return groups
    if grouping.everything:
        _add_all_items(block, grouping, groups)
        return groups
    if not any(isinstance(element, GroupingSets) for element in grouping.elements):
        for element in grouping.elements:
            if not isinstance(element, GroupingSets):
                _add(block, groups, element)
        return groups
    lists = list_grouping_sets(block.context, grouping)
    sets = [tuple(dict.fromkeys(_add(block, groups, node) for node in one)) for one in lists]
    # The empty set alone is grouping by nothing, which has a row even for no rows.
    groups.sets = None if sets == [()] else sets
    return groups


def _add(block: Block, groups: Groups, node: Expression) -> int:
    output = _find_item(block, node)
    if output is None:
        return groups.add(_scalar(block, node))
    if output.node is None:
        assert output.scalar is not None
        return groups.add(output.scalar)
    key = groups.add(_scalar(block, output.node))
    groups.items[output.node] = key
    return key


def _find_item(block: Block, node: Expression) -> Output | None:
    """An item by its position, or by its alias where no column has that name."""
    if isinstance(node, Number) and node.text.lstrip("-").isdecimal():
        position = int(node.text)
        if not 1 <= position <= len(block.outputs):
            raise block.context.invalid(
                node, f"GROUP BY {position} is not an item of the SELECT list, which has {len(block.outputs)}"
            )
        return block.outputs[position - 1]
    if isinstance(node, Name) and len(node.parts) == 1:
        if block.expressions.scope.find_own(block.context, node) is not None:
            return None
        wanted = node.parts[0].lower()
        found = [output for output in block.outputs if (output.alias or "").lower() == wanted]
        if len(found) > 1:
            raise block.context.invalid(node, f'two items of the SELECT list are called "{node.parts[0]}"')
        return found[0] if found else None
    return None


def _scalar(block: Block, node: Expression) -> Scalar:
    for part in walk_block(node):
        if isinstance(part, FunctionCall) and (
            part.over is not None or part.name in AGGREGATES or part.name in GENERATORS
        ):
            raise block.context.invalid(
                part, f"{part.name}() can't be grouped by", "compute it in a subquery in FROM."
            )
    return block.expressions.scalar(node)


def _add_all_items(block: Block, grouping: Grouping, groups: Groups) -> None:
    """GROUP BY ALL: every item without an aggregate."""
    for output in block.outputs:
        if output.node is None:
            assert output.scalar is not None
            groups.add(output.scalar)
        elif not _has_aggregate(output.node):
            groups.items[output.node] = groups.add(_scalar(block, output.node))


def _has_aggregate(node: Node) -> bool:
    return any(
        isinstance(part, FunctionCall) and part.over is None and part.name in AGGREGATES
        for part in walk_block(node)
    )
