"""What a fuse does to a planned refresh: lets it through, stops it, or applies what a person decided.

Only scheduled refreshes are stopped. A refresh by hand goes through, with a notice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from anabranch.ledger.history import DIFFERENTIAL, FULL, NO_DATA, SKIP
from anabranch.names import TableName
from anabranch.refresh.plan import PlannedAction
from anabranch.settings import Settings
from anabranch.streams.fuse import OFF, Fuse, judge, remember
from anabranch.streams.stream_table import FuseMemory, Options, StreamTable

APPLY, REINITIALIZE, SKIP_CHANGES = "apply", "reinitialize", "skip_changes"
ACTIONS = (APPLY, REINITIALIZE, SKIP_CHANGES)
"""What becomes of a batch that was stopped."""


class Blown(Exception):
    """A fuse has blown: the batch must not be applied, and so nothing of its group."""

    def __init__(self, name: TableName, because: str) -> None:
        super().__init__(f"{name}: {because}")
        self.name = name
        self.because = because


@dataclass(frozen=True)
class FuseDecision:
    """What is to be done now, and what the fuse remembers once it is done."""

    planned: PlannedAction
    fuse: FuseMemory
    pending: int = 0
    notice: str | None = None
    """What to tell those who passed the fuse by hand."""


def fuse_of(options: Options, settings: Settings) -> Fuse:
    """The fuse of a stream table: its own ceiling, else the lake's."""
    ceiling: int | None = options.fuse_ceiling
    if ceiling is None:
        ceiling = settings["fuse_default_ceiling"]
    return Fuse(options.fuse, ceiling, options.fuse_sensitivity)


def rebuild_reason(stream: StreamTable) -> str | None:
    """Why it is to be reinitialised, if that was decided when its fuse had blown."""
    return "its fuse was reset: reinitialize" if stream.fuse.reset == REINITIALIZE else None


def decide_by_fuse(
    stream: StreamTable, planned: PlannedAction, pending: Callable[[], int], fuse: Fuse, *, by_hand: bool
) -> FuseDecision:
    """What becomes of a planned refresh; `Blown`, if it must not be done.

    Nothing is counted where nothing changed; without a fuse, only what a refresh counts anyway.
    """
    before = stream.fuse
    done = replace(before, reset=None)
    if planned.action == NO_DATA:
        return FuseDecision(planned, done)
    if before.reset == SKIP_CHANGES:
        text = f"{pending():,} pending changes were skipped, as decided: reset_fuse with {SKIP_CHANGES}"
        return FuseDecision(
            PlannedAction(SKIP, text), replace(done, in_a_row=0, skipped=done.skipped + pending()), pending()
        )
    if before.reset == REINITIALIZE or (fuse.mode == OFF and planned.action != DIFFERENTIAL):
        return FuseDecision(planned, done)
    count = pending()
    verdict = judge(fuse, before.batches, before.in_a_row, count)
    if not verdict.exceeds:
        counts = planned.action in (DIFFERENTIAL, FULL)
        batches = remember(before.batches, count) if counts else before.batches
        return FuseDecision(planned, replace(done, batches=batches, in_a_row=0), count)
    # A batch above the ceiling is not remembered: else two spikes in a row would look normal.
    because = verdict.because or ""
    if before.reset is not None:
        said = replace(planned, because=f"{planned.because}; {because}, let through by reset_fuse")
        return FuseDecision(said, replace(done, in_a_row=0), count)
    if by_hand:
        said = replace(planned, because=f"{planned.because}; {because}, refreshed by hand nevertheless")
        notice = f'the fuse of "{stream.name}" was passed by hand: {because}'
        return FuseDecision(said, done, count, notice)
    if verdict.blows:
        raise Blown(stream.name, because)
    said = replace(planned, because=f"{planned.because}; {because}")
    return FuseDecision(said, replace(done, in_a_row=verdict.in_a_row), count)
