"""Pending work: which stream tables may be due, have new input versions, or were left behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from anabranch.connection.lake_context import LakeContext
from anabranch.names import TableName
from anabranch.refresh.plan import changed_inputs
from anabranch.schedule.due import Decision, MemberState
from anabranch.schedule.effective_schedules import effective_schedules
from anabranch.schedule.schedules import Effective, Every, parse_schedule
from anabranch.streams.hold_reasons import hold_reason, reasons_not_ready
from anabranch.streams.refresh_units import RefreshUnit
from anabranch.streams.stream_graph import Streams, graph_of, policy_of
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.versions import LakeVersion


def schedules_in_force(context: LakeContext, streams: Streams) -> dict[TableName, Effective]:
    """Each stream table's schedule, the calculated ones worked out."""
    own = {
        name: parse_schedule(None if stream.is_immediate else stream.options.schedule)
        for name, stream in streams.items()
    }
    default = Every(context.settings["default_schedule"])
    return dict(effective_schedules(graph_of(streams.values()), own, default))


def member_states(
    context: LakeContext, streams: Streams, lake_version: LakeVersion, now: datetime
) -> dict[TableName, MemberState]:
    """For each stream table, what decides when it is refreshed."""
    schedules, waiting = schedules_in_force(context, streams), reasons_not_ready(streams, lake_version)
    return {
        name: MemberState(
            name=name,
            schedule=schedules[name],
            policy="slowest" if policy_of(stream.options, context.settings) == "slowest" else "fastest",
            last_refresh_at=stream.last_refresh_at,
            waits=waiting.get(name),
            held=hold_reason(stream, now) or missing_input_reason(stream, lake_version),
            held_until=stream.retry_at,
            put_off=stream.put_off,
        )
        for name, stream in streams.items()
    }


def missing_input_reason(stream: StreamTable, lake_version: LakeVersion) -> str | None:
    """Why it can't be computed: something that it reads does not exist."""
    for name in stream.inputs:
        if name not in lake_version.versions:
            return f'reads "{name}", which does not exist'
    return None


def units_with_work(
    decisions: Sequence[Decision], streams: Streams, lake_version: LakeVersion
) -> list[RefreshUnit]:
    """The units that are due and have something to do, or read from one that has."""
    chosen: dict[int, RefreshUnit] = {}
    for decision in decisions:
        unit = decision.unit
        if decision.verdict == "run" and (
            any(has_work(streams[name], lake_version) for name in unit.members)
            or any(number in chosen for number in unit.after)
        ):
            chosen[unit.number] = unit
    return list(chosen.values())


def stale_immediate_unit(streams: Streams, lake_version: LakeVersion, now: datetime) -> RefreshUnit | None:
    """Immediate stream tables that no writer refreshed: they were suspended, or written past the lake."""
    stale = {
        name
        for name, stream in streams.items()
        if stream.is_immediate
        and hold_reason(stream, now) is None
        and missing_input_reason(stream, lake_version) is None
        and has_work(stream, lake_version)
    }
    if not stale:
        return None
    graph = graph_of(stream for stream in streams.values() if stream.is_immediate)
    below = frozenset(name for each in stale for name in graph.downstream(each))
    members = tuple(
        name
        for name in graph.order()
        if name in stale or (name in below and hold_reason(streams[name], now) is None)
    )
    return RefreshUnit(-1, members, None, ())


def has_work(stream: StreamTable, lake_version: LakeVersion) -> bool:
    """Whether there is another version of what it reads, or of itself, than it knows of."""
    if stream.reads is None:
        return True
    inputs = {name: lake_version.versions[name] for name in stream.inputs if name in lake_version.versions}
    own = lake_version.versions.get(stream.name)
    return bool(changed_inputs(stream.reads, inputs)) or own is None or own.lsn != stream.version_lsn
