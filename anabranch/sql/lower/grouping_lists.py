"""ROLLUP, CUBE and GROUPING SETS, multiplied out into lists of expressions.

a, ROLLUP(b, c)  =  GROUPING SETS ((a, b, c), (a, b), (a))
"""

from __future__ import annotations

import itertools

from anabranch.errors import SqlTooLarge
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.syntax.tree import Expression, Grouping, GroupingSets

MAX_GROUPING_SETS = 128

List = tuple[Expression, ...]


def list_grouping_sets(context: Context, grouping: Grouping) -> list[List]:
    """The grouping sets of a GROUP BY clause, in order; a set may stand there twice."""
    found: list[List] = [()]
    for element in grouping.elements:
        right = _element_sets(context, element) if isinstance(element, GroupingSets) else [(element,)]
        if len(found) * len(right) > MAX_GROUPING_SETS:
            raise _too_many_sets(context, grouping)
        found = [(*one, *other) for one in found for other in right]
    return found


def _element_sets(context: Context, element: GroupingSets) -> list[List]:
    lists = [item for item in element.elements if isinstance(item, tuple)]
    match element.kind:
        case "rollup":
            found = [_flat(lists[:length]) for length in range(len(lists), -1, -1)]
        case "cube":
            if len(lists) > 12:
                raise _too_many_sets(context, element)
            sizes = range(len(lists), -1, -1)
            found = [_flat(chosen) for size in sizes for chosen in itertools.combinations(lists, size)]
        case "sets":
            found = []
            for item in element.elements:
                found += _element_sets(context, item) if isinstance(item, GroupingSets) else [item]
    if len(found) > MAX_GROUPING_SETS:
        raise _too_many_sets(context, element)
    return found


def _flat(lists: list[List] | tuple[List, ...]) -> List:
    return tuple(item for one in lists for item in one)


def _too_many_sets(context: Context, node: Grouping | GroupingSets) -> SqlTooLarge:
    return SqlTooLarge(
        "there are too many grouping sets",
        detail=f"{context.place(node)}: more than {MAX_GROUPING_SETS}.",
        hint="name the sets that are needed: GROUPING SETS (…).",
    )
