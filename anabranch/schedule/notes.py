"""What a tick enters into the history about stream tables that it doesn't refresh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from anabranch.gates.waiting import episode
from anabranch.ledger.history import NO_DATA, SKIP, SKIPPED, SUCCEEDED, add_refreshes, unmoved
from anabranch.ledger.records import Fence
from anabranch.ledger.streams import StreamTable, note_held, note_idle
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.graphs import Streams
from anabranch.refresh.passes import noting
from anabranch.refresh.plan import NOTHING_CHANGED
from anabranch.schedule.due import Decision
from anabranch.schedule.schedules import Cron, parse_schedule


def note_holds(
    parts: Parts, decisions: Iterable[Decision], streams: Streams, fence: Fence
) -> dict[TableName, str]:
    """What is held, and why; entered into the history once for as long as the reason stays the same.

    A wait for several sources is one entry, whichever of them come first.
    """
    now = parts.clock.now()
    held = {name: d.because for d in decisions if d.verdict == "held" for name in d.unit.members}
    changed = [
        replace(stream, held=held.get(name))
        for name, stream in streams.items()
        if stream.held != held.get(name)
    ]
    entries = [
        replace(unmoved(stream, SKIP, SKIPPED, stream.held, now, "scheduler"), group_id=stream.group_id)
        for stream in changed
        if stream.held is not None and episode(stream.held) != episode(streams[stream.name].held)
    ]
    if changed:
        with noting(parts, fence) as connection:
            note_held(connection, changed)
            add_refreshes(connection, entries)
    return held


def note_nothing_to_do(parts: Parts, streams: Sequence[StreamTable], lsn: int, fence: Fence) -> None:
    """Due, and nothing changed: entered once until something does. Cron counts from the last look."""
    now = parts.clock.now()
    looked = [
        stream
        for stream in streams
        if not stream.idle or isinstance(parse_schedule(stream.options.schedule), Cron)
    ]
    if not looked:
        return
    entries = [
        replace(
            unmoved(stream, NO_DATA, SUCCEEDED, NOTHING_CHANGED, now, "scheduler"), tick_watermark_lsn=lsn
        )
        for stream in looked
        if not stream.idle
    ]
    with noting(parts, fence) as connection:
        note_idle(connection, looked, now)
        add_refreshes(connection, entries)
