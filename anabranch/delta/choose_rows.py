"""Rows that are at hand are chosen by the keys of filtered tables that they are joined with.

    ΔT becomes ΔT ⋉ D, and looked up rows R become R ⋉ D

where D are values that a table has left after a filter, or that rows have which were chosen themselves. The
engine is handed what is left, and what is looked up next is looked up for that alone. The join with the
filtered table stays: more rows may be chosen than it asks for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from anabranch.algebra.plan import Delta, Filter, Join, Net, Plan, Project, Rows, Scan, subplans
from anabranch.algebra.plan_text import plan_text, scalar_text
from anabranch.algebra.scalar import Ref, all_of, conjuncts, rename_refs
from anabranch.algebra.transform import map_inputs
from anabranch.delta.filters_passed import keys_narrow, leaves_of
from anabranch.delta.key_bounds import Bound, Demand, KeyBounds, columns_read, come_from_changes, demands
from anabranch.delta.key_sets import keep_keys
from anabranch.delta.look_ups import CHOSEN_PREFIX, FOUND_PREFIX, as_look_up, is_bound
from anabranch.delta.row_conditions import NONE, Conditions, conditions_of_leaves, selectivity


def choose_rows(
    plan: Plan, reduced: frozenset[Plan], tables: Collection[str], *, of_tables: bool = False
) -> tuple[Plan, frozenset[Plan]] | None:
    """The plan with rows at hand chosen by all filters that are known to matter, and what is looked up or
    chosen then.

    `reduced`: rows that are looked up or chosen already. `tables`: those whose changed rows can be read.
    `of_tables`: of rows, too, that no change had a part in; these choose others before they are chosen from.
    None if there is nothing to choose by.
    """
    # What bounds ask for is computed once, for what is chosen and for what chooses: it stays as it is.
    ends = reduced | {part.right for part in subplans(plan) if isinstance(part, Join) and is_bound(part)}
    asked = demands(plan, KeyBounds(plan, reduced), ends)
    conditions, read = conditions_of_leaves(plan), columns_read(plan)
    wanted = {rows: by for rows, demand in asked.items() if (by := _filtered_bounds(rows, demand))}
    # One after the other: the rows that one leaves may be the keys of the next.
    if narrow := _look_ups_to_narrow(wanted, reduced):
        rows = min(narrow, key=lambda rows: (selectivity(_conditions_of(rows)), plan_text(rows)))
        found = _narrow_look_up(rows, wanted[rows])
        return _replace_rows(plan, {rows: found}, ends), reduced - {rows} | {found}
    net = [rows for rows in wanted if isinstance(rows, Rows) and _gains_by(rows, wanted[rows], conditions)]
    if net:
        rows = max(net, key=lambda rows: (_selectivity_of_keys(wanted[rows]), plan_text(rows)))
        # What is taken away inside must be taken away from rows that are there.
        bounded = replace(rows, input=Net(_with_keys(_weighted_input(rows), wanted[rows])))
        return _replace_rows(plan, {rows: bounded}, ends), reduced
    replaced: dict[Plan, Plan] = {}
    chosen = set(reduced)
    for rows, by in wanted.items():
        if rows in reduced and (of_tables or come_from_changes(rows)):
            replaced[rows] = _choose_from(rows, by, chosen)
        elif isinstance(rows, Delta) and rows.table in tables:
            replaced[rows] = _choose_changed_rows(rows, by, read[rows.table], conditions[rows], chosen)
    return (_replace_rows(plan, replaced, ends), frozenset(chosen)) if replaced else None


def _look_ups_to_narrow(wanted: Mapping[Plan, Mapping[str, Bound]], reduced: Collection[Plan]) -> list[Plan]:
    """The look-ups that can ask for more keys: those whose rows are no keys of others."""
    keys = {below for rows in reduced for below in subplans(rows) if below is not rows}
    return [
        rows
        for rows, by in wanted.items()
        if rows in reduced
        and come_from_changes(rows)
        and as_look_up(rows, reduced) is not None
        and rows not in keys
        and not any(rows in subplans(source) for bound in by.values() for source, _ in bound.columns)
    ]


def _gains_by(rows: Rows, by: Mapping[str, Bound], conditions: Mapping[Scan | Delta, Conditions]) -> bool:
    """Whether keys leave fewer rows than the conditions that these meet anyway: they cost a join."""
    own = [conditions[leaf] for leaf in leaves_of(rows) if isinstance(leaf, Scan | Delta)]
    return _selectivity_of_keys(by) >= max(map(selectivity, own), default=0)


def _selectivity_of_keys(by: Mapping[str, Bound]) -> int:
    return max(
        min(selectivity(_conditions_of(source)) for source, _ in bound.columns) for bound in by.values()
    )


def _conditions_of(rows: Plan) -> Conditions:
    return frozenset(conjuncts(rows.condition)) if isinstance(rows, Filter) else NONE


def _weighted_input(rows: Rows) -> Plan:
    return rows.input.input if isinstance(rows.input, Net) else rows.input


def _with_keys(rows: Plan, by: Mapping[str, Bound]) -> Plan:
    for name, bound in sorted(by.items()):
        rows = keep_keys(rows, name, bound.columns, null_safe=bound.null_safe)
    return rows


def _narrow_look_up(rows: Plan, by: Mapping[str, Bound]) -> Plan:
    """A look-up by more keys."""
    if isinstance(rows, Filter):
        return replace(rows, input=_with_keys(rows.input, by))
    return _with_keys(rows, by)


def _choose_from(rows: Plan, by: Mapping[str, Bound], chosen: set[Plan]) -> Plan:
    """Rows that were looked up or chosen, those of them that have the keys."""
    if rows.names[0].startswith(CHOSEN_PREFIX):
        found = _with_keys(rows, by)
        chosen.add(found)
        return found
    names = {name: CHOSEN_PREFIX + name.removeprefix(FOUND_PREFIX) for name in rows.names}
    renamed = Project(rows, tuple((new, Ref(name)) for name, new in names.items()))
    found = _with_keys(renamed, {names[name]: bound for name, bound in by.items()})
    chosen.add(found)
    return Project(found, tuple((name, Ref(new)) for name, new in names.items()))


def _choose_changed_rows(
    rows: Delta, by: Mapping[str, Bound], read: Iterable[str], conditions: Conditions, chosen: set[Plan]
) -> Plan:
    """The rows of a change, in all columns that are read of it, that meet conditions and have the keys."""
    names = {column: CHOSEN_PREFIX + column for column in read}
    whole: Plan = Delta(rows.table, tuple((new, column) for column, new in names.items()))
    own = [rename_refs(one, names) for one in sorted(conditions, key=scalar_text)]
    columns = dict(rows.columns)
    found = _with_keys(
        Filter(whole, all_of(own)) if own else whole,
        {names[columns[name]]: bound for name, bound in by.items()},
    )
    chosen.add(found)
    return Project(found, tuple((name, Ref(names[column])) for name, column in rows.columns))


def _filtered_bounds(rows: Plan, demand: Demand) -> dict[str, Bound]:
    """The bounds that only filtered rows leave, and that rows don't meet already."""
    return {
        name: bound
        for name, bound in demand.items()
        if keys_narrow((source for source, _ in bound.columns), rows)
    }


def _replace_rows(plan: Plan, replaced: Mapping[Plan, Plan], ends: Collection[Plan]) -> Plan:
    """A plan with some rows replaced, but not below some ends."""
    done: dict[Plan, Plan] = {}
    for part in subplans(plan):
        if part in replaced:
            done[part] = replaced[part]
        elif part in ends:
            done[part] = part
        else:
            done[part] = map_inputs(part, lambda below: done[below])
    return done[plan]
