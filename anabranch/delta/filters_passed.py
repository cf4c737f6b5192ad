"""What made the rows few that keys are taken from: filters on tables, and keys that such filters left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from anabranch.algebra.plan import (
    Delta,
    Distinct,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    Support,
    UnionAll,
    subplans,
)
from anabranch.algebra.plan_text import scalar_text
from anabranch.algebra.scalar import rename_refs


@dataclass(frozen=True)
class TableFilter:
    """A condition that all rows of a table or of its change meet."""

    table: str
    condition: str
    """In the table's own columns, as text."""


@dataclass(frozen=True)
class KeyFilter:
    """Keys that all rows of a table have, which are few themselves."""

    on: str
    keys: Plan


Filters = frozenset[TableFilter | KeyFilter]


@lru_cache(maxsize=4096)
def filters_passed(plan: Plan) -> Filters:
    """The filters that all rows of a look-up, of a choice or of a set of keys have passed."""
    match plan:
        case Filter(source, condition):
            leaf = leaf_of(source)
            own = frozenset[TableFilter]()
            if isinstance(leaf, Scan | Delta):
                text = scalar_text(rename_refs(condition, dict(leaf.columns)))
                own = frozenset({TableFilter(leaf.table, text)})
            return own | filters_passed(source)
        case Join(left, right, "semi", on):
            keys = filters_passed(right)
            return (
                filters_passed(left) | keys | ({KeyFilter(scalar_text(on), right)} if keys else frozenset())
            )
        case Project(source) | Support(source) | Net(source) | Distinct(source) | Rows(source):
            return filters_passed(source)
        case UnionAll(parts):
            return frozenset.intersection(*map(filters_passed, parts))
        case _:
            return frozenset()


def leaf_of(plan: Plan) -> Plan:
    """The table or change of which rows are chosen."""
    while isinstance(plan, Join | Filter | Project):
        plan = plan.inputs[0]
    return plan


def keys_narrow(sources: Iterable[Plan], rows: Plan) -> bool:
    """Whether all of some sources of keys have passed a filter that some rows haven't, and that doesn't come
    from these.
    """
    own = list(leaves_of(rows))
    common = frozenset.intersection(*(filters_passed(source) for source in sources))
    return any(
        isinstance(one, TableFilter)
        or not any(_is_same_relation(leaf, part) for leaf in own for part in subplans(one.keys))
        for one in common - filters_passed(rows)
    )


def leaves_of(rows: Plan) -> Iterator[Plan]:
    """The tables and changes that rows are of, not those that keys come from."""
    match rows:
        case Scan() | Delta():
            yield rows
        case Join(left, _, "semi"):
            yield from leaves_of(left)
        case _:
            for below in rows.inputs:
                yield from leaves_of(below)


def _is_same_relation(one: Plan, other: Plan) -> bool:
    """Whether two leaves are the same scan, or changes of one table."""
    if isinstance(one, Delta) and isinstance(other, Delta):
        return one.table == other.table
    return one == other
