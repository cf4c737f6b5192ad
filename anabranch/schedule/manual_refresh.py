"""Refreshing by hand: what is stale upstream first, as the same groups, from one pinned lsn."""

from __future__ import annotations

import warnings

from anabranch.errors import AnabranchError, EngineFailed, Notice, RefreshHeld, WriteConflict
from anabranch.events import Observer, ignore_event
from anabranch.names import TableName
from anabranch.refresh.definition_cache import DefinitionCache
from anabranch.refresh.refresh_group import GroupFailed, refresh_group
from anabranch.refresh.refresh_member import Job
from anabranch.refresh.run_context import RefreshRun, pin_lake_version
from anabranch.streams.arguments import check_flag, find_stream
from anabranch.streams.hold_reasons import hold_reason, unreadable_reason
from anabranch.streams.refresh_units import RefreshUnit
from anabranch.streams.stream_graph import Streams, commit_members, graph_of, units_of
from anabranch.streams.stream_table import ERROR, SUSPENDED

TRIES = 5
STACK = 4


def refresh_stream_table(
    definitions: DefinitionCache,
    name: str,
    *,
    full: bool = False,
    upstream: bool = True,
    observer: Observer = ignore_event,
) -> None:
    """Refresh a stream table, and with it what it is published with."""
    check_flag("full", full)
    check_flag("upstream", upstream)
    for attempt in range(TRIES):
        try:
            _refresh(definitions, name, full, upstream, observer)
            return
        except WriteConflict:
            # A scheduler was faster; the newest lsn shows what is left to do.
            if attempt == TRIES - 1:
                raise


def _refresh(definitions: DefinitionCache, name: str, full: bool, upstream: bool, observer: Observer) -> None:
    context = definitions.context
    with pin_lake_version(context) as (lake_version, streams):
        refresh_run = RefreshRun(context, definitions, lake_version, streams, "manual", observer=observer)
        target = find_stream(streams, name).name
        if streams[target].is_immediate:
            _refresh_immediate(refresh_run, target, full)
            return
        graph = graph_of(streams.values())
        units = units_of(streams, context.settings)
        own = next(unit for unit in units if target in unit.members)
        above = frozenset(other for member in own.members for other in graph.upstream(member))
        for unit in units:
            if unit is own:
                _check_not_held(unit, refresh_run)
                _refresh_unit(refresh_run, unit, target if full else None)
            elif upstream and above.intersection(unit.members):
                if (why := _hold_reason(unit, refresh_run.streams, refresh_run)) is not None:
                    text = f'"{unit.members[-1]}" is read as it is, not refreshed: {why}'
                    warnings.warn(Notice(text), stacklevel=STACK + 1)
                else:
                    _refresh_unit(refresh_run, unit, None)


def _refresh_immediate(refresh_run: RefreshRun, target: TableName, full: bool) -> None:
    """An immediate stream table is up to date, unless it was suspended or somebody wrote past the lake."""
    unit = RefreshUnit(0, commit_members(refresh_run.streams, target, refresh_run.context.settings), None, ())
    _check_not_held(unit, refresh_run)
    _refresh_unit(refresh_run, unit, target if full else None)


def _warn_of_unready_sources(refresh_run: RefreshRun, unit: RefreshUnit) -> None:
    """Warn that a refresh by hand doesn't wait for sources that aren't ready."""
    for name in unit.members:
        if (why := refresh_run.waiting_reasons.get(name)) is not None:
            text = f'"{unit.members[-1]}" is refreshed by hand, although "{name}" {why}'
            warnings.warn(Notice(text), stacklevel=STACK + 2)
            return


def _refresh_unit(refresh_run: RefreshRun, unit: RefreshUnit, full: TableName | None) -> None:
    _warn_of_unready_sources(refresh_run, unit)
    jobs = [Job(refresh_run.streams[name], asked_full=name == full) for name in unit.members]
    group_id = jobs[0].stream.group_id if unit.atomic and unit.group is not None else None
    try:
        results = refresh_group(refresh_run, jobs, group_id=group_id)
    except GroupFailed as failed:
        if isinstance(failed.error, AnabranchError):
            raise failed.error from None
        raise EngineFailed(
            f'the refresh of "{failed.member}" failed',
            detail=f"{type(failed.error).__name__}: {failed.error}",
        ) from failed.error
    for result in results.values():
        if result.notice is not None:
            warnings.warn(Notice(result.notice), stacklevel=STACK + 1)


def _check_not_held(unit: RefreshUnit, refresh_run: RefreshRun) -> None:
    why = _hold_reason(unit, refresh_run.streams, refresh_run)
    if why is not None:
        raise RefreshHeld(
            f'"{unit.members[-1]}" can\'t be refreshed now',
            detail=f"{why}.",
            hint=_hint(unit, refresh_run),
        )


def _hint(unit: RefreshUnit, refresh_run: RefreshRun) -> str:
    for name in unit.members:
        if refresh_run.streams[name].fuse.blown_at is not None:
            return f'reset_fuse("{name}", …) first: it decides what becomes of the changes.'
    return "resume_stream_table(name) first."


def _hold_reason(unit: RefreshUnit, streams: Streams, refresh_run: RefreshRun) -> str | None:
    """Why a unit can't be refreshed by hand: a suspension is a reason, an earlier failure isn't."""
    for name in unit.members:
        stream = streams[name]
        if stream.status in (SUSPENDED, ERROR):
            return f'"{name}" {hold_reason(stream, refresh_run.context.clock.now())}'
        if (why := unreadable_reason(stream, streams, refresh_run.lake_version, unit.members)) is not None:
            return f'"{name}" {why}'
    return None
