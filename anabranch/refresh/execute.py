"""One stream table, from one lake version of its sources to a later one.

`run_full_refresh` computes everything, `run_differential_refresh` only what changed. Both edit working
tables, which become visible when they are committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from anabranch.algebra.plan import Delta, Materialised, Plan, Scan, StoredResult, is_empty
from anabranch.connection.lake_context import LakeContext
from anabranch.delta.maintenance_plan import MaintenancePlan
from anabranch.delta.materialise import materialise_shared
from anabranch.delta.simplify import simplify
from anabranch.delta.single_partition import NOTHING, RelationFacts
from anabranch.engine.base import Frame
from anabranch.engine.local.collecting import collector_waits
from anabranch.engine.local.nearby import computed_here
from anabranch.engine.render.dialect import SPARK, Dialect
from anabranch.engine.render.statement import Leaf, RenderedStatement, render
from anabranch.errors import EngineMemory
from anabranch.names import TableName
from anabranch.refresh.apply_change import apply_change, apply_local_change
from anabranch.refresh.define import Definition, FullDefinition, StoredTable, compute_contents, recompute
from anabranch.refresh.inputs import Sources
from anabranch.refresh.run_fixpoint import (
    Say,
    fill_recursive_tables,
    ignore_progress,
    update_recursive_tables,
)
from anabranch.streams.versions import LakeVersion
from anabranch.write.row_level_writes import RowCounts, replace_rows
from anabranch.write.working_table import WorkingTable

Tables = Mapping[TableName, WorkingTable]
_NONE: Tables = MappingProxyType({})
Statements = tuple[tuple[Materialised | None, RenderedStatement], ...]
"""Statements to run in order; all but the last compute materialised subplans that later ones read."""
FEW = RelationFacts()


def run_full_refresh(
    context: LakeContext,
    definition: Definition | FullDefinition,
    tables: Tables,
    lake_version: LakeVersion,
    above: Tables = _NONE,
    say: Say = ignore_progress,
) -> RowCounts:
    """Replace everything stored by the query's result at a lake version.

    `above`: tables it reads that this very refresh changed, and nobody else sees yet. `say` is called after
    every iteration of a recursion in the query.
    """
    if isinstance(definition, FullDefinition):
        frame = recompute(definition, Sources(context, lake_version, lake_version, above))
        return replace_rows(context, tables[definition.name], frame)
    counts = RowCounts()
    staged = dict(above)
    for looped in definition.loops:
        fill_recursive_tables(
            context, [looped], tables, Sources(context, lake_version, lake_version, staged), say
        )
        staged[looped.table] = tables[looped.table]
    for kept in definition.stored_tables:
        frame = compute_contents(definition, kept, Sources(context, lake_version, lake_version, staged))
        counts = replace_rows(context, tables[kept.table], frame)
        staged[kept.table] = tables[kept.table]
    return counts


def run_differential_refresh(
    context: LakeContext,
    definition: Definition,
    tables: Tables,
    since: LakeVersion,
    until: LakeVersion,
    above: Tables = _NONE,
    say: Say = ignore_progress,
) -> RowCounts:
    """Compute the change of the stored rows from the changes of the sources, and apply it."""
    counts = RowCounts()
    staged = dict(above)
    # Its hidden state is read as stored: the earlier lake version may list an older one.
    inputs = {name: version for name, version in since.versions.items() if name in definition.tables}
    since = replace(since, versions=inputs)
    for looped in definition.loops:
        sources = Sources(context, since, until, staged)
        if changed := sources.changed_tables(looped.reads):
            update_recursive_tables(context, [looped], tables, sources, changed, say)
        staged[looped.table] = tables[looped.table]
    for kept in definition.stored_tables:
        table = tables[kept.table]
        sources = Sources(context, since, until, staged)
        counts = _maintain_table(context, kept, table, sources)
        staged[kept.table] = table
    return counts


def _maintain_table(
    context: LakeContext, kept: StoredTable, table: WorkingTable, sources: Sources
) -> RowCounts:
    changed = sources.changed_tables(kept.reads)
    known = sources.estimate_sizes(changed, kept.reads, table)
    try:
        return _compute_and_apply(context, kept, table, sources, changed, known)
    except EngineMemory:
        if known is None:
            raise
        # The hint for a single task was too much for one: without it the engine spreads the work.
        return _compute_and_apply(context, kept, table, sources, changed, None)


def _compute_and_apply(
    context: LakeContext,
    kept: StoredTable,
    table: WorkingTable,
    sources: Sources,
    changed: frozenset[str],
    known: RelationFacts | None,
) -> RowCounts:
    statements = change_statements(kept.maintained, changed, context.engine.dialect, known=known)
    if not statements:
        return RowCounts()
    if known is not None:
        plan = change_plan(kept.maintained, changed, known)
        with collector_waits():
            here = computed_here(plan, table, sources, known, questions=2 * len(statements))
            if here is not None:
                return apply_local_change(context, table, here)
    steps: dict[str, Frame] = {}
    folders: list[str] = []

    def leaf_frame(leaf: Leaf) -> Frame:
        match leaf:
            case Scan() | Delta():
                return sources.scan_leaf(leaf)
            case Materialised(name):
                return steps[name]
            case StoredResult():
                return sources.scan_stored_rows(table)

    try:
        for step, statement in statements:
            frames = {placeholder: leaf_frame(leaf) for placeholder, leaf in statement.leaves}
            frame = context.engine.run_query(statement.template, frames)
            if step is not None:
                folders.append(f"{table.folder}/changes/{context.clock.new_id()}")
                few = step.few and not sources.large
                steps[step.name] = context.engine.materialise(frame, folders[-1], few=few)
        return apply_change(context, table, frame, few=known is not None and known.changes)
    finally:
        for folder in folders:
            context.warehouse.delete_folder(folder)


@lru_cache(maxsize=1024)
def change_plan(kept: MaintenancePlan, changed: frozenset[str], known: RelationFacts) -> Plan:
    """The change of what is stored, given which tables changed, and how large they are."""
    return simplify(kept.change, changed=changed, known=known)


@lru_cache(maxsize=1024)
def change_statements(
    kept: MaintenancePlan,
    changed: frozenset[str],
    dialect: Dialect = SPARK,
    *,
    known: RelationFacts | None = FEW,
) -> Statements:
    """The statements that compute a change, given which tables changed; none if the result can't change.

    `known`: what is known of the sizes of what they read, if the changes are small.
    """
    plan = change_plan(kept, changed, known or NOTHING)
    if not changed or is_empty(plan):
        return ()
    steps = materialise_shared(plan)
    before = [(leaf, render(step, dialect, known=known)) for leaf, step in steps.before]
    return (*before, (None, render(steps.last, dialect, kept.columns, known=known)))
