"""One group, one interval, one commit.

The members are brought up in the order in which they read each other, side by side where they don't, each
from the staged results of those before it. Then all are published at once. If one fails, none is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from anabranch.errors import AnabranchError, BrokenDefinition, CommitError, NoFixpoint
from anabranch.graph.cycles import condensed
from anabranch.graph.graph import Graph
from anabranch.ledger.history import (
    DIFFERENTIAL,
    FAILED,
    FULL,
    NO_DATA,
    ROLLED_BACK,
    SUCCEEDED,
    add_refreshes,
    unmoved,
)
from anabranch.ledger.streams import ERROR, SUSPENDED, StreamTable, note_idle, store_fuse, store_trouble
from anabranch.names import TableName
from anabranch.refresh.backoff import retry_delay
from anabranch.refresh.cycle import CycleMemberFailed, bring_up_cycle
from anabranch.refresh.member import Job, Result, bring_up
from anabranch.refresh.parallel import Failed, in_order
from anabranch.refresh.passes import Pass, Seen, noting
from anabranch.refresh.publish import Results, publish
from anabranch.refresh.terms import Terms, View
from anabranch.refresh.weigh import Blown

ONE_LSN = Terms()


class GroupFailed(Exception):
    """A member failed, so nothing of the group was published."""

    def __init__(self, member: TableName, error: Exception) -> None:
        super().__init__(str(member))
        self.member = member
        self.error = error


def stage(a_pass: Pass, jobs: Sequence[Job], see: Callable[[], Seen] | None = None) -> Results:
    """Bring up all members, none of it visible; `Failed` says which one couldn't be.

    `see`: what a member that begins now reads; by default all read what the pass does.
    """
    by_name = {job.name: job for job in jobs}
    whole = condensed(Graph({job.name: frozenset(job.stream.inputs) for job in jobs}))
    needs = {head: whole.graph.inputs[head] & whole.graph.stream_tables for head in whole.graph.stream_tables}
    done: dict[TableName, Result] = {}
    at_once = a_pass.seen

    def work(head: TableName) -> None:
        above = [name for name in whole.whole(needs[head]) if done[name].touched]
        staged = {name: done[name].table for name in above}
        seen = at_once if see is None else see()
        if head in whole.cycles:
            done.update(bring_up_cycle(a_pass, [by_name[name] for name in whole.cycles[head]], staged, seen))
        else:
            done[head] = bring_up(a_pass, by_name[head], staged, seen)

    heads = whole.heads(by_name)
    try:
        in_order(heads, needs, work, a_pass.parts.settings["parallelism"])
    except Failed as failed:
        if isinstance(failed.error, CycleMemberFailed):
            raise Failed(failed.error.member, failed.error.error) from failed.error.error
        raise
    return {name: done[name] for name in by_name}


def refresh_group(
    a_pass: Pass, jobs: Sequence[Job], *, group_id: int | None = None, terms: Terms = ONE_LSN
) -> Results:
    """Refresh the members of one unit and publish them together; what they have to say is in the history.

    A failure is noted there too, and raised as `GroupFailed`; a fuse that stops it is raised as `Blown`.
    """
    with ExitStack() as held:
        return _refreshed(a_pass, jobs, group_id, View(a_pass, terms, held, [job.name for job in jobs]))


def _refreshed(a_pass: Pass, jobs: Sequence[Job], group_id: int | None, view: View) -> Results:
    try:
        results = stage(a_pass, jobs, view)
        if view.late:
            results = {name: _marked(result, view) for name, result in results.items()}
        if all(result.planned.action == NO_DATA for result in results.values()):
            _note_nothing(a_pass, results)
            return results
        lsn = publish(a_pass, results, groups={} if group_id is None else dict.fromkeys(results, group_id))
    except CommitError:
        raise
    except Failed as failed:
        if isinstance(failed.error, CommitError | Blown) or a_pass.is_observers(failed.error):
            raise failed.error from failed.error.__cause__
        culprit = next(job.name for job in jobs if job.name == failed.key)
        note_failure(a_pass, [job.stream for job in jobs], culprit, failed.error, group_id)
        a_pass.say("group_rolled_back", culprit, error=str(failed.error), members=_names(jobs))
        raise GroupFailed(culprit, failed.error) from failed.error
    a_pass.say("group_committed", jobs[-1].name, lsn=lsn, members=_names(jobs))
    return results


def _marked(result: Result, view: View) -> Result:
    mark = f"the snapshot was held for longer than {view.limit}, what came after read what was newest"
    return replace(result, planned=replace(result.planned, because=f"{result.planned.because}; {mark}"))


def _names(jobs: Sequence[Job]) -> tuple[str, ...]:
    return tuple(str(job.name) for job in jobs)


def _note_nothing(a_pass: Pass, results: Results) -> None:
    """Nothing to do: one entry in the history until there is something again."""
    now = a_pass.parts.clock.now()
    fresh = [result for result in results.values() if not result.job.stream.idle]
    entries = [
        replace(
            unmoved(result.job.stream, NO_DATA, SUCCEEDED, result.planned.because, now, a_pass.initiated_by),
            tick_watermark_lsn=a_pass.watermark,
        )
        for result in fresh
    ]
    idle = [
        replace(result.job.stream, idle=True, last_refresh_at=now, held=None, fuse=result.fuse)
        for result in results.values()
    ]
    with noting(a_pass.parts, a_pass.fence) as connection:
        note_idle(connection, [result.job.stream for result in results.values()], now)
        for result, stream in zip(results.values(), idle, strict=True):
            if stream.fuse != result.job.stream.fuse:
                store_fuse(connection, stream)
        add_refreshes(connection, entries)
    a_pass.know(idle)


def note_failure(
    a_pass: Pass,
    members: Sequence[StreamTable],
    culprit: TableName,
    error: Exception,
    group_id: int | None,
) -> None:
    """Write down that a refresh failed, and when to try again. Only what was scheduled counts."""
    parts = a_pass.parts
    parts.failpoints.hit("refresh.before_failure")
    now = parts.clock.now()
    code = error.code if isinstance(error, AnabranchError) else AnabranchError.code
    text = str(error) if isinstance(error, AnabranchError) else f"{type(error).__name__}: {error}"
    entries, streams = [], []
    circle = next((stream.scc_id for stream in members if stream.name == culprit), None)
    for stream in members:
        failed = stream.name == culprit
        if isinstance(error, NoFixpoint) and circle is not None:
            failed |= stream.scc_id == circle  # it is nobody's fault but all of theirs
        action = FULL if stream.options.refresh_mode == "full" or stream.refusal else DIFFERENTIAL
        reason = text.partition("\n")[0] if failed else f'"{culprit}" failed, which it is published with'
        entry = unmoved(stream, action, FAILED if failed else ROLLED_BACK, reason, now, a_pass.initiated_by)
        entries.append(
            replace(
                entry,
                tick_watermark_lsn=a_pass.watermark,
                group_id=group_id,
                error_code=code if failed else None,
                error=text if failed else None,
            )
        )
        if failed:
            streams.append(_troubled(a_pass, stream, error, code, text))
    with noting(parts, a_pass.fence) as connection:
        for stream in streams:
            store_trouble(connection, stream)
        add_refreshes(connection, entries)
    a_pass.know(streams)
    parts.failpoints.hit("refresh.after_failure")


def _troubled(a_pass: Pass, stream: StreamTable, error: Exception, code: str, text: str) -> StreamTable:
    stream = replace(stream, error_code=code, error=text, held=None, idle=False)
    if isinstance(error, BrokenDefinition | NoFixpoint):
        return replace(stream, status=ERROR, status_reason=error.message)
    if a_pass.initiated_by != "scheduler":
        return stream
    failures = stream.failures + 1
    first, cap = a_pass.parts.settings["retry_backoff"], a_pass.parts.settings["retry_backoff_cap"]
    stream = replace(
        stream,
        failures=failures,
        retry_at=a_pass.parts.clock.now() + retry_delay(failures, first=first, cap=cap),
    )
    if failures >= a_pass.parts.settings["max_consecutive_failures"]:
        reason = f"it failed {failures} times in a row: {text.partition(chr(10))[0]}"
        stream = replace(stream, status=SUSPENDED, status_reason=reason)
    return stream
