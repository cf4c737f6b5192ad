"""Computes recursive tables on an engine: in full, or from their old rows to the new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from anabranch.connection.lake_context import LakeContext
from anabranch.engine.base import Frame
from anabranch.engine.local.fixpoint_rows import FixpointRows
from anabranch.names import TableName
from anabranch.refresh.apply_change import apply_change, apply_local_change
from anabranch.refresh.fixpoint import FEW_ROWS, Fixpoint, MemberFailed, Progress
from anabranch.refresh.fixpoint_engine import FixpointEngine, Rows
from anabranch.refresh.inputs import Sources
from anabranch.refresh.recursive_definitions import StoredRecursiveTable
from anabranch.write.row_level_writes import RowCounts, replace_rows
from anabranch.write.working_table import WorkingTable

Say = Callable[[Progress], None]
Tables = Mapping[TableName, WorkingTable]


def ignore_progress(progress: Progress) -> None:
    """Report progress to nobody."""


def fill_recursive_tables(
    context: LakeContext,
    loops: Sequence[StoredRecursiveTable],
    tables: Tables,
    sources: Sources,
    say: Say = ignore_progress,
) -> tuple[dict[TableName, RowCounts], int]:
    """Replace the rows of recursive tables by their least solution; row counts, and how many iterations."""
    counts: dict[TableName, RowCounts] = {}
    with _open_fixpoint(context, loops, sources, say) as (found, _):
        found.solve_from_scratch(few=_has_few_source_rows(loops, sources))
        for looped in loops:
            with _wrap_member_errors(looped):
                table = tables[looped.table]
                counts[looped.table] = replace_rows(context, table, found.contents(looped.loop.table).frame)
        return counts, found.iterations


def update_recursive_tables(
    context: LakeContext,
    loops: Sequence[StoredRecursiveTable],
    tables: Tables,
    sources: Sources,
    changed: frozenset[str],
    say: Say = ignore_progress,
) -> tuple[dict[TableName, RowCounts], int]:
    """Apply the changes of outer tables to recursive tables; row counts, and how many iterations."""
    counts: dict[TableName, RowCounts] = {}
    members = {looped.loop.table: tables[looped.table] for looped in loops}
    local = _read_locally(context, sources, members, changed)
    with _open_fixpoint(context, loops, sources, say, local) as (found, engine):
        old = {name: engine.read_stored(name, table) for name, table in members.items()}
        found.solve_incrementally(old, changed)
        for looped in loops:
            with _wrap_member_errors(looped):
                change = found.change(looped.loop.table)
                counts[looped.table] = _apply(context, engine, tables[looped.table], change)
        return counts, found.iterations


def _read_locally(
    context: LakeContext, sources: Sources, members: Mapping[str, WorkingTable], changed: frozenset[str]
) -> FixpointRows | None:
    """What this process computes a small change with; None if it is the engine's."""
    most = context.settings["driver_rows"]
    if not most or sources.computed or sources.count_changed_rows(changed) > most:
        return None
    return FixpointRows(sources, members, most)


def _apply(
    context: LakeContext, engine: FixpointEngine, table: WorkingTable, change: Rows | None
) -> RowCounts:
    if change is None:
        return RowCounts()
    here = engine.compute_change(change, table.schema)
    if here is not None:
        return apply_local_change(context, table, here)
    return apply_change(context, table, change.frame)


@contextmanager
def compute_least_fixpoint(
    context: LakeContext, loops: Sequence[StoredRecursiveTable], sources: Sources
) -> Iterator[dict[TableName, Frame]]:
    """The right rows of recursive tables, recomputed in full; readable until the end."""
    with _open_fixpoint(context, loops, sources, ignore_progress) as (found, _):
        found.solve_from_scratch(few=_has_few_source_rows(loops, sources))
        yield {looped.table: found.contents(looped.loop.table).frame for looped in loops}


@contextmanager
def _open_fixpoint(
    context: LakeContext,
    loops: Sequence[StoredRecursiveTable],
    sources: Sources,
    say: Say,
    local: FixpointRows | None = None,
) -> Iterator[tuple[Fixpoint[Rows], FixpointEngine]]:
    schemas = {looped.loop.table: looped.schema for looped in loops}
    rounds = FixpointEngine(
        context, sources, schemas, context.warehouse.table_location(context.clock.new_id()), local
    )

    def report_progress(progress: Progress) -> None:
        say(progress)
        context.failpoints.hit("refresh.after_iteration")

    try:
        bound = context.settings["max_fixpoint_iterations"]
        yield Fixpoint(rounds, [looped.loop for looped in loops], bound, report_progress), rounds
    finally:
        rounds.clear()


@contextmanager
def _wrap_member_errors(looped: StoredRecursiveTable) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise MemberFailed(looped.loop.table, error) from error


def _has_few_source_rows(loops: Sequence[StoredRecursiveTable], sources: Sources) -> bool:
    """Whether so little is read that what is derived from it fits into memory."""
    own = {looped.table for looped in loops}
    read = frozenset(table for looped in loops for table in looped.reads) - own
    return sum(map(sources.count_rows, read)) <= FEW_ROWS
