"""What a tick enters into the history about stream tables that it doesn't refresh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from anabranch.connection.lake_context import LakeContext
from anabranch.ledger.history import NO_DATA, SKIP, SKIPPED, SUCCEEDED, add_refreshes, no_progress_entry
from anabranch.ledger.records import Fence
from anabranch.ledger.stream_tables import store_hold_reasons, store_idle
from anabranch.names import TableName
from anabranch.refresh.plan import NOTHING_CHANGED
from anabranch.refresh.run_context import open_fenced_transaction
from anabranch.schedule.due import Decision
from anabranch.schedule.schedules import Cron, parse_schedule
from anabranch.streams.stream_graph import Streams
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.wait_reasons import hold_identity


def note_holds(
    context: LakeContext, decisions: Iterable[Decision], streams: Streams, fence: Fence
) -> dict[TableName, str]:
    """The held stream tables, and why; each is entered into the history once while its reason stays the same.

    A wait for several sources is one entry, whichever of them come first.
    """
    now = context.clock.now()
    held = {name: d.because for d in decisions if d.verdict == "held" for name in d.unit.members}
    changed = [
        replace(stream, held=held.get(name))
        for name, stream in streams.items()
        if stream.held != held.get(name)
    ]
    entries = [
        replace(
            no_progress_entry(stream, SKIP, SKIPPED, stream.held, now, "scheduler"), group_id=stream.group_id
        )
        for stream in changed
        if stream.held is not None and hold_identity(stream.held) != hold_identity(streams[stream.name].held)
    ]
    if changed:
        with open_fenced_transaction(context, fence) as connection:
            store_hold_reasons(connection, changed)
            add_refreshes(connection, entries)
    return held


def note_nothing_to_do(context: LakeContext, streams: Sequence[StreamTable], lsn: int, fence: Fence) -> None:
    """Enter once that these were due and nothing changed. Cron counts from the last check."""
    now = context.clock.now()
    looked = [
        stream
        for stream in streams
        if not stream.idle or isinstance(parse_schedule(stream.options.schedule), Cron)
    ]
    if not looked:
        return
    entries = [
        replace(
            no_progress_entry(stream, NO_DATA, SUCCEEDED, NOTHING_CHANGED, now, "scheduler"),
            tick_watermark_lsn=lsn,
        )
        for stream in looked
        if not stream.idle
    ]
    with open_fenced_transaction(context, fence) as connection:
        store_idle(connection, looked, now)
        add_refreshes(connection, entries)
