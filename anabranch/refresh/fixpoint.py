"""The least fixed point of tables that are made from each other, and the way from an old one to the new one.

The plans are those of `delta.recursion`; this module is the order in which they run, on any `PlanRunner`. A
member's rows are those it began with and the batches that were added. Each reader of a member remembers how
many of its batches it has read; the rest are new to it. The fixed point is reached when no reader has unread
batches: not when as many rows came as went, but when no row did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from anabranch.algebra.plan import (
    Delta,
    Distinct,
    IntervalEnd,
    Materialised,
    Net,
    Plan,
    Scan,
    UnionAll,
    empty,
    is_empty,
    tables,
)
from anabranch.delta import differentiate
from anabranch.delta.recursion import (
    RecursiveTable,
    Seeds,
    Sign,
    distinct_rows_derived_from,
    initial_rows,
    new_rows_name,
    non_recursive_subplans,
    outer_change_name,
    outer_column_name,
    recursive_inputs,
    rederive_rows,
    replacement_change,
    rows_derived_from,
    rows_in_table,
    rows_not_in,
    rows_not_in_table,
    semi_naive_gain,
    table_rows_except,
)
from anabranch.delta.simplify import simplify
from anabranch.errors import NoFixpoint

FEW_ROWS = 20_000
"""Up to so many rows are kept in memory, and broadcast."""
CANDIDATES, ADDED, GONE, START = "candidates", "added", "gone", "start"

Rows = TypeVar("Rows")
Leaf = Scan | Delta | Materialised
Bind = Callable[[Leaf], Rows]
Contents = Callable[[str, IntervalEnd], Rows]
"""The rows of a member: at SINCE as its reader last read them, at UNTIL as they are now."""


@dataclass(frozen=True)
class Batch(Generic[Rows]):
    """Rows that were computed, and how many they are."""

    rows: Rows
    count: int


Cuts = Mapping[str, Batch[Rows]]


class PlanRunner(Protocol[Rows]):
    """Runs the plans of a fixed point."""

    def read_source(self, leaf: Scan | Delta) -> Rows:
        """A table outside of the recursion, at either end of the interval, or its change."""
        ...

    def empty_rows(self, table: str) -> Rows:
        """No rows, in the columns of a member."""
        ...

    def define_view(self, plan: Plan, columns: Sequence[str], bind: Bind[Rows]) -> Rows:
        """The rows of a plan under these column names; computed whenever they are read."""
        ...

    def materialise(self, rows: Rows, *, few: bool) -> Batch[Rows]:
        """Rows, computed once and counted; `few`: so few that they fit into memory."""
        ...

    def split_by_sign(self, change: Rows) -> tuple[Batch[Rows], Batch[Rows]]:
        """The inserted and the deleted rows of a change, without their weights."""
        ...

    def union_batches(self, batches: Sequence[Batch[Rows]]) -> Batch[Rows]:
        """The rows of several batches, which have the same columns."""
        ...


class MemberFailed(Exception):
    """The query of one member failed."""

    def __init__(self, table: str, error: Exception) -> None:
        super().__init__(table)
        self.table = table
        self.error = error


@dataclass
class _Member(Generic[Rows]):
    """The state of one recursive table."""

    loop: RecursiveTable
    start: Rows
    added: list[Batch[Rows]] = field(default_factory=list)
    gone: list[Batch[Rows]] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    """How many batches it has read of each member."""


@dataclass(frozen=True)
class Progress:
    """One iteration over the members: how many rows were derived, how many of them new, how many deleted."""

    iteration: int
    derived: int = 0
    added: int = 0
    removed: int = 0


class Fixpoint(Generic[Rows]):
    """Computes the least solution of its members, which must be reached within `bound` iterations."""

    def __init__(
        self,
        machine: PlanRunner[Rows],
        loops: Sequence[RecursiveTable],
        bound: int,
        say: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self._machine, self._bound, self._say = machine, bound, say
        self._members = {loop.table: _Member(loop, machine.empty_rows(loop.table)) for loop in loops}
        self._recursive = frozenset(self._members)
        self._old: Mapping[str, Rows] = {}
        self._outside: dict[str, Batch[Rows]] = {}
        self._known: dict[tuple[str, int], Rows] = {}
        self._few_sources = True
        self.iterations = 0
        """Iterations so far, those that take rows out and those that add some."""
        self.derived = 0
        """Rows derived so far, whether they were new or not."""

    # -- the two ways in, and what comes out ----------------------------------------------------

    def solve_from_scratch(self, *, few: bool = False) -> None:
        """Compute the least solution over the current outer tables; `few`: those are small."""
        self._few_sources = few
        for member in self._members.values():
            plan = initial_rows(member.loop, self._recursive)
            self._add(member, self._materialise_plan(member, plan, {}, self._rows_at_start))
        self._iterate_semi_naive()

    def solve_incrementally(self, old: Mapping[str, Rows], changed: frozenset[str]) -> None:
        """Go on from the previous solution, given which outer tables have changed since."""
        self._old = old
        for table, member in self._members.items():
            member.start = old[table]
        parts = self._changed_outer_parts(changed)
        self._compute_outer_changes(parts, changed)
        if not self._outside:
            return
        self._over_delete(parts)
        for member in self._members.values():
            if member.gone:
                member.start = self._surviving_rows(member)
        for member in self._members.values():
            self._rederive(member, parts)
        self._iterate_semi_naive()

    def change(self, table: str) -> Rows | None:
        """The change of a member's rows: weighted, if some were deleted; None if nothing changed."""
        member = self._members[table]
        loop = member.loop
        if not member.gone and not member.added:
            return None
        cuts = {}
        if member.added:
            cuts[ADDED] = self._machine.union_batches(member.added)
        added: Plan = loop.materialised_rows(ADDED) if member.added else empty(loop.plan.names)
        if not member.gone:
            return self._machine.define_view(added, loop.columns, self._bind(cuts, self._rows_at_start))
        cuts[GONE] = self._machine.union_batches(member.gone)
        plan = replacement_change(loop, loop.materialised_rows(GONE, few=self._has_few_rows(cuts)), added)
        return self._machine.define_view(simplify(plan), loop.columns, self._bind(cuts, self._rows_before))

    def contents(self, table: str) -> Rows:
        """All rows that a member holds now, under its own names."""
        return self._rows_after_batches(table, len(self._members[table].added))

    # -- what changed outside -------------------------------------------------------------------

    def _changed_outer_parts(self, changed: frozenset[str]) -> tuple[Plan, ...]:
        every = dict.fromkeys(
            part
            for member in self._members.values()
            for part in non_recursive_subplans(member.loop.plan, self._recursive)
        )
        return tuple(part for part in every if not changed.isdisjoint(tables(part)))

    def _compute_outer_changes(self, parts: Sequence[Plan], changed: frozenset[str]) -> None:
        for number, part in enumerate(parts):
            plan = simplify(Net(differentiate(part)), changed=changed)
            if is_empty(plan):
                continue
            change = self._machine.define_view(
                plan, numbered_columns(plan), self._bind({}, self._rows_at_start)
            )
            came, went = self._machine.split_by_sign(change)
            signs: list[tuple[Sign, list[Batch[Rows]]]] = [
                ("gained", [came]),
                ("lost", [went]),
                ("moved", [came, went]),
            ]
            for sign, batches in signs:
                if found := [batch for batch in batches if batch.count]:
                    self._outside[outer_change_name(number, sign)] = self._machine.union_batches(found)

    # -- what may depend on deleted rows --------------------------------------------------------

    def _over_delete(self, parts: tuple[Plan, ...]) -> None:
        """Delete from every member what may have been derived from deleted rows."""
        for member in self._members.values():
            lost = distinct_rows_derived_from(member.loop, self._seeds(parts, "lost"), IntervalEnd.SINCE)
            self._record_deleted(
                member, self._materialise_plan(member, lost, self._outside, self._rows_before)
            )
            if not member.loop.is_set:
                came = distinct_rows_derived_from(
                    member.loop, self._seeds(parts, "gained"), IntervalEnd.UNTIL
                )
                self._record_deleted(
                    member,
                    self._filter_to_stored(
                        member, self._materialise_plan(member, came, self._outside, self._rows_before)
                    ),
                )
        # This terminates: only rows that are there are deleted.
        while any(self._has_unread_batches(member, gone=True) for member in self._members.values()):
            self.iterations += 1
            removed = 0
            for member in self._members.values():
                news = self._unread_batches(member, gone=True)
                if news.cuts:
                    plan = distinct_rows_derived_from(member.loop, news.seeds, IntervalEnd.SINCE)
                    found = self._materialise_plan(member, plan, news.cuts, self._rows_before)
                    member.seen.update(news.seen)
                    removed += self._record_deleted(member, found)
            self._say(Progress(self.iterations, removed=removed))
        for member in self._members.values():
            member.seen.clear()

    def _record_deleted(self, member: _Member[Rows], found: Batch[Rows]) -> int:
        """Record rows as deleted, unless they already are; how many are new."""
        if found.count and member.gone:
            cuts = {CANDIDATES: found, GONE: self._machine.union_batches(member.gone)}
            few, loop = self._has_few_rows(cuts), member.loop
            fresh = rows_not_in(
                loop.materialised_rows(CANDIDATES, few=few), loop.materialised_rows(GONE, few=few)
            )
            found = self._materialise_plan(member, fresh, cuts, self._rows_before)
        if found.count:
            member.gone.append(found)
        return found.count

    def _filter_to_stored(self, member: _Member[Rows], found: Batch[Rows]) -> Batch[Rows]:
        """The rows among `found` that a member had before."""
        if not found.count:
            return found
        cuts = {CANDIDATES: found}
        rows = member.loop.materialised_rows(CANDIDATES, few=self._has_few_rows(cuts))
        return self._materialise_plan(member, rows_in_table(member.loop, rows), cuts, self._rows_before)

    def _surviving_rows(self, member: _Member[Rows]) -> Rows:
        """The rows that a member had, without the deleted ones."""
        cuts = {GONE: self._machine.union_batches(member.gone)}
        gone = member.loop.materialised_rows(GONE, few=self._has_few_rows(cuts))
        plan = simplify(table_rows_except(member.loop, gone))
        return self._machine.define_view(plan, member.loop.columns, self._bind(cuts, self._rows_before))

    # -- what can be derived --------------------------------------------------------------------

    def _rederive(self, member: _Member[Rows], parts: tuple[Plan, ...]) -> None:
        """One step from the surviving rows: deleted rows that can be derived again, and new outer rows."""
        loop, cuts = member.loop, dict(self._outside)
        found = [rows_derived_from(loop.plan, self._seeds(parts, "gained"), IntervalEnd.UNTIL)]
        if member.gone:
            cuts[GONE] = self._machine.union_batches(member.gone)
            gone = loop.materialised_rows(GONE, few=self._has_few_rows(cuts))
            found.append(rederive_rows(loop, gone) if loop.is_set else gone)
        candidates = self._materialise_plan(
            member, Distinct(UnionAll(tuple(found))), cuts, self._rows_at_start
        )
        if not candidates.count:
            return
        self.derived += candidates.count
        rows = loop.materialised_rows(CANDIDATES, few=self._has_few_rows({CANDIDATES: candidates}))
        plan = rows_not_in_table(loop, rows) if loop.is_set else rederive_rows(loop, rows)
        self._add(member, self._materialise_plan(member, plan, {CANDIDATES: candidates}, self._rows_at_start))

    def _iterate_semi_naive(self) -> None:
        """Let every member read what is new in those that it reads, until nothing is left unread."""
        last = passes = 0
        while any(self._has_unread_batches(member) for member in self._members.values()):
            if passes == self._bound:
                raise NoFixpoint(
                    f"no fixed point was reached within {self._bound} iterations",
                    detail=f"the last one still brought {last} new rows; nothing was published.",
                    hint="end the recursion by a condition, or raise max_fixpoint_iterations, then resume.",
                )
            self.iterations += 1
            passes += 1
            last, derived = 0, self.derived
            for member in self._members.values():
                if self._has_unread_batches(member):
                    last += self._derive(member)
            self._say(Progress(self.iterations, self.derived - derived, last))

    def _derive(self, member: _Member[Rows]) -> int:
        """Derive a member's rows from the batches it hasn't read; how many are new."""
        loop, news = member.loop, self._unread_batches(member)

        def contents(table: str, at: IntervalEnd) -> Rows:
            count = member.seen.get(table, 0) if at is IntervalEnd.SINCE else len(self._members[table].added)
            return self._rows_after_batches(table, count)

        if loop.is_set:
            candidates = self._materialise_plan(
                member, distinct_rows_derived_from(loop, news.seeds, IntervalEnd.UNTIL), news.cuts, contents
            )
            self.derived += candidates.count
            found = candidates
            if candidates.count:
                rows = loop.materialised_rows(CANDIDATES, few=self._has_few_rows({CANDIDATES: candidates}))
                found = self._materialise_plan(
                    member, rows_not_in_table(loop, rows), {CANDIDATES: candidates}, contents
                )
        else:
            found = self._materialise_plan(member, semi_naive_gain(loop, news.seeds), news.cuts, contents)
            self.derived += found.count
        member.seen.update(news.seen)
        return self._add(member, found)

    def _add(self, member: _Member[Rows], found: Batch[Rows]) -> int:
        if found.count:
            member.added.append(found)
        return found.count

    # -- what is new to whom --------------------------------------------------------------------

    def _has_unread_batches(self, member: _Member[Rows], *, gone: bool = False) -> bool:
        return any(
            len(self._batches(table, gone=gone)) > member.seen.get(table, 0)
            for table in recursive_inputs(member.loop.plan, self._recursive)
        )

    def _batches(self, table: str, *, gone: bool) -> list[Batch[Rows]]:
        return self._members[table].gone if gone else self._members[table].added

    def _unread_batches(self, member: _Member[Rows], *, gone: bool = False) -> _UnreadBatches[Rows]:
        cuts: dict[str, Batch[Rows]] = {}
        seen: dict[str, int] = {}
        for table in recursive_inputs(member.loop.plan, self._recursive):
            batches = self._batches(table, gone=gone)
            if fresh := batches[member.seen.get(table, 0) :]:
                cuts[new_rows_name(table)] = self._machine.union_batches(fresh)
                seen[table] = len(batches)
        seeds = Seeds(self._recursive, members=frozenset(seen), few=self._has_few_rows(cuts))
        return _UnreadBatches(cuts, seen, seeds)

    def _seeds(self, parts: tuple[Plan, ...], sign: Sign) -> Seeds:
        return Seeds(
            self._recursive,
            parts=parts,
            cuts=frozenset(self._outside),
            sign=sign,
            few=self._has_few_rows(self._outside),
        )

    # -- running --------------------------------------------------------------------------------

    def _materialise_plan(
        self, member: _Member[Rows], plan: Plan, cuts: Cuts[Rows], contents: Contents[Rows]
    ) -> Batch[Rows]:
        """Compute and count the rows of a plan."""
        plan = simplify(plan)
        if is_empty(plan):
            return Batch(self._machine.empty_rows(member.loop.table), 0)
        few = self._has_few_rows(cuts) if cuts else self._few_sources
        try:
            rows = self._machine.define_view(plan, member.loop.columns, self._bind(cuts, contents))
            return self._machine.materialise(rows, few=few)
        except Exception as error:
            raise MemberFailed(member.loop.table, error) from error

    def _bind(self, cuts: Cuts[Rows], contents: Contents[Rows]) -> Bind[Rows]:
        def resolve_leaf(leaf: Leaf) -> Rows:
            match leaf:
                case Materialised(name):
                    return cuts[name].rows
                case Scan(table, _, at) if table in self._recursive:
                    return contents(table, at)
                case _:
                    return self._machine.read_source(leaf)

        return resolve_leaf

    def _rows_before(self, table: str, at: IntervalEnd) -> Rows:
        return self._old[table]

    def _rows_at_start(self, table: str, at: IntervalEnd) -> Rows:
        return self._members[table].start

    def _rows_after_batches(self, table: str, count: int) -> Rows:
        """The rows of a member with its first `count` batches."""
        member = self._members[table]
        if not count:
            return member.start
        if (found := self._known.get((table, count))) is not None:
            return found
        names = member.loop.columns
        cuts = {START: Batch(member.start, 0), ADDED: self._machine.union_batches(member.added[:count])}
        plan = UnionAll(
            (member.loop.materialised_rows(START, few=False), member.loop.materialised_rows(ADDED, few=False))
        )
        found = self._machine.define_view(plan, names, self._bind(cuts, self._rows_at_start))
        # Readers share batches and read each more than once, but none goes back further than one.
        self._known = {
            key: rows for key, rows in self._known.items() if key[0] != table or key[1] >= count - 1
        }
        self._known[table, count] = found
        return found

    def _has_few_rows(self, cuts: Cuts[Rows]) -> bool:
        return all(batch.count <= FEW_ROWS for batch in cuts.values())


@dataclass(frozen=True)
class _UnreadBatches(Generic[Rows]):
    """The batches that a member hasn't read, its read counts afterwards, and the seeds of its change."""

    cuts: Mapping[str, Batch[Rows]]
    seen: Mapping[str, int]
    seeds: Seeds


def numbered_columns(plan: Plan) -> tuple[str, ...]:
    """The column names of the materialised rows of an outer part."""
    return tuple(outer_column_name(place) for place in range(len(plan.names)))
