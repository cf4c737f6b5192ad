"""Steps of a change that need no engine: keys of changes, and the rows of large tables that have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.algebra.plan import Materialised, Plan
from anabranch.algebra.scalar import rename_refs
from anabranch.delta.look_ups import (
    ChangedRows,
    KeySource,
    LookUp,
    as_changed_rows,
    as_look_up,
    key_sources,
)
from anabranch.engine.local.kinds import Elsewhere
from anabranch.engine.local.matches import is_exact
from anabranch.engine.local.row_filter import columns_of, filter_rows

if TYPE_CHECKING:
    from anabranch.refresh.inputs import Sources


class TooManyRows(Exception):
    """More rows, or bytes, than are looked up."""


def look_up_step(plan: Plan, sources: Sources, steps: Mapping[str, Any], most: int) -> pa.Table:
    """The rows of a look-up, or of its keys, under the plan's names; `steps` are the earlier ones.

    `TooManyRows` if more than `most` are found, or if more has to be read than a look-up may.
    """
    keys = key_sources(plan)
    if keys is not None:
        return pa.table([_collect_keys(keys, sources, steps)], names=list(plan.names))
    found = as_look_up(plan)
    assert found is not None, "only look-ups and their keys are computed without an engine"
    columns = dict(found.scan.columns)
    wanted = {
        columns[column.name]: _key_values(column.keys, steps, column.null_safe) for column in found.columns
    }
    rows = look_up_rows(found, wanted, sources, most)
    if rows is None:
        raise TooManyRows(found.scan.table)
    return rows.rename_columns(list(plan.names))


def _collect_keys(keys: tuple[KeySource, ...], sources: Sources, steps: Mapping[str, Any]) -> pa.Array:
    parts = [_source_values(source, name, sources, steps) for source, name in keys]
    if len({part.type for part in parts}) > 1:
        raise TooManyRows("keys of several types")
    return pc.unique(pa.chunked_array(parts))


def _source_values(source: Plan, name: str, sources: Sources, steps: Mapping[str, Any]) -> pa.Array:
    if (changed := as_changed_rows(source)) is not None:
        return _changed_values(changed, name, sources, steps)
    assert isinstance(source, Materialised), "keys come from changes and from steps"
    return pc.unique(steps[source.name].column(dict(source.columns)[name]))


def _changed_values(changed: ChangedRows, name: str, sources: Sources, steps: Mapping[str, Any]) -> pa.Array:
    """The values of a column in changed rows, chosen as far as other columns tell without an engine."""
    column, matches = changed.columns[name], changed.matches
    own = [changed.columns[match.name] for match in matches]
    rows = sources.read_changed_columns(changed.table, {column, *columns_of(changed.conditions), *own})
    rows = filter_rows(rows, changed.conditions)
    for match, met in zip(matches, own, strict=True):
        keys = _key_values(match.keys, steps, match.null_safe)
        if keys.type == rows.column(met).type and is_exact(keys.type):
            rows = rows.filter(pc.is_in(rows.column(met), value_set=keys))
    return pc.unique(rows.column(column))


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
