"""Recursive tables on an engine: from nothing, or from what they held to what they hold now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from anabranch.engine.base import Frame
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.fixpoint import FEW_ROWS, Fixpoint, MemberFailed, Progress
from anabranch.refresh.recursive import Looped
from anabranch.refresh.rounds import Rounds, Rows
from anabranch.refresh.sources import Sources
from anabranch.write.merge import apply_change
from anabranch.write.rewrite import RowCounts, replace_rows
from anabranch.write.working import WorkingTable

Say = Callable[[Progress], None]
Tables = Mapping[TableName, WorkingTable]


def silent(progress: Progress) -> None:
    """Nobody listens."""


def fill_loops(
    parts: Parts, loops: Sequence[Looped], tables: Tables, sources: Sources, say: Say = silent
) -> tuple[dict[TableName, RowCounts], int]:
    """Replace what recursive tables hold by their least solution; what came and went, in how many passes."""
    counts: dict[TableName, RowCounts] = {}
    with _running(parts, loops, sources, say) as found:
        found.from_nothing(few=_few(loops, sources))
        for looped in loops:
            with _of(looped):
                table = tables[looped.table]
                counts[looped.table] = replace_rows(parts, table, found.contents(looped.loop.table).frame)
        return counts, found.iterations


def follow_loops(
    parts: Parts,
    loops: Sequence[Looped],
    tables: Tables,
    sources: Sources,
    changed: frozenset[str],
    say: Say = silent,
) -> tuple[dict[TableName, RowCounts], int]:
    """Apply what changed outside to what recursive tables hold; what came and went, in how many passes."""
    counts: dict[TableName, RowCounts] = {}
    with _running(parts, loops, sources, say) as found:
        old = {looped.loop.table: Rows(sources.stored(tables[looped.table])) for looped in loops}
        found.follow(old, changed)
        for looped in loops:
            change = found.change(looped.loop.table)
            with _of(looped):
                counts[looped.table] = (
                    RowCounts() if change is None else apply_change(parts, tables[looped.table], change.frame)
                )
        return counts, found.iterations


@contextmanager
def least(parts: Parts, loops: Sequence[Looped], sources: Sources) -> Iterator[dict[TableName, Frame]]:
    """What recursive tables ought to hold, computed from nothing; readable until the end."""
    with _running(parts, loops, sources, silent) as found:
        found.from_nothing(few=_few(loops, sources))
        yield {looped.table: found.contents(looped.loop.table).frame for looped in loops}


@contextmanager
def _running(parts: Parts, loops: Sequence[Looped], sources: Sources, say: Say) -> Iterator[Fixpoint[Rows]]:
    schemas = {looped.loop.table: looped.schema for looped in loops}
    rounds = Rounds(parts, sources, schemas, parts.warehouse.table_location(parts.clock.new_id()))

    def noted(progress: Progress) -> None:
        say(progress)
        parts.failpoints.hit("refresh.after_iteration")

    try:
        bound = parts.settings["max_fixpoint_iterations"]
        yield Fixpoint(rounds, [looped.loop for looped in loops], bound, noted)
    finally:
        rounds.clear()


@contextmanager
def _of(looped: Looped) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise MemberFailed(looped.loop.table, error) from error


def _few(loops: Sequence[Looped], sources: Sources) -> bool:
    """Whether so little is read that what is made from it can be held here."""
    own = {looped.table for looped in loops}
    read = frozenset(table for looped in loops for table in looped.reads) - own
    return sum(map(sources.count, read)) <= FEW_ROWS
