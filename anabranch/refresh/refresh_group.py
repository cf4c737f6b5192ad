"""One group, one interval, one commit.

The members are refreshed in the order in which they read each other, in parallel where they don't, each from
the staged results of those before it. Then all are published at once. If one fails, none is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from anabranch.errors import AnabranchError, BrokenDefinition, CommitError, NoFixpoint
from anabranch.ledger.history import (
    DIFFERENTIAL,
    FAILED,
    FULL,
    NO_DATA,
    ROLLED_BACK,
    SUCCEEDED,
    add_refreshes,
    no_progress_entry,
)
from anabranch.ledger.stream_tables import store_failure, store_fuse, store_idle
from anabranch.names import TableName
from anabranch.refresh.fuse_decision import Blown
from anabranch.refresh.isolation import Isolation, StateReader
from anabranch.refresh.parallel_jobs import Failed, run_in_order
from anabranch.refresh.publish import Results, publish
from anabranch.refresh.refresh_cycle import CycleMemberFailed, refresh_cycle
from anabranch.refresh.refresh_member import Job, Result, refresh_member
from anabranch.refresh.run_context import RefreshRun, open_fenced_transaction
from anabranch.streams.backoff import retry_delay
from anabranch.streams.cycles import condense_cycles
from anabranch.streams.graph import Graph
from anabranch.streams.state import State
from anabranch.streams.stream_table import ERROR, SUSPENDED, StreamTable

ONE_LSN = Isolation()


class GroupFailed(Exception):
    """A member failed, so nothing of the group was published."""

    def __init__(self, member: TableName, error: Exception) -> None:
        super().__init__(str(member))
        self.member = member
        self.error = error


def stage_members(
    refresh_run: RefreshRun, jobs: Sequence[Job], see: Callable[[], State] | None = None
) -> Results:
    """Refresh all members without publishing; `Failed` says which one failed.

    `see`: what a member that begins now reads; by default all read the state of the refresh run.
    """
    by_name = {job.name: job for job in jobs}
    whole = condense_cycles(Graph({job.name: frozenset(job.stream.inputs) for job in jobs}))
    needs = {head: whole.graph.inputs[head] & whole.graph.stream_tables for head in whole.graph.stream_tables}
    done: dict[TableName, Result] = {}
    at_once = refresh_run.current_state

    def stage_head(head: TableName) -> None:
        above = [name for name in whole.expand(needs[head]) if done[name].is_modified]
        staged = {name: done[name].table for name in above}
        seen = at_once if see is None else see()
        if head in whole.cycles:
            done.update(
                refresh_cycle(refresh_run, [by_name[name] for name in whole.cycles[head]], staged, seen)
            )
        else:
            done[head] = refresh_member(refresh_run, by_name[head], staged, seen)

    heads = whole.representatives(by_name)
    try:
        run_in_order(heads, needs, stage_head, refresh_run.context.settings["parallelism"])
    except Failed as failed:
        if isinstance(failed.error, CycleMemberFailed):
            raise Failed(failed.error.member, failed.error.error) from failed.error.error
        raise
    return {name: done[name] for name in by_name}


def refresh_group(
    refresh_run: RefreshRun, jobs: Sequence[Job], *, group_id: int | None = None, terms: Isolation = ONE_LSN
) -> Results:
    """Refresh the members of one unit and publish them together, with their entries in the history.

    A failure is entered there too, and raised as `GroupFailed`; a fuse that stops it is raised as `Blown`.
    """
    with ExitStack() as held:
        return _stage_and_publish(
            refresh_run, jobs, group_id, StateReader(refresh_run, terms, held, [job.name for job in jobs])
        )


def _stage_and_publish(
    refresh_run: RefreshRun, jobs: Sequence[Job], group_id: int | None, view: StateReader
) -> Results:
    try:
        results = stage_members(refresh_run, jobs, view)
        if view.late:
            results = {name: _with_timeout_reason(result, view) for name, result in results.items()}
        if all(result.planned.action == NO_DATA for result in results.values()):
            _note_no_data(refresh_run, results)
            return results
        lsn = publish(
            refresh_run, results, groups={} if group_id is None else dict.fromkeys(results, group_id)
        )
    except CommitError:
        raise
    except Failed as failed:
        if isinstance(failed.error, CommitError | Blown) or refresh_run.is_observer_error(failed.error):
            raise failed.error from failed.error.__cause__
        culprit = next(job.name for job in jobs if job.name == failed.key)
        note_failure(refresh_run, [job.stream for job in jobs], culprit, failed.error, group_id)
        refresh_run.notify_observers(
            "group_rolled_back", culprit, error=str(failed.error), members=_names(jobs)
        )
        raise GroupFailed(culprit, failed.error) from failed.error
    refresh_run.notify_observers("group_committed", jobs[-1].name, lsn=lsn, members=_names(jobs))
    return results


def _with_timeout_reason(result: Result, view: StateReader) -> Result:
    mark = f"the snapshot was held for longer than {view.timeout_text}, what came after read what was newest"
    return replace(result, planned=replace(result.planned, because=f"{result.planned.because}; {mark}"))


def _names(jobs: Sequence[Job]) -> tuple[str, ...]:
    return tuple(str(job.name) for job in jobs)


def _note_no_data(refresh_run: RefreshRun, results: Results) -> None:
    """Note that there was nothing to do: one entry in the history until there is something again."""
    now = refresh_run.context.clock.now()
    fresh = [result for result in results.values() if not result.job.stream.idle]
    entries = [
        replace(
            no_progress_entry(
                result.job.stream, NO_DATA, SUCCEEDED, result.planned.because, now, refresh_run.initiated_by
            ),
            tick_watermark_lsn=refresh_run.watermark,
        )
        for result in fresh
    ]
    idle = [
        replace(result.job.stream, idle=True, last_refresh_at=now, held=None, fuse=result.fuse)
        for result in results.values()
    ]
    with open_fenced_transaction(refresh_run.context, refresh_run.fence) as connection:
        store_idle(connection, [result.job.stream for result in results.values()], now)
        for result, stream in zip(results.values(), idle, strict=True):
            if stream.fuse != result.job.stream.fuse:
                store_fuse(connection, stream)
        add_refreshes(connection, entries)
    refresh_run.update_streams(idle)


def note_failure(
    refresh_run: RefreshRun,
    members: Sequence[StreamTable],
    culprit: TableName,
    error: Exception,
    group_id: int | None,
) -> None:
    """Record that a refresh failed, and when to try again. Only scheduled refreshes count."""
    context = refresh_run.context
    context.failpoints.hit("refresh.before_failure")
    now = context.clock.now()
    code = error.code if isinstance(error, AnabranchError) else AnabranchError.code
    text = str(error) if isinstance(error, AnabranchError) else f"{type(error).__name__}: {error}"
    entries, streams = [], []
    circle = next((stream.scc_id for stream in members if stream.name == culprit), None)
    for stream in members:
        failed = stream.name == culprit
        if isinstance(error, NoFixpoint) and circle is not None:
            failed |= stream.scc_id == circle  # a cycle fails as a whole
        action = FULL if stream.options.refresh_mode == "full" or stream.refusal else DIFFERENTIAL
        reason = text.partition("\n")[0] if failed else f'"{culprit}" failed, which it is published with'
        entry = no_progress_entry(
            stream, action, FAILED if failed else ROLLED_BACK, reason, now, refresh_run.initiated_by
        )
        entries.append(
            replace(
                entry,
                tick_watermark_lsn=refresh_run.watermark,
                group_id=group_id,
                error_code=code if failed else None,
                error=text if failed else None,
            )
        )
        if failed:
            streams.append(_stream_after_failure(refresh_run, stream, error, code, text))
    with open_fenced_transaction(context, refresh_run.fence) as connection:
        for stream in streams:
            store_failure(connection, stream)
        add_refreshes(connection, entries)
    refresh_run.update_streams(streams)
    context.failpoints.hit("refresh.after_failure")


def _stream_after_failure(
    refresh_run: RefreshRun, stream: StreamTable, error: Exception, code: str, text: str
) -> StreamTable:
    stream = replace(stream, error_code=code, error=text, held=None, idle=False)
    if isinstance(error, BrokenDefinition | NoFixpoint):
        return replace(stream, status=ERROR, status_reason=error.message)
    if refresh_run.initiated_by != "scheduler":
        return stream
    failures = stream.failures + 1
    first, cap = (
        refresh_run.context.settings["retry_backoff"],
        refresh_run.context.settings["retry_backoff_cap"],
    )
    stream = replace(
        stream,
        failures=failures,
        retry_at=refresh_run.context.clock.now() + retry_delay(failures, first=first, cap=cap),
    )
    if failures >= refresh_run.context.settings["max_consecutive_failures"]:
        reason = f"it failed {failures} times in a row: {text.partition(chr(10))[0]}"
        stream = replace(stream, status=SUSPENDED, status_reason=reason)
    return stream
