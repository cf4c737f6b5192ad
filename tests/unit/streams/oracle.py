"""Diamonds and groups straight from their definitions: slow, and nothing shared with the package."""

from __future__ import annotations

from itertools import combinations

from anabranch.names import TableName

Inputs = dict[TableName, frozenset[TableName]]


def paths(inputs: Inputs, a: TableName, d: TableName) -> list[tuple[TableName, ...]]:
    """All paths from a to d."""
    if a == d:
        return [(a,)]
    return [(*path, d) for read in inputs.get(d, ()) for path in paths(inputs, a, read)]


def diamonds(inputs: Inputs) -> dict[tuple[TableName, TableName], frozenset[TableName]]:
    """The ends of every diamond, with its members."""
    everything = set(inputs).union(*inputs.values()) if inputs else set()
    found = {}
    for d in inputs:
        for a in everything - {d}:
            ways = paths(inputs, a, d)
            if any(set(one) & set(other) == {a, d} for one, other in combinations(ways, 2)):
                found[a, d] = frozenset(set().union(*ways) - {a})
    return found


def groups(inputs: Inputs) -> set[frozenset[TableName]]:
    """Diamonds that share a member are merged, and so are groups that wait for each other."""
    merged: list[frozenset[TableName]] = []
    for members in diamonds(inputs).values():
        joined = members
        for other in [each for each in merged if each & members]:
            merged.remove(other)
            joined |= other
        merged.append(joined)
    blocks = merged + [frozenset({name}) for name in inputs if not any(name in each for each in merged)]
    while (circle := _circle(inputs, blocks)) is not None:
        blocks = [block for block in blocks if block not in circle] + [frozenset().union(*circle)]
    return {block for block in blocks if len(block) > 1}


def _circle(inputs: Inputs, blocks: list[frozenset[TableName]]) -> list[frozenset[TableName]] | None:
    """Blocks that each need the next one's results, if there are any."""
    block_of = {name: block for block in blocks for name in block}

    def needs(block: frozenset[TableName]) -> set[frozenset[TableName]]:
        return {block_of[read] for name in block for read in inputs[name] if read in inputs} - {block}

    def reach(start: frozenset[TableName]) -> set[frozenset[TableName]]:
        seen: set[frozenset[TableName]] = set()
        pending = [start]
        while pending:
            for needed in needs(pending.pop()) - seen:
                seen.add(needed)
                pending.append(needed)
        return seen

    reached = {block: reach(block) for block in blocks}
    for block in blocks:
        if block in reached[block]:
            return [other for other in blocks if other in reached[block] and block in reached[other]]
    return None
