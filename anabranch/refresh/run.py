"""One stream table, from one moment of its sources to a later one.

`fill` computes everything, `refresh` only what changed. Both edit working tables; making them visible is the
commit's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from anabranch.algebra.plan import Cut, Delta, Plan, Scan, Stored, is_empty
from anabranch.delta.cuts import cut
from anabranch.delta.root import Maintained
from anabranch.delta.simplify import simplify
from anabranch.delta.together import NOTHING, Known
from anabranch.engine.base import Frame
from anabranch.errors import EngineMemory
from anabranch.here.collecting import collector_waits
from anabranch.ledger.records import Moment
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.define import Definition, FullDefinition, Kept, contents, recomputed
from anabranch.refresh.loops import Say, fill_loops, follow_loops, silent
from anabranch.refresh.nearby import computed_here
from anabranch.refresh.sources import Sources
from anabranch.render.dialect import SPARK, Dialect
from anabranch.render.statement import Leaf, Rendered, render
from anabranch.write.merge import apply_change, apply_rows
from anabranch.write.rewrite import RowCounts, replace_rows
from anabranch.write.working import WorkingTable

Tables = Mapping[TableName, WorkingTable]
_NONE: Tables = MappingProxyType({})
Statements = tuple[tuple[Cut | None, Rendered], ...]
"""Statements to run in order; the rows of all but the last are read by those after it, as a cut."""
FEW = Known()


def fill(
    parts: Parts,
    definition: Definition | FullDefinition,
    tables: Tables,
    moment: Moment,
    above: Tables = _NONE,
    say: Say = silent,
) -> RowCounts:
    """Replace everything stored by the query's result at a moment.

    `above`: tables it reads that this very refresh changed, and nobody else sees yet. `say` hears of every
    pass over a recursion in the query.
    """
    if isinstance(definition, FullDefinition):
        frame = recomputed(definition, Sources(parts, moment, moment, above))
        return replace_rows(parts, tables[definition.name], frame)
    counts = RowCounts()
    staged = dict(above)
    for looped in definition.loops:
        fill_loops(parts, [looped], tables, Sources(parts, moment, moment, staged), say)
        staged[looped.table] = tables[looped.table]
    for kept in definition.pieces:
        frame = contents(definition, kept, Sources(parts, moment, moment, staged))
        counts = replace_rows(parts, tables[kept.table], frame)
        staged[kept.table] = tables[kept.table]
    return counts


def refresh(
    parts: Parts,
    definition: Definition,
    tables: Tables,
    since: Moment,
    until: Moment,
    above: Tables = _NONE,
    say: Say = silent,
) -> RowCounts:
    """Apply what the sources' changes make of the stored rows."""
    counts = RowCounts()
    staged = dict(above)
    # Its own state is read as it is stored: whatever the earlier moment shows of that, it is older.
    inputs = {name: version for name, version in since.versions.items() if name in definition.tables}
    since = replace(since, versions=inputs)
    for looped in definition.loops:
        sources = Sources(parts, since, until, staged)
        if changed := sources.changed(looped.reads):
            follow_loops(parts, [looped], tables, sources, changed, say)
        staged[looped.table] = tables[looped.table]
    for kept in definition.pieces:
        table = tables[kept.table]
        sources = Sources(parts, since, until, staged)
        counts = _maintain(parts, kept, table, sources)
        staged[kept.table] = table
    return counts


def _maintain(parts: Parts, kept: Kept, table: WorkingTable, sources: Sources) -> RowCounts:
    changed = sources.changed(kept.reads)
    known = sources.known(changed, kept.reads, table)
    try:
        return _apply(parts, kept, table, sources, changed, known)
    except EngineMemory:
        if known is None:
            raise
        # One task held too much, because we said that it could: let the engine spread it as it thinks best.
        return _apply(parts, kept, table, sources, changed, None)


def _apply(
    parts: Parts,
    kept: Kept,
    table: WorkingTable,
    sources: Sources,
    changed: frozenset[str],
    known: Known | None,
) -> RowCounts:
    statements = change_statements(kept.maintained, changed, parts.engine.dialect, known=known)
    if not statements:
        return RowCounts()
    if known is not None:
        plan = change_plan(kept.maintained, changed, known)
        with collector_waits():
            here = computed_here(plan, table, sources, known, questions=2 * len(statements))
            if here is not None:
                return apply_rows(parts, table, here)
    steps: dict[str, Frame] = {}
    folders: list[str] = []

    def relation(leaf: Leaf) -> Frame:
        match leaf:
            case Scan() | Delta():
                return sources.frame(leaf)
            case Cut(name):
                return steps[name]
            case Stored():
                return sources.stored(table)

    try:
        for step, statement in statements:
            frames = {placeholder: relation(leaf) for placeholder, leaf in statement.leaves}
            frame = parts.engine.query(statement.template, frames)
            if step is not None:
                folders.append(f"{table.folder}/changes/{parts.clock.new_id()}")
                few = step.few and not sources.large
                steps[step.name] = parts.engine.kept(frame, folders[-1], few=few)
        return apply_change(parts, table, frame, few=known is not None and known.changes)
    finally:
        for folder in folders:
            parts.warehouse.clear(folder)


@lru_cache(maxsize=1024)
def change_plan(kept: Maintained, changed: frozenset[str], known: Known) -> Plan:
    """The change of what is stored, given which tables changed, and how large they are."""
    return simplify(kept.change, changed=changed, known=known)


@lru_cache(maxsize=1024)
def change_statements(
    kept: Maintained, changed: frozenset[str], dialect: Dialect = SPARK, *, known: Known | None = FEW
) -> Statements:
    """The statements that compute a change, given which tables changed; none if nothing can have.

    `known`: what is known of the sizes of what they read, if the changes are small.
    """
    plan = change_plan(kept, changed, known or NOTHING)
    if not changed or is_empty(plan):
        return ()
    steps = cut(plan)
    before = [(leaf, render(step, dialect, known=known)) for leaf, step in steps.before]
    return (*before, (None, render(steps.last, dialect, kept.columns, known=known)))
