"""Which stream tables are filled or refreshed when many definitions change, so that what is published fits.

Redefined stream tables are rebuilt with all that moves with them, over an upstream that is refreshed first,
so that nothing goes back in time. New ones are filled unless something that they need isn't ready.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.errors import Notice, RefreshHeld
from anabranch.lifecycle.create import unfilled_dependency_reason, unready_unit_reasons, warn_of_deferred_fill
from anabranch.lifecycle.definition_changes import DefinitionChanges
from anabranch.lifecycle.target_streams import MODE, TargetStreams
from anabranch.names import TableName
from anabranch.refresh.refresh_member import Job
from anabranch.refresh.run_context import RefreshRun
from anabranch.streams.hold_reasons import hold_reason
from anabranch.streams.stream_graph import commit_members, units_of
from anabranch.streams.stream_table import StreamTable


@dataclass(frozen=True)
class JobSelection:
    """The jobs to run, in order; those of new stream tables, filled or not; which of them wait, for what."""

    jobs: tuple[Job, ...]
    created: tuple[Job, ...]
    waiting: Mapping[TableName, str]
    put_off: frozenset[TableName]


def select_jobs(refresh_run: RefreshRun, plan: TargetStreams, changes: DefinitionChanges) -> JobSelection:
    """The jobs to stage."""
    waiting = unready_unit_reasons(refresh_run, plan.after)
    later = frozenset(new.name for new in changes.created if not new.initialize)
    fresh = plan.created - later
    stale = _stale_upstream(refresh_run, plan)
    chosen: dict[TableName, Job] = {}
    for members in _publication_units(refresh_run, plan):
        if not plan.redefined.keys().isdisjoint(members):
            _check_not_held(refresh_run, plan, members)
            _warn_of_unready_sources(members, waiting)
        elif not fresh.isdisjoint(members):
            why = (
                waiting.get(members[0])
                or unfilled_dependency_reason(members, later, chosen, plan.graph, plan.after)
                or _hold_reason(refresh_run, plan, members)
            )
            if why is not None:
                warn_of_deferred_fill([name for name in members if name in fresh], why)
                continue
        elif stale.isdisjoint(members) or _hold_reason(refresh_run, plan, members) is not None:
            continue
        for name in members:
            if (
                name in fresh
                or name in plan.redefined
                or (name not in plan.created and _can_refresh_along(plan, name))
            ):
                chosen[name] = _job(refresh_run, plan, name)
    _check_inputs_filled(plan, chosen)
    return JobSelection(
        tuple(chosen[name] for name in plan.graph.order() if name in chosen),
        tuple(_job(refresh_run, plan, name) for name in plan.graph.order() if name in plan.created),
        {name: why for name, why in waiting.items() if name not in chosen},
        frozenset(name for name in fresh if name in waiting),
    )


def _publication_units(refresh_run: RefreshRun, plan: TargetStreams) -> list[tuple[TableName, ...]]:
    """What is published as one: what writers maintain, each with what follows it at once, then the units."""
    settings = refresh_run.context.settings
    at_once = [name for name in plan.graph.order() if plan.after[name].is_immediate]
    found: list[tuple[TableName, ...]] = [(name,) for name in at_once if name in plan.created]
    found += [commit_members(plan.after, name, settings) for name in at_once if name in plan.redefined]
    return [*found, *(unit.members for unit in units_of(plan.after, settings))]


def _stale_upstream(refresh_run: RefreshRun, plan: TargetStreams) -> frozenset[TableName]:
    """Stream tables above redefined ones that are behind what they read."""
    above = {table for name in plan.redefined for table in plan.graph.upstream(name)}
    stale: set[TableName] = set()
    for name in plan.graph.order():
        stream = refresh_run.streams.get(name)
        if stream is None or stream.is_immediate or name not in above:
            continue
        if _is_behind(refresh_run, stream) or not stale.isdisjoint(stream.inputs):
            stale.add(name)
    return frozenset(stale)


def _is_behind(refresh_run: RefreshRun, stream: StreamTable) -> bool:
    if stream.reads is None:
        return True
    versions = refresh_run.lake_version.versions
    return any(
        (found := versions.get(name)) is None or (found.table_id, found.lsn) != (read.table_id, read.lsn)
        for name, read in stream.reads.items()
    )


def _can_refresh_along(plan: TargetStreams, name: TableName) -> bool:
    """Whether an existing one can be refreshed along with others: a first fill has its own time."""
    return plan.after[name].has_contents or not plan.redefined.keys().isdisjoint(plan.graph.downstream(name))


def _job(refresh_run: RefreshRun, plan: TargetStreams, name: TableName) -> Job:
    stream, definition = plan.after[name], plan.defined.get(name)
    if name in plan.redefined:
        why = plan.redefined[name]
        # Its hidden state so far is found by the old names.
        stream = replace(stream, state_tables=refresh_run.streams[name].state_tables)
        return Job(stream, definition, anew=None if why == MODE else why)
    return Job(stream, definition)


def _hold_reason(refresh_run: RefreshRun, plan: TargetStreams, members: Sequence[TableName]) -> str | None:
    now = refresh_run.context.clock.now()
    for name in members:
        if name in plan.created or name in plan.redefined:
            continue
        if (why := hold_reason(plan.after[name], now)) is not None:
            return f'"{name}" {why}'
    return None


def _check_not_held(refresh_run: RefreshRun, plan: TargetStreams, members: Sequence[TableName]) -> None:
    if (why := _hold_reason(refresh_run, plan, members)) is not None:
        name = next(name for name in members if name in plan.redefined)
        raise RefreshHeld(
            f'"{name}" can\'t be altered now: what it is published with is held',
            detail=f"{why}.",
            hint="resume it first.",
        )


def _check_inputs_filled(plan: TargetStreams, chosen: Mapping[TableName, Job]) -> None:
    for name in chosen:
        for read in sorted(plan.graph.inputs[name]):
            known = plan.after.get(read)
            if name in plan.redefined and known is not None and not known.has_contents and read not in chosen:
                raise RefreshHeld(
                    f'"{name}" can\'t read "{read}" yet, which is not filled',
                    hint=f'refresh_stream_table("{read}") fills it.',
                )


def _warn_of_unready_sources(members: Sequence[TableName], waiting: Mapping[TableName, str]) -> None:
    """Warn that an alteration doesn't wait for sources that aren't ready, as a refresh by hand doesn't."""
    if (why := waiting.get(members[0])) is not None:
        warnings.warn(Notice(f'"{members[-1]}" is filled at once, although {why}'), stacklevel=6)
