"""The work of refreshing a stream table in full or by its change, from sizes that are known before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.algebra.plan import tables as tables_of
from anabranch.connection.lake_context import LakeContext
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.local.interpret import MOST as MOST_INTERPRETED
from anabranch.names import TableName
from anabranch.refresh.define import Definition, StoredTable
from anabranch.refresh.estimate_work import (
    NO_WORK,
    Estimate,
    InputSizes,
    RelationSize,
    Work,
    WorkEstimator,
)
from anabranch.refresh.execute import (
    Statement,
    Tables,
    change_plan,
    change_statements,
    count_source_changes,
    relation_facts,
)
from anabranch.refresh.inputs import Sources
from anabranch.refresh.recursive_definitions import StoredRecursiveTable
from anabranch.streams.versions import LakeVersion
from anabranch.write.working_table import WorkingTable

ITERATIONS = 8
"""A recursion is expected to take so many."""
ROW_BYTES = 30
"""What a row of a table that isn't there yet is expected to take."""


def predict_full_refresh(definition: Definition, tables: Tables, sources: Sources) -> Work:
    """The work of computing all that is stored."""
    work = NO_WORK
    sizes = {str(name): sources.measure_table(name) for name in definition.tables}
    for looped in definition.loops:
        work += _iterations(looped, sizes)
        sizes[str(looped.table)] = _stored_size(tables[looped.table], 0)
    for kept in definition.stored_tables:
        found = WorkEstimator(InputSizes(sizes)).estimate_statement(kept.maintained.stored)
        # What is stored by now says better than an estimate what will be.
        sizes[str(kept.table)] = _stored_size(tables[kept.table], found.rows)
        work += found.work + Work(written_results=1, written_rows=sizes[str(kept.table)].rows)
    return work


def predict_differential_refresh(
    context: LakeContext,
    definition: Definition,
    tables: Tables,
    since: LakeVersion,
    until: LakeVersion,
    above: Tables,
) -> Work:
    """The work of computing and applying the change, by the statements that would run."""
    inputs = {name: version for name, version in since.versions.items() if name in definition.tables}
    sources = Sources(context, replace(since, versions=inputs), until, {**above, **tables})
    changed = set(sources.changed_tables(definition.tables))
    source_rows = count_source_changes(definition, sources)
    sizes = {str(name): sources.measure_table(name) for name in definition.tables}
    changes = {name: sources.measure_change(TableName.parse(name)) for name in changed}
    work = NO_WORK
    for looped in definition.loops:
        sizes[str(looped.table)] = _stored_size(tables[looped.table], 0)
        if met := changed & {str(name) for name in looped.reads}:
            part = min(
                1.0, sum(changes[name].rows for name in met) / max(1, sources.count_rows(looped.table))
            )
            work += _iterations(looped, sizes).scaled(part)
            changes[str(looped.table)] = RelationSize(round(sizes[str(looped.table)].rows * part))
            changed.add(str(looped.table))
    for kept in definition.stored_tables:
        sizes[str(kept.table)] = stored = _stored_size(tables[kept.table], 0)
        met = changed & tables_of(kept.maintained.stored)
        if not met:
            continue
        known = relation_facts(context, kept, tables[kept.table], sources, frozenset(met), source_rows)
        found = _predict_change(context, kept, frozenset(met), known, InputSizes(sizes, changes, stored))
        # Of each stored row at most the old and the new values; a first batch may be of any size.
        rows = round(min(found.rows, 2 * stored.rows or found.rows))
        work += found.work + Work(written_rows=rows, located_rows=stored.rows)
        changes[str(kept.table)] = RelationSize(rows, rows * ROW_BYTES)
        changed.add(str(kept.table))
    return work


def _predict_change(
    context: LakeContext,
    kept: StoredTable,
    changed: frozenset[str],
    known: RelationFacts,
    sizes: InputSizes,
) -> Estimate:
    """The change of one stored table, computed in this process if it may be, else by statements."""
    driver_rows: int = context.settings["driver_rows"]
    if known.few and driver_rows:
        plan = change_plan(kept.maintained, changed, replace(known.without_look_ups(), scans=False))
        found = WorkEstimator(sizes).estimate_interpreted(plan, driver_rows, MOST_INTERPRETED)
        if found is not None:
            return found
    return _predict_statements(context, kept, changed, known, sizes)


def _predict_statements(
    context: LakeContext,
    kept: StoredTable,
    changed: frozenset[str],
    known: RelationFacts,
    sizes: InputSizes,
) -> Estimate:
    estimator, work = WorkEstimator(sizes), NO_WORK
    found = Estimate(0.0, NO_WORK, 1.0)
    for statement in change_statements(kept.maintained, changed, context.engine.dialect, known=known):
        if statement.rendered is None:
            found = estimator.estimate_look_up(statement.plan)
        else:
            found = estimator.estimate_statement(statement.plan)
            work += Work(written_results=not _is_collected(statement, known))
        if statement.step is not None:
            estimator.add_step(statement.step.name, found)
        work += found.work
    return replace(found, work=work)


def _is_collected(statement: Statement, known: RelationFacts) -> bool:
    """Whether the rows of a statement are taken into memory, not written to files by the engine."""
    if statement.step is not None:
        return statement.step.few and known.few
    return known.few and (known.changes or known.stored)


def _iterations(looped: StoredRecursiveTable, sizes: Mapping[str, RelationSize]) -> Work:
    return WorkEstimator(InputSizes(sizes)).estimate_statement(looped.loop.plan).work.scaled(ITERATIONS)


def _stored_size(table: WorkingTable, expected: float) -> RelationSize:
    """The rows that a table has; if it has none yet, those that it is expected to have."""
    files = table.live_files().values() if table.new is None else ()
    rows, size = sum(file.rows for file in files), sum(file.size for file in files)
    if not rows:
        rows, size = round(expected), round(expected * ROW_BYTES)
    return RelationSize(rows, size, len(table.schema.names))
