"""One member of a group: from what it read last to what there is now, staged and not yet visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache

from anabranch.clock import stopwatch
from anabranch.errors import BrokenDefinition, Damaged, SqlError, UnknownTable
from anabranch.ledger import ledger
from anabranch.ledger.history import (
    DIFFERENTIAL,
    FULL,
    NO_DATA,
    REINITIALIZE,
    SKIP,
    SUCCEEDED,
    read_refreshes,
)
from anabranch.ledger.records import Moment, Version
from anabranch.ledger.streams import FuseMemory, StreamTable
from anabranch.names import TableName
from anabranch.refresh.choose import Action, Past, Sizes
from anabranch.refresh.define import Definition
from anabranch.refresh.definitions import Defined
from anabranch.refresh.fixpoint import Progress
from anabranch.refresh.fuse import OFF
from anabranch.refresh.passes import Pass, Seen
from anabranch.refresh.pending import pending_rows, read_last
from anabranch.refresh.plan import Planned, Situation, plan
from anabranch.refresh.recursive import MemberDefinition
from anabranch.refresh.run import fill, refresh
from anabranch.refresh.sources import Sources
from anabranch.refresh.weigh import Weighed, fuse_of, rebuilt_because, weigh
from anabranch.schema import Schema
from anabranch.write.rewrite import RowCounts
from anabranch.write.working import WorkingTable

STREAM, STATE = "stream", "state"
"""Kinds of tables: what people see of a stream table, and what it keeps beside that."""
REMEMBERED = 50
"""Past refreshes that a choice learns from."""


@dataclass(frozen=True)
class Job:
    """A stream table to be brought up to date, and what was asked beyond that."""

    stream: StreamTable
    definition: Defined | None = None
    """The one to use, if it isn't the one that is in force."""
    asked_full: bool = False
    anew: str | None = None
    """Why it must be filled from nothing, into tables of another shape if need be."""

    @property
    def name(self) -> TableName:
        """The stream table's name."""
        return self.stream.name


@dataclass(frozen=True)
class Result:
    """What became of a job: tables with staged contents, and what they were made from."""

    job: Job
    definition: Defined
    planned: Planned
    inputs: Mapping[TableName, Version]
    tables: Mapping[TableName, WorkingTable]
    seen: Seen
    started_at: datetime
    seconds: float = 0.0
    counts: RowCounts = field(default_factory=RowCounts)
    sizes: Sizes = field(default_factory=lambda: Sizes(0, 0, 0))
    replaced: tuple[WorkingTable, ...] = ()
    """Tables whose names the staged ones take, or that are needed no more."""
    iterations: int | None = None
    """Passes that a recursion took."""
    fuse: FuseMemory = field(default_factory=FuseMemory)
    """What its fuse remembers once this is published."""
    notice: str | None = None

    @property
    def table(self) -> WorkingTable:
        """The table that people see."""
        return self.tables[self.job.name]

    @property
    def touched(self) -> bool:
        """Whether a reader will see another version."""
        return self.table.touched


def bring_up(a_pass: Pass, job: Job, staged: Mapping[TableName, WorkingTable], seen: Seen) -> Result:
    """Stage what a stream table's contents become, given what else is staged and what there is to be seen."""
    parts, stream = a_pass.parts, job.stream
    parts.failpoints.hit("refresh.before_member")
    started_at, started = parts.clock.now(), stopwatch()
    until = with_staged(seen.moment, staged)
    definition = job.definition or definition_of(a_pass, stream, until)
    inputs = {name: until.version(name) for name in sorted(definition.tables)}
    tables, replaced, other_shape = tables_of(a_pass, job, definition, seen.moment)
    since = replace(a_pass.moment, versions=read_last(parts, stream, inputs))
    below = {name: table for name, table in staged.items() if name in inputs}
    sources = Sources(parts, since, until, below)
    situation = Situation(
        stream=stream,
        inputs=inputs,
        staged=frozenset(below),
        lost=frozenset(name for name in stream.reads or () if name in inputs and name not in since.versions),
        touched_by=touched_by(a_pass, stream, tables.get(stream.name)),
        asked_full=job.asked_full,
        anew=job.anew or other_shape or rebuilt_because(stream),
    )
    read = sum(version.rows for version in inputs.values())

    @cache
    def sizes() -> Sizes:
        return Sizes(
            sources.rows_changed(sources.changed(frozenset(inputs))), read, tables[stream.name].version.rows
        )

    @cache
    def pending() -> int:
        fused = stream.options.fuse != OFF or stream.fuse.reset is not None
        return pending_rows(sources, inputs) if fused else sizes().rows_changed

    planned = plan(situation, sizes, lambda: _past(a_pass, stream.name))
    weighed = weighed_by_fuse(a_pass, job, planned, pending, reshaped=other_shape is not None)
    planned = weighed.planned
    result = Result(
        job,
        definition,
        planned,
        inputs,
        tables,
        seen,
        started_at,
        replaced=replaced,
        fuse=replace(weighed.fuse, skipped=0) if planned.action in (FULL, REINITIALIZE) else weighed.fuse,
        notice=weighed.notice,
    )
    if planned.action == NO_DATA:
        return result
    if planned.action == SKIP:
        a_pass.say("skipped", stream.name, reason=planned.because)
        return replace(result, sizes=Sizes(weighed.pending, read, tables[stream.name].version.rows))
    a_pass.say("refresh_started", stream.name, action=planned.action, reason=planned.because)
    passes = _Passes(a_pass, stream.name)
    if planned.action == DIFFERENTIAL and isinstance(definition, Definition):
        counts = refresh(parts, definition, tables, since, until, below, passes.say)
        changed = sizes().rows_changed
    else:
        assert not isinstance(definition, MemberDefinition), "a cycle is brought up as one"
        counts = fill(parts, definition, tables, until, below, passes.say)
        changed = 0
    stored = check_count(tables[stream.name], counts)
    parts.failpoints.hit("refresh.after_member")
    seconds = stopwatch() - started
    a_pass.say(
        "refresh_finished", stream.name, inserted=counts.inserted, deleted=counts.deleted, seconds=seconds
    )
    return replace(
        result,
        counts=counts,
        seconds=seconds,
        sizes=Sizes(changed, read, stored),
        iterations=passes.count,
    )


class _Passes:
    """The passes over recursions inside of a query, as they are taken."""

    def __init__(self, a_pass: Pass, name: TableName) -> None:
        self._pass, self._name = a_pass, name
        self.count: int | None = None

    def say(self, progress: Progress) -> None:
        """One more."""
        self.count = (self.count or 0) + 1
        self._pass.say(
            "refresh_iterated",
            self._name,
            iteration=progress.iteration,
            derived=progress.derived,
            added=progress.added,
            removed=progress.removed,
        )


def weighed_by_fuse(
    a_pass: Pass, job: Job, planned: Planned, pending: Callable[[], int], *, reshaped: bool
) -> Weighed:
    """What its fuse lets be done. What is computed from nothing because a person wants it so is not weighed.

    Nor is a first fill, or one into tables of another shape.
    """
    memory = replace(job.stream.fuse, in_a_row=0, reset=None)
    if job.anew is not None:
        return Weighed(planned, replace(memory, batches=()))  # of another query
    if job.asked_full or reshaped or not job.stream.filled:
        return Weighed(planned, memory)
    fuse = fuse_of(job.stream.options, a_pass.parts.settings)
    return weigh(job.stream, planned, pending, fuse, by_hand=a_pass.initiated_by != "scheduler")


def with_staged(moment: Moment, staged: Mapping[TableName, WorkingTable]) -> Moment:
    """The moment of the pass, with the tables that exist only for it so far."""
    return replace(
        moment, versions={**moment.versions, **{name: table.version for name, table in staged.items()}}
    )


def definition_of(
    a_pass: Pass, stream: StreamTable, moment: Moment, members: frozenset[TableName] = frozenset()
) -> Defined:
    """The definition in force; `members` are those of the cycle that it is in."""
    mode = "full" if stream.options.refresh_mode == "full" or stream.refusal is not None else "differential"
    try:
        return a_pass.definitions.get(stream.name, stream.query, mode, moment, members)
    except (SqlError, UnknownTable) as error:
        raise BrokenDefinition(
            f'the query of "{stream.name}" no longer fits what it reads',
            detail=f"{error.message}{'; ' + error.detail if error.detail else ''}",
            hint="mend the table, or give the stream table another query: alter_stream_table(name, query=…).",
        ) from error


def tables_of(
    a_pass: Pass, job: Job, definition: Defined, moment: Moment
) -> tuple[dict[TableName, WorkingTable], tuple[WorkingTable, ...], str | None]:
    """The tables to fill: those that are there if their shape still fits, else new ones in their place."""
    parts, known = a_pass.parts, moment.versions
    tables: dict[TableName, WorkingTable] = {}
    replaced: list[WorkingTable] = []
    for name, schema in definition.schemas.items():
        version = known.get(name)
        if version is not None and version.schema == schema:
            tables[name] = WorkingTable(version, parts.reader)
            continue
        if version is not None:
            _check_shape(job, name, version.schema, schema)
            replaced.append(_dropped(a_pass, version))
        kind = STREAM if name == job.name else STATE
        tables[name] = WorkingTable.create(parts.reader, parts.clock.new_id(), name, kind, schema)
    leftover = [name for name in job.stream.state_tables if name not in tables and name in known]
    replaced += [_dropped(a_pass, known[name]) for name in leftover]
    new = any(table.new is not None for table in tables.values()) or bool(leftover)
    return tables, tuple(replaced), "what it stores has another shape" if new and job.stream.filled else None


def _check_shape(job: Job, name: TableName, stored: Schema, wanted: Schema) -> None:
    if job.anew is None and name == job.name and stored.visible != wanted.visible:
        raise BrokenDefinition(
            f'the query of "{name}" has other columns than are stored',
            detail=f"stored: {stored.visible}; the query gives: {wanted.visible}.",
            hint="take the new columns with alter_stream_table(name, query=…), or mend what it reads.",
        )


def _dropped(a_pass: Pass, version: Version) -> WorkingTable:
    table = WorkingTable(version, a_pass.parts.reader)
    table.dropped = True
    return table


def touched_by(a_pass: Pass, stream: StreamTable, table: WorkingTable | None) -> str | None:
    """Who changed the contents since the last refresh, other than by compacting files."""
    if table is None or table.new is not None or stream.version_lsn in (None, table.version.lsn):
        return None
    with a_pass.parts.catalog.database.reading() as connection:
        lsns = [lsn for lsn, _ in ledger.versions_of(connection, table.version.table_id)]
        commits = [ledger.commit_at(connection, lsn) for lsn in lsns if lsn > (stream.version_lsn or 0)]
    harmless = all(commit is not None and commit.kind == "compact" for commit in commits)
    return None if harmless else "another Iceberg client"


def check_count(table: WorkingTable, counts: RowCounts) -> int:
    """How many rows there are now; they must be those there were, more or less what came and went."""
    before = 0 if table.new is not None else table.version.rows
    after = sum(file.rows for file in table.live().values())
    if after != before + counts.inserted - counts.deleted:
        raise Damaged(
            f'a refresh of "{table.name}" does not add up',
            detail=f"{before} rows, {counts.inserted} came, {counts.deleted} went, and {after} are there.",
        )
    return after


def _past(a_pass: Pass, name: TableName) -> Sequence[Past]:
    with a_pass.parts.catalog.database.reading() as connection:
        entries = read_refreshes(connection, name, REMEMBERED)
    kinds: dict[str, Action] = {FULL: "FULL", REINITIALIZE: "FULL", DIFFERENTIAL: "DIFFERENTIAL"}
    return [
        Past(kinds[entry.action], entry.seconds, entry.rows_changed, entry.rows_read, entry.rows_stored)
        for entry in reversed(entries)
        if entry.status == SUCCEEDED and entry.action in kinds
    ]
