"""Refreshing by hand: what is stale upstream first, as the same groups, from one pinned lsn."""

from __future__ import annotations

import warnings

from anabranch.errors import AnabranchError, EngineFailed, Notice, RefreshHeld, WriteConflict
from anabranch.events import Observer, ignore
from anabranch.graph.units import Unit
from anabranch.ledger.streams import ERROR, SUSPENDED
from anabranch.names import TableName
from anabranch.refresh.definitions import Definitions
from anabranch.refresh.find import check_flag, found
from anabranch.refresh.graphs import Streams, graph_of, moved_with, units_of
from anabranch.refresh.group import GroupFailed, refresh_group
from anabranch.refresh.hold import held_because, unreadable
from anabranch.refresh.member import Job
from anabranch.refresh.passes import Pass, pinned

TRIES = 5
STACK = 4


def refresh_stream_table(
    definitions: Definitions,
    name: str,
    *,
    full: bool = False,
    upstream: bool = True,
    observer: Observer = ignore,
) -> None:
    """Bring a stream table up to now, and with it what it is published with."""
    check_flag("full", full)
    check_flag("upstream", upstream)
    for attempt in range(TRIES):
        try:
            _refresh(definitions, name, full, upstream, observer)
            return
        except WriteConflict:
            # A scheduler was faster; what it left undone is seen from the newest lsn.
            if attempt == TRIES - 1:
                raise


def _refresh(definitions: Definitions, name: str, full: bool, upstream: bool, observer: Observer) -> None:
    parts = definitions.parts
    with pinned(parts) as (moment, streams):
        a_pass = Pass(parts, definitions, moment, streams, "manual", observer=observer)
        target = found(streams, name).name
        if streams[target].immediate:
            _catch_up(a_pass, target, full)
            return
        graph = graph_of(streams.values())
        units = units_of(streams, parts.settings)
        own = next(unit for unit in units if target in unit.members)
        above = frozenset(other for member in own.members for other in graph.upstream(member))
        for unit in units:
            if unit is own:
                _check(unit, a_pass)
                _run(a_pass, unit, target if full else None)
            elif upstream and above.intersection(unit.members):
                if (why := _held(unit, a_pass.streams, a_pass)) is not None:
                    text = f'"{unit.members[-1]}" is read as it is, not refreshed: {why}'
                    warnings.warn(Notice(text), stacklevel=STACK + 1)
                else:
                    _run(a_pass, unit, None)


def _catch_up(a_pass: Pass, target: TableName, full: bool) -> None:
    """An immediate stream table is up to date, unless it was suspended or somebody wrote past the lake."""
    unit = Unit(0, moved_with(a_pass.streams, target, a_pass.parts.settings), None, ())
    _check(unit, a_pass)
    _run(a_pass, unit, target if full else None)


def _tell_of_waiting(a_pass: Pass, unit: Unit) -> None:
    """By hand a refresh passes gates and watermarks, and says so."""
    for name in unit.members:
        if (why := a_pass.waiting.get(name)) is not None:
            text = f'"{unit.members[-1]}" is refreshed by hand, although "{name}" {why}'
            warnings.warn(Notice(text), stacklevel=STACK + 2)
            return


def _run(a_pass: Pass, unit: Unit, full: TableName | None) -> None:
    _tell_of_waiting(a_pass, unit)
    jobs = [Job(a_pass.streams[name], asked_full=name == full) for name in unit.members]
    group_id = jobs[0].stream.group_id if unit.atomic and unit.group is not None else None
    try:
        results = refresh_group(a_pass, jobs, group_id=group_id)
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


def _check(unit: Unit, a_pass: Pass) -> None:
    why = _held(unit, a_pass.streams, a_pass)
    if why is not None:
        raise RefreshHeld(
            f'"{unit.members[-1]}" can\'t be refreshed now',
            detail=f"{why}.",
            hint=_hint(unit, a_pass),
        )


def _hint(unit: Unit, a_pass: Pass) -> str:
    for name in unit.members:
        if a_pass.streams[name].fuse.blown_at is not None:
            return f'reset_fuse("{name}", …) first: it decides what becomes of the changes.'
    return "resume_stream_table(name) first."


def _held(unit: Unit, streams: Streams, a_pass: Pass) -> str | None:
    """A failure before is no reason not to try by hand; a suspension is."""
    for name in unit.members:
        stream = streams[name]
        if stream.status in (SUSPENDED, ERROR):
            return f'"{name}" {held_because(stream, a_pass.parts.clock.now())}'
        if (why := unreadable(stream, streams, a_pass.moment, unit.members)) is not None:
            return f'"{name}" {why}'
    return None
