"""The least fixed point of tables that are made from each other, and the way from an old one to the new one.

The plans are those of `delta.recurse`; this is the order in which they run, whoever runs them. A member's
rows are those it began with and the batches that were added. Each reader of a member remembers how many of
its batches it has seen, so what is new to it is the rest. The end is reached when nobody has anything left
to see: not when as many rows came as went, but when no row did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from anabranch.algebra.plan import (
    At,
    Cut,
    Delta,
    Distinct,
    Net,
    Plan,
    Scan,
    UnionAll,
    empty,
    is_empty,
    tables,
)
from anabranch.delta import differentiate
from anabranch.delta.recurse import (
    Loop,
    Seeds,
    Sign,
    changed_rows,
    column,
    derived_again,
    edges,
    except_for,
    from_nothing,
    gained,
    missing_among,
    new,
    not_among,
    outer,
    outer_parts,
    replaced,
    stored_among,
    touched,
)
from anabranch.delta.simplify import simplify
from anabranch.errors import NoFixpoint

FEW_ROWS = 20_000
"""Up to so many rows are held here, and sent to where the others are."""
CANDIDATES, ADDED, GONE, START = "candidates", "added", "gone", "start"

Rows = TypeVar("Rows")
Leaf = Scan | Delta | Cut
Bind = Callable[[Leaf], Rows]
Contents = Callable[[str, At], Rows]
"""What a member holds: at SINCE when the one who asks looked last, at UNTIL now."""


@dataclass(frozen=True)
class Batch(Generic[Rows]):
    """Rows that were computed, and how many they are."""

    rows: Rows
    count: int


Cuts = Mapping[str, Batch[Rows]]


class Machine(Protocol[Rows]):
    """What runs plans."""

    def source(self, leaf: Scan | Delta) -> Rows:
        """A table outside of the recursion, at either end of the interval, or its change."""
        ...

    def nothing(self, table: str) -> Rows:
        """No rows, in the columns of a member."""
        ...

    def view(self, plan: Plan, columns: Sequence[str], bind: Bind[Rows]) -> Rows:
        """What a plan gives, under these names; computed whenever it is read."""
        ...

    def keep(self, rows: Rows, *, few: bool) -> Batch[Rows]:
        """Rows, computed once and counted; `few`: so few that they can be held here."""
        ...

    def signed(self, change: Rows) -> tuple[Batch[Rows], Batch[Rows]]:
        """Of weighted rows those that come, and those that go, without their weights."""
        ...

    def united(self, batches: Sequence[Batch[Rows]]) -> Batch[Rows]:
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
    """One recursive table under way."""

    loop: Loop
    start: Rows
    added: list[Batch[Rows]] = field(default_factory=list)
    gone: list[Batch[Rows]] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    """How many batches it has seen of each member that it reads."""


@dataclass(frozen=True)
class Progress:
    """One pass over the members: how many rows were derived, how many of them were new, how many went."""

    iteration: int
    derived: int = 0
    added: int = 0
    removed: int = 0


class Fixpoint(Generic[Rows]):
    """Members on their way to the least solution, which must be reached within `bound` passes."""

    def __init__(
        self,
        machine: Machine[Rows],
        loops: Sequence[Loop],
        bound: int,
        say: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self._machine, self._bound, self._say = machine, bound, say
        self._members = {loop.table: _Member(loop, machine.nothing(loop.table)) for loop in loops}
        self._recursive = frozenset(self._members)
        self._old: Mapping[str, Rows] = {}
        self._outside: dict[str, Batch[Rows]] = {}
        self._known: dict[tuple[str, int], Rows] = {}
        self._few_sources = True
        self.iterations = 0
        """Passes so far, those that take rows out and those that add some."""
        self.derived = 0
        """Rows derived so far, whether they were new or not."""

    # -- the two ways in, and what comes out ----------------------------------------------------

    def from_nothing(self, *, few: bool = False) -> None:
        """Find the least solution over what is outside now; `few`: that is little."""
        self._few_sources = few
        for member in self._members.values():
            plan = from_nothing(member.loop, self._recursive)
            self._add(member, self._run(member, plan, {}, self._at_start))
        self._grow()

    def follow(self, old: Mapping[str, Rows], changed: frozenset[str]) -> None:
        """Go on from the solution before, given which tables outside have changed since."""
        self._old = old
        for table, member in self._members.items():
            member.start = old[table]
        parts = self._parts_outside(changed)
        self._look_outside(parts, changed)
        if not self._outside:
            return
        self._delete(parts)
        for member in self._members.values():
            if member.gone:
                member.start = self._remainder(member)
        for member in self._members.values():
            self._begin(member, parts)
        self._grow()

    def change(self, table: str) -> Rows | None:
        """What becomes of the rows that a member held: weighted, if some go; None if nothing happens."""
        member = self._members[table]
        loop = member.loop
        if not member.gone and not member.added:
            return None
        cuts = {}
        if member.added:
            cuts[ADDED] = self._machine.united(member.added)
        added: Plan = loop.rows(ADDED) if member.added else empty(loop.plan.names)
        if not member.gone:
            return self._machine.view(added, loop.columns, self._bind(cuts, self._at_start))
        cuts[GONE] = self._machine.united(member.gone)
        plan = replaced(loop, loop.rows(GONE, few=self._few(cuts)), added)
        return self._machine.view(simplify(plan), loop.columns, self._bind(cuts, self._as_before))

    def contents(self, table: str) -> Rows:
        """All rows that a member holds now, under its own names."""
        return self._upto(table, len(self._members[table].added))

    # -- what changed outside -------------------------------------------------------------------

    def _parts_outside(self, changed: frozenset[str]) -> tuple[Plan, ...]:
        every = dict.fromkeys(
            part
            for member in self._members.values()
            for part in outer_parts(member.loop.plan, self._recursive)
        )
        return tuple(part for part in every if not changed.isdisjoint(tables(part)))

    def _look_outside(self, parts: Sequence[Plan], changed: frozenset[str]) -> None:
        for number, part in enumerate(parts):
            plan = simplify(Net(differentiate(part)), changed=changed)
            if is_empty(plan):
                continue
            change = self._machine.view(plan, columns_of(plan), self._bind({}, self._at_start))
            came, went = self._machine.signed(change)
            signs: list[tuple[Sign, list[Batch[Rows]]]] = [
                ("gained", [came]),
                ("lost", [went]),
                ("moved", [came, went]),
            ]
            for sign, batches in signs:
                if found := [batch for batch in batches if batch.count]:
                    self._outside[outer(number, sign)] = self._machine.united(found)

    # -- what may rest on what was lost ---------------------------------------------------------

    def _delete(self, parts: tuple[Plan, ...]) -> None:
        """Take out of every member what may rest on something that went."""
        for member in self._members.values():
            lost = changed_rows(member.loop, self._seeds(parts, "lost"), At.SINCE)
            self._take(member, self._run(member, lost, self._outside, self._as_before))
            if not member.loop.is_set:
                came = changed_rows(member.loop, self._seeds(parts, "gained"), At.UNTIL)
                self._take(
                    member, self._held(member, self._run(member, came, self._outside, self._as_before))
                )
        # It ends by itself: nothing goes that isn't there.
        while any(self._has_news(member, gone=True) for member in self._members.values()):
            self.iterations += 1
            removed = 0
            for member in self._members.values():
                news = self._news(member, gone=True)
                if news.cuts:
                    plan = changed_rows(member.loop, news.seeds, At.SINCE)
                    found = self._run(member, plan, news.cuts, self._as_before)
                    member.seen.update(news.seen)
                    removed += self._take(member, found)
            self._say(Progress(self.iterations, removed=removed))
        for member in self._members.values():
            member.seen.clear()

    def _take(self, member: _Member[Rows], found: Batch[Rows]) -> int:
        """Note rows as gone, but for those that are already; how many."""
        if found.count and member.gone:
            cuts = {CANDIDATES: found, GONE: self._machine.united(member.gone)}
            few, loop = self._few(cuts), member.loop
            fresh = not_among(loop.rows(CANDIDATES, few=few), loop.rows(GONE, few=few))
            found = self._run(member, fresh, cuts, self._as_before)
        if found.count:
            member.gone.append(found)
        return found.count

    def _held(self, member: _Member[Rows], found: Batch[Rows]) -> Batch[Rows]:
        """Those of some rows that a member held before."""
        if not found.count:
            return found
        cuts = {CANDIDATES: found}
        rows = member.loop.rows(CANDIDATES, few=self._few(cuts))
        return self._run(member, stored_among(member.loop, rows), cuts, self._as_before)

    def _remainder(self, member: _Member[Rows]) -> Rows:
        """What a member held, without what is gone."""
        cuts = {GONE: self._machine.united(member.gone)}
        gone = member.loop.rows(GONE, few=self._few(cuts))
        plan = simplify(except_for(member.loop, gone))
        return self._machine.view(plan, member.loop.columns, self._bind(cuts, self._as_before))

    # -- what can be derived --------------------------------------------------------------------

    def _begin(self, member: _Member[Rows], parts: tuple[Plan, ...]) -> None:
        """One step from what is left: what is gone and can be derived from it, and what is new outside."""
        loop, cuts = member.loop, dict(self._outside)
        found = [touched(loop.plan, self._seeds(parts, "gained"), At.UNTIL)]
        if member.gone:
            cuts[GONE] = self._machine.united(member.gone)
            gone = loop.rows(GONE, few=self._few(cuts))
            found.append(derived_again(loop, gone) if loop.is_set else gone)
        candidates = self._run(member, Distinct(UnionAll(tuple(found))), cuts, self._at_start)
        if not candidates.count:
            return
        self.derived += candidates.count
        rows = loop.rows(CANDIDATES, few=self._few({CANDIDATES: candidates}))
        plan = missing_among(loop, rows) if loop.is_set else derived_again(loop, rows)
        self._add(member, self._run(member, plan, {CANDIDATES: candidates}, self._at_start))

    def _grow(self) -> None:
        """Let every member see what is new in those that it reads, until there is nothing left to see."""
        last = passes = 0
        while any(self._has_news(member) for member in self._members.values()):
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
                if self._has_news(member):
                    last += self._derive(member)
            self._say(Progress(self.iterations, self.derived - derived, last))

    def _derive(self, member: _Member[Rows]) -> int:
        """What follows for one member from what it hasn't seen; how many new rows."""
        loop, news = member.loop, self._news(member)

        def contents(table: str, at: At) -> Rows:
            count = member.seen.get(table, 0) if at is At.SINCE else len(self._members[table].added)
            return self._upto(table, count)

        if loop.is_set:
            candidates = self._run(member, changed_rows(loop, news.seeds, At.UNTIL), news.cuts, contents)
            self.derived += candidates.count
            found = candidates
            if candidates.count:
                rows = loop.rows(CANDIDATES, few=self._few({CANDIDATES: candidates}))
                found = self._run(member, missing_among(loop, rows), {CANDIDATES: candidates}, contents)
        else:
            found = self._run(member, gained(loop, news.seeds), news.cuts, contents)
            self.derived += found.count
        member.seen.update(news.seen)
        return self._add(member, found)

    def _add(self, member: _Member[Rows], found: Batch[Rows]) -> int:
        if found.count:
            member.added.append(found)
        return found.count

    # -- what is new to whom --------------------------------------------------------------------

    def _has_news(self, member: _Member[Rows], *, gone: bool = False) -> bool:
        return any(
            len(self._batches(table, gone=gone)) > member.seen.get(table, 0)
            for table in edges(member.loop.plan, self._recursive)
        )

    def _batches(self, table: str, *, gone: bool) -> list[Batch[Rows]]:
        return self._members[table].gone if gone else self._members[table].added

    def _news(self, member: _Member[Rows], *, gone: bool = False) -> _News[Rows]:
        cuts: dict[str, Batch[Rows]] = {}
        seen: dict[str, int] = {}
        for table in edges(member.loop.plan, self._recursive):
            batches = self._batches(table, gone=gone)
            if fresh := batches[member.seen.get(table, 0) :]:
                cuts[new(table)] = self._machine.united(fresh)
                seen[table] = len(batches)
        seeds = Seeds(self._recursive, members=frozenset(seen), few=self._few(cuts))
        return _News(cuts, seen, seeds)

    def _seeds(self, parts: tuple[Plan, ...], sign: Sign) -> Seeds:
        return Seeds(
            self._recursive,
            parts=parts,
            cuts=frozenset(self._outside),
            sign=sign,
            few=self._few(self._outside),
        )

    # -- running --------------------------------------------------------------------------------

    def _run(
        self, member: _Member[Rows], plan: Plan, cuts: Cuts[Rows], contents: Contents[Rows]
    ) -> Batch[Rows]:
        """Rows of a plan, computed and counted, as they are handed on."""
        plan = simplify(plan)
        if is_empty(plan):
            return Batch(self._machine.nothing(member.loop.table), 0)
        few = self._few(cuts) if cuts else self._few_sources
        try:
            rows = self._machine.view(plan, member.loop.columns, self._bind(cuts, contents))
            return self._machine.keep(rows, few=few)
        except Exception as error:
            raise MemberFailed(member.loop.table, error) from error

    def _bind(self, cuts: Cuts[Rows], contents: Contents[Rows]) -> Bind[Rows]:
        def bound(leaf: Leaf) -> Rows:
            match leaf:
                case Cut(name):
                    return cuts[name].rows
                case Scan(table, _, at) if table in self._recursive:
                    return contents(table, at)
                case _:
                    return self._machine.source(leaf)

        return bound

    def _as_before(self, table: str, at: At) -> Rows:
        return self._old[table]

    def _at_start(self, table: str, at: At) -> Rows:
        return self._members[table].start

    def _upto(self, table: str, count: int) -> Rows:
        """What a member holds with so many of its batches."""
        member = self._members[table]
        if not count:
            return member.start
        if (found := self._known.get((table, count))) is not None:
            return found
        names = member.loop.columns
        cuts = {START: Batch(member.start, 0), ADDED: self._machine.united(member.added[:count])}
        plan = UnionAll((member.loop.rows(START, few=False), member.loop.rows(ADDED, few=False)))
        found = self._machine.view(plan, names, self._bind(cuts, self._at_start))
        # Readers see the same batches, and each looks more than once: but nobody looks back far.
        self._known = {
            key: rows for key, rows in self._known.items() if key[0] != table or key[1] >= count - 1
        }
        self._known[table, count] = found
        return found

    def _few(self, cuts: Cuts[Rows]) -> bool:
        return all(batch.count <= FEW_ROWS for batch in cuts.values())


@dataclass(frozen=True)
class _News(Generic[Rows]):
    """Rows that a member hasn't seen, how far it has seen once it has, and where its change comes from."""

    cuts: Mapping[str, Batch[Rows]]
    seen: Mapping[str, int]
    seeds: Seeds


def columns_of(plan: Plan) -> tuple[str, ...]:
    """The names under which the rows of a part outside are handed on."""
    return tuple(column(place) for place in range(len(plan.names)))
