"""Steps of a change that need no engine: keys of changes, the rows of large tables that have them, and those
of the rows at hand that have keys of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.algebra.plan import Materialised, Plan
from anabranch.algebra.scalar import rename_refs
from anabranch.delta.look_ups import (
    ChangedRows,
    ChosenRows,
    KeyColumn,
    KeySource,
    LookUp,
    as_changed_rows,
    as_chosen_rows,
    as_look_up,
    key_sources,
)
from anabranch.engine.local.kinds import Elsewhere
from anabranch.engine.local.matches import is_exact
from anabranch.engine.local.row_filter import columns_of, filter_rows
from anabranch.names import WEIGHT

if TYPE_CHECKING:
    from anabranch.refresh.inputs import Sources


class TooManyRows(Exception):
    """More rows, or bytes, than are looked up."""


def look_up_step(plan: Plan, sources: Sources, steps: Mapping[str, Any], most: int) -> pa.Table:
    """The rows of a look-up, of its keys, or of a choice, under the plan's names; `steps`: the earlier ones.

    `TooManyRows` if more than `most` are found, or if more has to be read than a look-up may.
    """
    keys = key_sources(plan)
    if keys is not None:
        return pa.table([_collect_keys(keys, sources, steps)], names=list(plan.names))
    if (chosen := as_chosen_rows(plan)) is not None:
        return _choose_rows(chosen, sources, steps)
    found = as_look_up(plan)
    assert found is not None, "only look-ups, their keys and choices are computed without an engine"
    columns = dict(found.scan.columns)
    wanted: dict[str, pa.Array] = {}
    for key in found.keys:
        values, column = _key_values(key.keys, steps, key.null_safe), columns[key.name]
        wanted[column] = _in_both(wanted[column], values) if column in wanted else values
    rows = look_up_rows(found, wanted, sources, most)
    if rows is None:
        raise TooManyRows(found.scan.table)
    return rows.rename_columns(list(plan.names))


def _in_both(one: pa.Array, other: pa.Array) -> pa.Array:
    """The keys that are in both of two sets; one of them, where only the engine can tell."""
    if one.type != other.type or not is_exact(one.type):
        return one
    return one.filter(pc.is_in(one, value_set=other))


def _choose_rows(chosen: ChosenRows, sources: Sources, steps: Mapping[str, Any]) -> pa.Table:
    """The chosen rows under the names of the plan, with their weights if they have any."""
    if (changed := as_changed_rows(chosen.source)) is not None:
        rows = sources.read_changed_rows(changed.table, changed.columns.values())
        names = {name: changed.columns[own] for name, own in chosen.columns.items()}
        rows = filter_rows(rows, changed.conditions)
    else:
        assert isinstance(chosen.source, Materialised), "rows are chosen from changes and from steps"
        rows, names = steps[chosen.source.name], dict(chosen.columns)
    for key in chosen.keys:
        rows = _with_keys(rows, names[key.name], key, steps)
    rows = filter_rows(rows, [rename_refs(condition, names) for condition in chosen.conditions])
    weight = [WEIGHT] if WEIGHT in rows.column_names else []
    return rows.select([*names.values(), *weight]).rename_columns([*names, *weight])


def _with_keys(rows: pa.Table, column: str, key: KeyColumn, steps: Mapping[str, Any]) -> pa.Table:
    """The rows that have one of the keys in a column; all, where only the engine can tell."""
    keys = _key_values(key.keys, steps, key.null_safe)
    kind = rows.schema.field(column).type
    if keys.type != kind or not is_exact(kind):
        return rows
    return rows.filter(pc.is_in(rows.column(column), value_set=keys))


def _collect_keys(keys: tuple[KeySource, ...], sources: Sources, steps: Mapping[str, Any]) -> pa.Array:
    parts = [_source_values(source, name, sources, steps) for source, name in keys]
    if len({part.type for part in parts}) > 1:
        raise TooManyRows("keys of several types")
    return pc.unique(pa.chunked_array(parts))


def _source_values(source: Plan, name: str, sources: Sources, steps: Mapping[str, Any]) -> pa.Array:
    if (changed := as_changed_rows(source)) is not None:
        return _changed_values(changed, name, sources)
    assert isinstance(source, Materialised), "keys come from changes and from steps"
    return pc.unique(steps[source.name].column(dict(source.columns)[name]))


def _changed_values(changed: ChangedRows, name: str, sources: Sources) -> pa.Array:
    """The values of a column in changed rows, chosen as far as other columns tell without an engine."""
    column = changed.columns[name]
    rows = sources.read_changed_columns(changed.table, {column, *columns_of(changed.conditions)})
    return pc.unique(filter_rows(rows, changed.conditions).column(column))


def _key_values(keys: Plan, steps: Mapping[str, Any], null_safe: bool) -> pa.Array:
    assert isinstance(keys, Materialised), "keys are computed before they are looked up"
    values: pa.Array = steps[keys.name].column(0).combine_chunks()
    return values if null_safe else values.drop_null()


def look_up_rows(
    found: LookUp, wanted: Mapping[str, pa.Array], sources: Sources, most: int
) -> pa.Table | None:
    """The rows of a look-up for some values; None if they are too many, or compared by more than bytes."""
    if not all(is_exact(values.type) for values in wanted.values()):
        return None
    try:
        conditions = [rename_refs(condition, dict(found.scan.columns)) for condition in found.conditions]
        return sources.look_up_values(found.scan, wanted, most, conditions)
    except Elsewhere:  # keys that a column can't have
        return None
