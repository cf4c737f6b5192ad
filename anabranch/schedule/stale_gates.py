"""Gates that have been shut for long: somebody is told, once for as long as one stays shut."""

from __future__ import annotations

import warnings
from datetime import timedelta

from anabranch.connection.lake_context import LakeContext
from anabranch.durations import format_duration
from anabranch.errors import Notice
from anabranch.ledger.gates import mark_gates_reported
from anabranch.ledger.records import Fence
from anabranch.refresh.run_context import open_fenced_transaction
from anabranch.streams.versions import LakeVersion


def warn_of_stale_gates(context: LakeContext, lake_version: LakeVersion, fence: Fence) -> None:
    """Say which gates are older than `gate_stale_after`; what was said is remembered for all schedulers."""
    now, patience = context.clock.now(), context.settings["gate_stale_after"]
    stale = [
        gate
        for gate in lake_version.readiness.gates.values()
        if gate.gated and not gate.told and now - gate.gated_at > patience
    ]
    if not stale:
        return
    with open_fenced_transaction(context, fence) as connection:
        fresh = mark_gates_reported(connection, stale)
    for gate in fresh:
        age = format_duration(timedelta(seconds=int((now - gate.gated_at).total_seconds())))
        text = f'"{gate.source}" has been gated for {age} by {gate.gated_by}: is it still being loaded? '
        warnings.warn(Notice(f'{text}ungate_source("{gate.source}") opens it'), stacklevel=4)
