"""What is written down when a fuse has blown: the stream table is suspended, and its unit held."""

from __future__ import annotations

from dataclasses import replace

from anabranch.graph.units import Unit
from anabranch.ledger.history import SKIP, SKIPPED, add_refreshes, unmoved
from anabranch.ledger.streams import (
    SUSPENDED,
    StreamTable,
    note_held,
    read_streams,
    store_fuse,
    store_status,
)
from anabranch.names import TableName
from anabranch.refresh.hold import held_because
from anabranch.refresh.passes import Pass, noting
from anabranch.refresh.weigh import Blown


def note_blown(a_pass: Pass, unit: Unit, blown: Blown) -> dict[TableName, str]:
    """Suspend the stream table until a person decides; who is held, and why.

    Nobody, if somebody refreshed, altered, suspended or dropped it meanwhile: the next tick looks again.
    """
    parts = a_pass.parts
    parts.failpoints.hit("refresh.before_blown")
    now = parts.clock.now()
    seen = a_pass.streams[blown.name]
    with noting(parts, a_pass.fence) as connection:
        streams = read_streams(connection)
        found = streams.get(blown.name)
        if found is None or _decided(found) != _decided(seen):
            return {}
        suspended = replace(
            found,
            status=SUSPENDED,
            status_reason=f'the fuse has blown: {blown.because}; reset_fuse("{blown.name}", …) decides',
            fuse=replace(found.fuse, blown_at=now),
        )
        why = f'"{blown.name}" {held_because(suspended, now)}'
        known = {**streams, blown.name: suspended}
        # In the words in which every later tick finds it held: so the history has it once.
        members = [replace(known[name], held=why) for name in unit.members if name in known]
        store_status(connection, suspended)
        store_fuse(connection, suspended)
        note_held(connection, members)
        add_refreshes(
            connection,
            [
                replace(
                    unmoved(stream, SKIP, SKIPPED, why, now, a_pass.initiated_by),
                    tick_watermark_lsn=a_pass.watermark,
                    group_id=stream.group_id,
                )
                for stream in members
            ],
        )
    a_pass.know(members)
    parts.failpoints.hit("refresh.after_blown")
    for stream in members:
        a_pass.say("skipped", stream.name, reason=why)
    return {stream.name: why for stream in members}


def _decided(stream: StreamTable) -> tuple[object, ...]:
    """What a verdict rests on."""
    return stream.table_id, stream.query, stream.options, stream.status, stream.reads, stream.fuse
