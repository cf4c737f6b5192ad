"""Refreshes one member of a group, from the versions it read last to the newest; staged, not yet visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache

from anabranch.clock import read_stopwatch
from anabranch.errors import BrokenDefinition, Damaged, SqlError, UnknownTable
from anabranch.ledger import ledger
from anabranch.ledger.history import DIFFERENTIAL, FULL, NO_DATA, REINITIALIZE, SKIP
from anabranch.names import TableName
from anabranch.refresh.choose import Sizes
from anabranch.refresh.choose_action import ActionChooser, FullIsCheaper
from anabranch.refresh.define import Definition, FullDefinition
from anabranch.refresh.definition_cache import Defined
from anabranch.refresh.execute import go_on, run_differential_refresh, run_full_refresh
from anabranch.refresh.fixpoint import Progress
from anabranch.refresh.fuse_decision import FuseDecision, decide_by_fuse, fuse_of, rebuild_reason
from anabranch.refresh.inputs import Sources
from anabranch.refresh.pending_changes import count_pending_rows, load_last_read_versions
from anabranch.refresh.plan import PlannedAction, Situation, plan_refresh
from anabranch.refresh.run_context import RefreshRun
from anabranch.schema import Schema
from anabranch.streams.fuse import OFF
from anabranch.streams.state import State
from anabranch.streams.stream_table import FuseMemory, StreamTable
from anabranch.streams.versions import STATE, STREAM, LakeVersion, TableVersion
from anabranch.write.row_level_writes import RowCounts
from anabranch.write.working_table import WorkingTable


@dataclass(frozen=True)
class Job:
    """A stream table to be refreshed, and what else was asked for."""

    stream: StreamTable
    definition: Defined | None = None
    """The one to use, if it isn't the one that is in force."""
    asked_full: bool = False
    anew: str | None = None
    """Why it must be reinitialised, into tables of another schema if need be."""

    @property
    def name(self) -> TableName:
        """The stream table's name."""
        return self.stream.name


@dataclass(frozen=True)
class Result:
    """The result of a job: tables with staged contents, and the inputs they were computed from."""

    job: Job
    definition: Defined
    planned: PlannedAction
    inputs: Mapping[TableName, TableVersion]
    tables: Mapping[TableName, WorkingTable]
    seen: State
    started_at: datetime
    seconds: float = 0.0
    counts: RowCounts = field(default_factory=RowCounts)
    sizes: Sizes = field(default_factory=lambda: Sizes(0, 0, 0))
    replaced: tuple[WorkingTable, ...] = ()
    """Tables whose names the staged ones take, or that are needed no more."""
    estimated_seconds: float | None = None
    """What it was expected to take, by sizes alone, if anything is to be learned from what it took."""
    iterations: int | None = None
    """Iterations that a recursion took."""
    fuse: FuseMemory = field(default_factory=FuseMemory)
    """What its fuse remembers once this is published."""
    notice: str | None = None

    @property
    def table(self) -> WorkingTable:
        """The table that people see."""
        return self.tables[self.job.name]

    @property
    def is_modified(self) -> bool:
        """Whether a reader will see another version."""
        return self.table.is_modified


def refresh_member(
    refresh_run: RefreshRun, job: Job, staged: Mapping[TableName, WorkingTable], seen: State
) -> Result:
    """Stage the new contents of a stream table, given what else is staged and the state to read."""
    context, stream = refresh_run.context, job.stream
    context.failpoints.hit("refresh.before_member")
    started_at, started = context.clock.now(), read_stopwatch()
    until = with_staged_tables(seen.lake_version, staged)
    definition = job.definition or get_definition(refresh_run, stream, until)
    inputs = {name: until.version(name) for name in sorted(definition.tables)}
    tables, replaced, other_shape = prepare_tables(refresh_run, job, definition, seen.lake_version)
    since = replace(refresh_run.lake_version, versions=load_last_read_versions(context, stream, inputs))
    below = {name: table for name, table in staged.items() if name in inputs}
    sources = Sources(context, since, until, below)
    situation = Situation(
        stream=stream,
        inputs=inputs,
        staged=frozenset(below),
        lost=frozenset(name for name in stream.reads or () if name in inputs and name not in since.versions),
        touched_by=find_foreign_writer(refresh_run, stream, tables.get(stream.name)),
        asked_full=job.asked_full,
        anew=job.anew or other_shape or rebuild_reason(stream),
    )
    read = sum(version.rows for version in inputs.values())

    @cache
    def measure_sizes() -> Sizes:
        return Sizes(
            sources.count_changed_rows(sources.changed_tables(frozenset(inputs))),
            read,
            tables[stream.name].version.rows,
        )

    @cache
    def count_pending() -> int:
        fused = stream.options.fuse != OFF or stream.fuse.reset is not None
        return count_pending_rows(sources, inputs) if fused else measure_sizes().rows_changed

    chooser = None
    if isinstance(definition, Definition) and stream.options.refresh_mode == "auto":
        chooser = ActionChooser(context, definition, tables, since, until, below, measure_sizes)
    planned = plan_refresh(situation, None if chooser is None else chooser.choose)
    weighed = apply_fuse(refresh_run, job, planned, count_pending, reshaped=other_shape is not None)
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
        refresh_run.notify_observers("skipped", stream.name, reason=planned.because)
        return replace(result, sizes=Sizes(weighed.pending, read, tables[stream.name].version.rows))
    refresh_run.notify_observers(
        "refresh_started", stream.name, action=planned.action, reason=planned.because
    )
    passes = _IterationCounter(refresh_run, stream.name)
    estimated = None if chooser is None else chooser.estimate_before(planned.action)
    ask_again = go_on if chooser is None else chooser.choose_again

    def compute(action: str) -> RowCounts:
        say = passes.report_progress
        if action == DIFFERENTIAL and isinstance(definition, Definition):
            return run_differential_refresh(context, definition, tables, since, until, below, say, ask_again)
        assert isinstance(definition, Definition | FullDefinition), "a cycle is brought up as one"
        return run_full_refresh(context, definition, tables, until, below, say)

    try:
        counts = compute(planned.action)
    except FullIsCheaper as found:
        planned = PlannedAction(FULL, found.because)
        # Its hidden state may have been changed already, in tables that nobody has seen.
        tables, replaced, _ = prepare_tables(refresh_run, job, definition, seen.lake_version)
        fuse = replace(result.fuse, skipped=0)
        result = replace(result, planned=planned, tables=tables, replaced=replaced, fuse=fuse)
        counts = compute(FULL)
    changed = measure_sizes().rows_changed if planned.action == DIFFERENTIAL else 0
    stored = check_row_count(tables[stream.name], counts)
    context.failpoints.hit("refresh.after_member")
    seconds = read_stopwatch() - started
    if chooser is not None:
        estimated = chooser.estimate_to_learn_from(estimated, planned.action)
    refresh_run.notify_observers(
        "refresh_finished", stream.name, inserted=counts.inserted, deleted=counts.deleted, seconds=seconds
    )
    return replace(
        result,
        counts=counts,
        seconds=seconds,
        sizes=Sizes(changed, read, stored),
        estimated_seconds=estimated,
        iterations=passes.count,
    )


class _IterationCounter:
    """Counts the iterations of recursions inside of a query."""

    def __init__(self, refresh_run: RefreshRun, name: TableName) -> None:
        self._refresh_run, self._name = refresh_run, name
        self.count: int | None = None

    def report_progress(self, progress: Progress) -> None:
        """Count one more, and tell the observers."""
        self.count = (self.count or 0) + 1
        self._refresh_run.notify_observers(
            "refresh_iterated",
            self._name,
            iteration=progress.iteration,
            derived=progress.derived,
            added=progress.added,
            removed=progress.removed,
        )


def apply_fuse(
    refresh_run: RefreshRun, job: Job, planned: PlannedAction, pending: Callable[[], int], *, reshaped: bool
) -> FuseDecision:
    """What its fuse allows. It doesn't judge full refreshes that a person asked for.

    Nor first fills, or those into tables of another schema.
    """
    memory = replace(job.stream.fuse, in_a_row=0, reset=None)
    if job.anew is not None:
        return FuseDecision(planned, replace(memory, batches=()))  # those were of another query
    if job.asked_full or reshaped or not job.stream.has_contents:
        return FuseDecision(planned, memory)
    fuse = fuse_of(job.stream.options, refresh_run.context.settings)
    return decide_by_fuse(job.stream, planned, pending, fuse, by_hand=refresh_run.initiated_by != "scheduler")


def with_staged_tables(lake_version: LakeVersion, staged: Mapping[TableName, WorkingTable]) -> LakeVersion:
    """The lake version of the refresh run, with the tables that exist only in it so far."""
    return replace(
        lake_version,
        versions={**lake_version.versions, **{name: table.version for name, table in staged.items()}},
    )


def get_definition(
    refresh_run: RefreshRun,
    stream: StreamTable,
    lake_version: LakeVersion,
    members: frozenset[TableName] = frozenset(),
) -> Defined:
    """The definition in force; `members` are those of the cycle that it is in."""
    mode = "full" if stream.options.refresh_mode == "full" or stream.refusal is not None else "differential"
    try:
        return refresh_run.definitions.get(stream.name, stream.query, mode, lake_version, members)
    except (SqlError, UnknownTable) as error:
        raise BrokenDefinition(
            f'the query of "{stream.name}" no longer fits what it reads',
            detail=f"{error.message}{'; ' + error.detail if error.detail else ''}",
            hint="mend the table, or give the stream table another query: alter_stream_table(name, query=…).",
        ) from error


def prepare_tables(
    refresh_run: RefreshRun, job: Job, definition: Defined, lake_version: LakeVersion
) -> tuple[dict[TableName, WorkingTable], tuple[WorkingTable, ...], str | None]:
    """The tables to write to: the stored ones if their schema still fits, else new ones in their place."""
    context, known = refresh_run.context, lake_version.versions
    tables: dict[TableName, WorkingTable] = {}
    replaced: list[WorkingTable] = []
    for name, schema in definition.schemas.items():
        version = known.get(name)
        if version is not None and version.schema == schema:
            tables[name] = WorkingTable(version, context.reader)
            continue
        if version is not None:
            _check_shape(job, name, version.schema, schema)
            replaced.append(_dropped_table(refresh_run, version))
        kind = STREAM if name == job.name else STATE
        tables[name] = WorkingTable.create(context.reader, context.clock.new_id(), name, kind, schema)
    leftover = [name for name in job.stream.state_tables if name not in tables and name in known]
    replaced += [_dropped_table(refresh_run, known[name]) for name in leftover]
    new = any(table.new is not None for table in tables.values()) or bool(leftover)
    return (
        tables,
        tuple(replaced),
        "what it stores has another shape" if new and job.stream.has_contents else None,
    )


def _check_shape(job: Job, name: TableName, stored: Schema, wanted: Schema) -> None:
    if job.anew is None and name == job.name and stored.visible != wanted.visible:
        raise BrokenDefinition(
            f'the query of "{name}" has other columns than are stored',
            detail=f"stored: {stored.visible}; the query gives: {wanted.visible}.",
            hint="take the new columns with alter_stream_table(name, query=…), or mend what it reads.",
        )


def _dropped_table(refresh_run: RefreshRun, version: TableVersion) -> WorkingTable:
    table = WorkingTable(version, refresh_run.context.reader)
    table.dropped = True
    return table


def find_foreign_writer(
    refresh_run: RefreshRun, stream: StreamTable, table: WorkingTable | None
) -> str | None:
    """Who changed the contents since the last refresh, other than by compacting files."""
    if table is None or table.new is not None or stream.version_lsn in (None, table.version.lsn):
        return None
    with refresh_run.context.catalog.database.begin_read() as connection:
        lsns = [lsn for lsn, _ in ledger.read_versions(connection, table.version.table_id)]
        commits = [ledger.read_commit(connection, lsn) for lsn in lsns if lsn > (stream.version_lsn or 0)]
    harmless = all(commit is not None and commit.kind == "compact" for commit in commits)
    return None if harmless else "another Iceberg client"


def check_row_count(table: WorkingTable, counts: RowCounts) -> int:
    """How many rows there are now; they must be those before plus the inserted minus the deleted ones."""
    before = 0 if table.new is not None else table.version.rows
    after = sum(file.rows for file in table.live_files().values())
    if after != before + counts.inserted - counts.deleted:
        raise Damaged(
            f'a refresh of "{table.name}" does not add up',
            detail=f"{before} rows, {counts.inserted} came, {counts.deleted} went, and {after} are there.",
        )
    return after
