"""What there is to do: what may be due, what has something new to read, what was left behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from anabranch.graph.units import Unit
from anabranch.ledger.records import Moment
from anabranch.ledger.streams import StreamTable
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.graphs import Streams, graph_of, policy_of
from anabranch.refresh.hold import held_because, not_ready
from anabranch.refresh.plan import changed_inputs
from anabranch.schedule.due import Decision, MemberState
from anabranch.schedule.effective import effective_schedules
from anabranch.schedule.schedules import Effective, Every, parse_schedule


def schedules_in_force(parts: Parts, streams: Streams) -> dict[TableName, Effective]:
    """Each stream table's schedule, the calculated ones worked out."""
    own = {
        name: parse_schedule(None if stream.immediate else stream.options.schedule)
        for name, stream in streams.items()
    }
    default = Every(parts.settings["default_schedule"])
    return dict(effective_schedules(graph_of(streams.values()), own, default))


def member_states(
    parts: Parts, streams: Streams, moment: Moment, now: datetime
) -> dict[TableName, MemberState]:
    """What decides, of each stream table, when it is refreshed."""
    schedules, waiting = schedules_in_force(parts, streams), not_ready(streams, moment)
    return {
        name: MemberState(
            name=name,
            schedule=schedules[name],
            policy="slowest" if policy_of(stream.options, parts.settings) == "slowest" else "fastest",
            last_refresh_at=stream.last_refresh_at,
            waits=waiting.get(name),
            held=held_because(stream, now) or gone(stream, moment),
            held_until=stream.retry_at,
            put_off=stream.put_off,
        )
        for name, stream in streams.items()
    }


def gone(stream: StreamTable, moment: Moment) -> str | None:
    """Why it can't be computed: something that it reads does not exist."""
    for name in stream.inputs:
        if name not in moment.versions:
            return f'reads "{name}", which does not exist'
    return None


def chosen(decisions: Sequence[Decision], streams: Streams, moment: Moment) -> list[Unit]:
    """The units that are due and have something to do, or read from one that has."""
    chosen: dict[int, Unit] = {}
    for decision in decisions:
        unit = decision.unit
        if decision.verdict == "run" and (
            any(has_work(streams[name], moment) for name in unit.members)
            or any(number in chosen for number in unit.after)
        ):
            chosen[unit.number] = unit
    return list(chosen.values())


def behind(streams: Streams, moment: Moment, now: datetime) -> Unit | None:
    """Immediate stream tables that no writer brought up: they were suspended, or written past the lake."""
    stale = {
        name
        for name, stream in streams.items()
        if stream.immediate
        and held_because(stream, now) is None
        and gone(stream, moment) is None
        and has_work(stream, moment)
    }
    if not stale:
        return None
    graph = graph_of(stream for stream in streams.values() if stream.immediate)
    below = frozenset(name for each in stale for name in graph.downstream(each))
    members = tuple(
        name
        for name in graph.order()
        if name in stale or (name in below and held_because(streams[name], now) is None)
    )
    return Unit(-1, members, None, ())


def has_work(stream: StreamTable, moment: Moment) -> bool:
    """Whether there is another version of what it reads, or of itself, than it knows of."""
    if stream.reads is None:
        return True
    inputs = {name: moment.versions[name] for name in stream.inputs if name in moment.versions}
    own = moment.versions.get(stream.name)
    return bool(changed_inputs(stream.reads, inputs)) or own is None or own.lsn != stream.version_lsn
