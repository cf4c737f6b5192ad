"""Rows that are at hand are chosen by the keys of filtered tables that they are joined with.

    ΔT becomes ΔT ⋉ D, and looked up rows R become R ⋉ D

where D are values that a table has left after a filter, or that rows have which were chosen themselves. The
engine is handed what is left, and what is looked up next is looked up for that alone. The join with the
filtered table stays: more rows may be chosen than it asks for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from anabranch.algebra.plan import Delta, Filter, Join, Plan, Project, Scan, subplans
from anabranch.algebra.plan_text import scalar_text
from anabranch.algebra.scalar import Ref, all_of, rename_refs
from anabranch.algebra.transform import map_inputs
from anabranch.delta.filters_behind import add_filters
from anabranch.delta.key_bounds import Bound, Demand, KeyBounds, columns_read, come_from_changes, demands
from anabranch.delta.key_sets import is_key, key_set
from anabranch.delta.look_ups import CHOSEN, FOUND
from anabranch.delta.row_conditions import Conditions, conditions_of_leaves


def choose_rows(
    plan: Plan, reduced: frozenset[Plan], tables: Collection[str]
) -> tuple[Plan, frozenset[Plan]] | None:
    """The plan with rows at hand chosen by all filters that are known to matter, and what was chosen.

    `reduced`: rows that are looked up or chosen already. `tables`: those whose changed rows can be read.
    None if there is nothing to choose by.
    """
    asked = demands(plan, KeyBounds(plan, reduced), reduced)
    conditions, read = conditions_of_leaves(plan), columns_read(plan)
    replaced: dict[Plan, Plan] = {}
    chosen: set[Plan] = set()
    for rows, demand in asked.items():
        if not (isinstance(rows, Delta) and rows.table in tables) and not (
            rows in reduced and come_from_changes(rows)
        ):
            continue
        by = _filtered_bounds(rows, demand)
        if not by:
            continue
        source = _rename_source(rows, read, conditions)
        names = dict(zip(rows.names, _names_in_source(rows, source), strict=True))
        for name, bound in sorted(by.items()):
            source = Join(
                source, key_set(bound.columns), "semi", is_key(names[name], null_safe=bound.null_safe)
            )
        chosen.add(source)
        own = tuple((name, Ref(names[name])) for name in rows.names)
        replaced[rows] = source if source.names == rows.names else Project(source, own)
    return (_replace_rows(plan, replaced, reduced), frozenset(chosen)) if replaced else None


def _filtered_bounds(rows: Plan, demand: Demand) -> dict[str, Bound]:
    """The bounds that only filtered rows leave, and that rows don't meet already."""
    return {
        name: bound
        for name, bound in demand.items()
        if add_filters((source for source, _ in bound.columns), rows)
    }


def _rename_source(
    rows: Plan, read: Mapping[str, list[str]], conditions: Mapping[Scan | Delta, Conditions]
) -> Plan:
    """Rows under names that only chosen rows have: of a change, all columns that are read."""
    if rows.names[0].startswith(CHOSEN):
        return rows
    if not isinstance(rows, Delta):
        return Project(rows, tuple((CHOSEN + name.removeprefix(FOUND), Ref(name)) for name in rows.names))
    whole = Delta(rows.table, tuple((CHOSEN + column, column) for column in read[rows.table]))
    names = {column: CHOSEN + column for column in read[rows.table]}
    own = [rename_refs(one, names) for one in sorted(conditions[rows], key=scalar_text)]
    return Filter(whole, all_of(own)) if own else whole


def _names_in_source(rows: Plan, source: Plan) -> list[str]:
    """What each column of some rows is called where they are chosen."""
    if source is rows:
        return list(rows.names)
    if isinstance(rows, Delta):
        return [CHOSEN + column for _, column in rows.columns]
    return [CHOSEN + name.removeprefix(FOUND) for name in rows.names]


def _replace_rows(plan: Plan, replaced: Mapping[Plan, Plan], reduced: Collection[Plan]) -> Plan:
    """A plan with some rows replaced; what is looked up or chosen already is left as it is inside."""
    done: dict[Plan, Plan] = {}
    for part in subplans(plan):
        if part in replaced:
            done[part] = replaced[part]
        elif part in reduced:
            done[part] = part
        else:
            done[part] = map_inputs(part, lambda below: done[below])
    return done[plan]
