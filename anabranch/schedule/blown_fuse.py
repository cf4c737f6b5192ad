"""Recording a blown fuse: the stream table is suspended, and its unit held."""

from __future__ import annotations

from dataclasses import replace

from anabranch.ledger.history import SKIP, SKIPPED, add_refreshes, no_progress_entry
from anabranch.ledger.stream_tables import read_streams, store_fuse, store_hold_reasons, store_status
from anabranch.names import TableName
from anabranch.refresh.fuse_decision import Blown
from anabranch.refresh.run_context import RefreshRun, open_fenced_transaction
from anabranch.streams.hold_reasons import hold_reason
from anabranch.streams.refresh_units import RefreshUnit
from anabranch.streams.stream_table import SUSPENDED, StreamTable


def suspend_for_blown_fuse(refresh_run: RefreshRun, unit: RefreshUnit, blown: Blown) -> dict[TableName, str]:
    """Suspend the stream table until a person decides; who is held, and why.

    Nobody, if somebody refreshed, altered, suspended or dropped it meanwhile: the next tick decides again.
    """
    context = refresh_run.context
    context.failpoints.hit("refresh.before_blown")
    now = context.clock.now()
    seen = refresh_run.streams[blown.name]
    with open_fenced_transaction(context, refresh_run.fence) as connection:
        streams = read_streams(connection)
        found = streams.get(blown.name)
        if found is None or _verdict_inputs(found) != _verdict_inputs(seen):
            return {}
        suspended = replace(
            found,
            status=SUSPENDED,
            status_reason=f'the fuse has blown: {blown.because}; reset_fuse("{blown.name}", …) decides',
            fuse=replace(found.fuse, blown_at=now),
        )
        why = f'"{blown.name}" {hold_reason(suspended, now)}'
        known = {**streams, blown.name: suspended}
        # In the same words as every later tick's hold reason: so the history has it once.
        members = [replace(known[name], held=why) for name in unit.members if name in known]
        store_status(connection, suspended)
        store_fuse(connection, suspended)
        store_hold_reasons(connection, members)
        add_refreshes(
            connection,
            [
                replace(
                    no_progress_entry(stream, SKIP, SKIPPED, why, now, refresh_run.initiated_by),
                    tick_watermark_lsn=refresh_run.watermark,
                    group_id=stream.group_id,
                )
                for stream in members
            ],
        )
    refresh_run.update_streams(members)
    context.failpoints.hit("refresh.after_blown")
    for stream in members:
        refresh_run.notify_observers("skipped", stream.name, reason=why)
    return {stream.name: why for stream in members}


def _verdict_inputs(stream: StreamTable) -> tuple[object, ...]:
    """The fields that a verdict of the fuse depends on."""
    return stream.table_id, stream.query, stream.options, stream.status, stream.reads, stream.fuse
