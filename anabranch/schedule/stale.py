"""Gates that have been shut for long: somebody is told, once for as long as one stays shut."""

from __future__ import annotations

import warnings
from datetime import timedelta

from anabranch.durations import show_duration
from anabranch.errors import Notice
from anabranch.ledger.gates import note_told
from anabranch.ledger.records import Fence, Moment
from anabranch.parts import Parts
from anabranch.refresh.passes import noting


def tell_of_stale_gates(parts: Parts, moment: Moment, fence: Fence) -> None:
    """Say which gates are older than `gate_stale_after`; what was said is remembered for all schedulers."""
    now, patience = parts.clock.now(), parts.settings["gate_stale_after"]
    stale = [
        gate
        for gate in moment.readiness.gates.values()
        if gate.gated and not gate.told and now - gate.gated_at > patience
    ]
    if not stale:
        return
    with noting(parts, fence) as connection:
        fresh = note_told(connection, stale)
    for gate in fresh:
        age = show_duration(timedelta(seconds=int((now - gate.gated_at).total_seconds())))
        text = f'"{gate.source}" has been gated for {age} by {gate.gated_by}: is it still being loaded? '
        warnings.warn(Notice(f'{text}ungate_source("{gate.source}") opens it'), stacklevel=4)
