"""One stream table, from one lake version of its sources to a later one.

`run_full_refresh` computes everything, `run_differential_refresh` only what changed. Both edit working
tables, which become visible when they are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from anabranch.algebra.plan import (
    Delta,
    Materialised,
    Plan,
    Scan,
    StoredResult,
    empty,
    is_empty,
    subplans,
)
from anabranch.algebra.transform import transform_up
from anabranch.connection.lake_context import LakeContext
from anabranch.delta.key_bounds import columns_read
from anabranch.delta.maintenance_plan import MaintenancePlan
from anabranch.delta.materialise import materialise_shared
from anabranch.delta.simplify import drop_empty, simplify
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.base import Frame
from anabranch.engine.local.collecting import collector_waits
from anabranch.engine.local.finish import finish_locally
from anabranch.engine.local.look_up_steps import TooManyRows, look_up_step
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
ChangeKey = tuple[MaintenancePlan, frozenset[str]]
"""A maintained table, and which of its sources changed."""
_NONE: Tables = MappingProxyType({})
FEW = RelationFacts(scans=True)
FETCHED_ROWS, PER_CHANGED_ROW = 200_000, 4
"""A step may fetch so many rows, and so many more for each changed row, of a table that is read once."""
MUCH_SMALLER = 4
"""What was too many for a change is tried again for one with so many times fewer rows."""
MAX_LARGE_FETCHES = 1_000
"""So many changes are remembered for which that was too much."""


AskAgain = Callable[[str], None]
"""Called, with words, when a change meets more than was assumed; it may raise, which ends the refresh."""


def go_on(what: str) -> None:
    """Compute the change all the same."""


class _TooManyRowsFetched(Exception):
    """Reading a table once for all of a change fetched more rows than it can have saved."""


@dataclass(frozen=True)
class Statement:
    """One statement of a change: it computes a step that later ones read, or, without a step, the change."""

    step: Materialised | None
    plan: Plan
    rendered: RenderedStatement | None
    """None: its rows are looked up, and no engine is asked."""


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
    ask_again: AskAgain = go_on,
) -> RowCounts:
    """Compute the change of the stored rows from the changes of the sources, and apply it.

    `ask_again` is called when it turns out to be more work than its sizes said; nothing is visible by then.
    """
    counts = RowCounts()
    staged = dict(above)
    # Its hidden state is read as stored: the earlier lake version may list an older one.
    inputs = {name: version for name, version in since.versions.items() if name in definition.tables}
    since = replace(since, versions=inputs)
    rows = count_source_changes(definition, Sources(context, since, until, staged))
    for looped in definition.loops:
        sources = Sources(context, since, until, staged)
        if changed := sources.changed_tables(looped.reads):
            update_recursive_tables(context, [looped], tables, sources, changed, say)
        staged[looped.table] = tables[looped.table]
    for kept in definition.stored_tables:
        table = tables[kept.table]
        sources = Sources(context, since, until, staged)
        counts = _maintain_table(context, kept, table, sources, rows, ask_again)
        staged[kept.table] = table
    return counts


def count_source_changes(definition: Definition, sources: Sources) -> int:
    """How many changed rows a refresh begins with; those of hidden state follow from them."""
    return sources.count_changed_rows(sources.changed_tables(definition.tables))


def relation_facts(
    context: LakeContext,
    kept: StoredTable,
    table: WorkingTable,
    sources: Sources,
    changed: frozenset[str],
    rows: int,
) -> RelationFacts:
    """What is known of the sizes of a change's inputs before it is computed; `rows`: source changes."""
    known = sources.estimate_sizes(changed, kept.reads, table, columns_read(kept.maintained.change))
    # A key that many rows share touches most of a table; that shows only when its rows are fetched.
    change = (kept.maintained, changed)
    known = replace(known, scans=not _was_too_many(context.large_fetches, change, rows))
    if not _was_too_many(context.large_lookups, change, rows):
        lookups, readable = sources.tables_to_look_up(kept.reads, known), frozenset[str]()
        if lookups:
            readable = sources.tables_to_read(kept.reads, known, changed)
        known = replace(known, lookups=lookups, readable=readable)
    return known


def _maintain_table(
    context: LakeContext,
    kept: StoredTable,
    table: WorkingTable,
    sources: Sources,
    rows: int,
    ask_again: AskAgain,
) -> RowCounts:
    changed = sources.changed_tables(kept.reads)
    known = relation_facts(context, kept, table, sources, changed, rows)
    change = (kept.maintained, changed)
    while True:
        try:
            return _compute_and_apply(context, kept, table, sources, changed, known)
        except TooManyRows:
            _remember(context.large_lookups, change, rows)
            known = known.without_look_ups()
            ask_again("more rows are to be looked up than are worth it")
        except _TooManyRowsFetched:
            _remember(context.large_fetches, change, rows)
            known = replace(known.without_look_ups(), scans=False)
            ask_again("more rows were fetched than are worth it")
        except EngineMemory:
            if not known.few:
                raise
            # The hint for a single task was too much for one: without it the engine spreads the work.
            known = replace(known, few=False, changes=False)
            ask_again("one task had too little memory")


def _was_too_many(changes: Mapping[ChangeKey, int], change: ChangeKey, rows: int) -> bool:
    """Whether a change was too large before with about so many changed rows; a much smaller one is tried."""
    least = changes.get(change)
    return least is not None and rows * MUCH_SMALLER > least


def _remember(changes: dict[ChangeKey, int], change: ChangeKey, rows: int) -> None:
    if len(changes) >= MAX_LARGE_FETCHES:
        changes.clear()
    changes[change] = min(rows, changes.get(change, rows))


def _compute_and_apply(
    context: LakeContext,
    kept: StoredTable,
    table: WorkingTable,
    sources: Sources,
    changed: frozenset[str],
    known: RelationFacts,
) -> RowCounts:
    statements = change_statements(kept.maintained, changed, context.engine.dialect, known=known)
    if not statements:
        return RowCounts()
    if known.few:
        plan = change_plan(kept.maintained, changed, replace(known.without_look_ups(), scans=False))
        asked = sum(statement.rendered is not None for statement in statements)
        with collector_waits():
            here = computed_here(plan, table, sources, known, questions=2 * asked)
            if here is not None:
                return apply_local_change(context, table, here)
    most = FETCHED_ROWS + PER_CHANGED_ROW * sources.count_changed_rows(changed) if known.scans else None
    assert most is not None or not known.lookups, "what is looked up has a limit"
    with _StatementRun(context, table, sources, known, most) as run:
        for statement in statements[:-1]:
            run.materialise(statement)
        return run.apply(statements[-1])


class _StatementRun:
    """The statements of one change, run one after the other; their rows are kept until the last has run."""

    def __init__(
        self,
        context: LakeContext,
        table: WorkingTable,
        sources: Sources,
        known: RelationFacts,
        most: int | None,
    ) -> None:
        self._context, self._table, self._sources, self._known = context, table, sources, known
        self._most = most
        self._frames: dict[str, Frame] = {}
        self._in_memory: dict[str, tuple[Any, Frame | None]] = {}
        self._folders: list[str] = []
        self._skipped: dict[str, Statement] = {}
        """Steps that have no rows since those before them have none: they run only where they are read."""

    def __enter__(self) -> _StatementRun:
        return self

    def __exit__(self, *error: object) -> None:
        for folder in self._folders:
            self._context.warehouse.delete_folder(folder)

    def materialise(self, statement: Statement) -> None:
        """Compute rows that later statements read, unless there can be none."""
        step = statement.step
        assert step is not None, "only the last statement computes the change itself"
        if self._has_no_rows(statement.plan):
            self._skipped[step.name] = statement
        else:
            self._compute_step(step, statement)

    def _has_no_rows(self, plan: Plan) -> bool:
        """Whether a plan has no rows because earlier steps have none."""
        without = {name for name, (rows, _) in self._in_memory.items() if not rows.num_rows}
        without |= set(self._skipped)
        return bool(without) and is_empty(drop_empty(without_steps(plan, without)))

    def _compute_skipped_steps(self, plan: Plan) -> None:
        """The steps that a plan reads all the same, for the types of their columns."""
        for part in subplans(plan):
            if isinstance(part, Materialised) and part.name in self._skipped:
                self._compute_step(part, self._skipped.pop(part.name))

    def _compute_step(self, step: Materialised, statement: Statement) -> None:
        """In memory if its rows are few, else in files."""
        self._compute_skipped_steps(statement.plan)
        if statement.rendered is None:
            assert self._most is not None, "what is looked up has a limit"
            steps = {name: rows for name, (rows, _) in self._in_memory.items()}
            self._in_memory[step.name] = look_up_step(statement.plan, self._sources, steps, self._most), None
            return
        frame = self._run(statement.rendered)
        engine = self._context.engine
        rows = engine.collect(frame) if step.few and self._known.few else None
        if rows is not None:
            if self._most is not None and rows.num_rows > self._most:
                raise _TooManyRowsFetched(step.name)
            self._in_memory[step.name] = rows, frame
            return
        self._folders.append(f"{self._table.folder}/changes/{self._context.clock.new_id()}")
        self._frames[step.name] = engine.materialise(frame, self._folders[-1])

    def apply(self, statement: Statement) -> RowCounts:
        """Compute the change itself, and apply it."""
        context, table = self._context, self._table
        if self._has_no_rows(statement.plan):
            return RowCounts()
        self._compute_skipped_steps(statement.plan)
        steps = {name: rows for name, (rows, _) in self._in_memory.items()}
        with collector_waits():
            rows = finish_locally(statement.plan, table, self._sources, steps)
        if rows is not None:
            return apply_local_change(context, table, rows)
        few = self._known.few and (self._known.changes or self._known.stored)
        assert statement.rendered is not None, "a change is computed, not looked up"
        return apply_change(context, table, self._run(statement.rendered), few=few)

    def _run(self, rendered: RenderedStatement) -> Frame:
        frames = {placeholder: self._frame_of(leaf) for placeholder, leaf in rendered.leaves}
        return self._context.engine.run_query(rendered.template, frames)

    def _frame_of(self, leaf: Leaf) -> Frame:
        match leaf:
            case Scan() | Delta():
                return self._sources.scan_leaf(leaf)
            case StoredResult():
                return self._sources.scan_stored_rows(self._table)
            case Materialised(name):
                if name not in self._frames:
                    self._frames[name] = self._context.engine.from_arrow(*self._in_memory[name])
                return self._frames[name]


def without_steps(plan: Plan, names: Collection[str]) -> Plan:
    """A plan in which some steps have no rows."""

    def replace_step(part: Plan) -> Plan:
        gone = isinstance(part, Materialised) and part.name in names
        return empty(part.names) if gone else part

    return transform_up(plan, replace_step)


@lru_cache(maxsize=1024)
def change_plan(kept: MaintenancePlan, changed: frozenset[str], known: RelationFacts) -> Plan:
    """The change of what is stored, given which tables changed, and how large they are."""
    return simplify(kept.change, changed=changed, known=known, origins=kept.origins)


@lru_cache(maxsize=1024)
def change_statements(
    kept: MaintenancePlan,
    changed: frozenset[str],
    dialect: Dialect = SPARK,
    *,
    known: RelationFacts = FEW,
) -> tuple[Statement, ...]:
    """The statements that compute a change, given which tables changed; none if the result can't change.

    `known`: what is known of the sizes of what they read.
    """
    plan = change_plan(kept, changed, known)
    if not changed or is_empty(plan):
        return ()
    steps = materialise_shared(plan, lookups=known.lookups, few_stored=known.stored)
    before = [
        Statement(leaf, step, None if leaf.name in steps.looked_up else render(step, dialect, known=known))
        for leaf, step in steps.before
    ]
    return (*before, Statement(None, steps.last, render(steps.last, dialect, kept.columns, known=known)))
