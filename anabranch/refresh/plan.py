"""What is to be done for one stream table, given what it read last and what there is to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anabranch.ledger.history import DIFFERENTIAL, FULL, NO_DATA, REINITIALIZE
from anabranch.names import TableName
from anabranch.refresh.choose import Choice
from anabranch.streams.stream_table import Reads, StreamTable
from anabranch.streams.versions import TableVersion

NOTHING_CHANGED = "nothing that it reads has changed"


@dataclass(frozen=True)
class PlannedAction:
    """What is to be done, and why."""

    action: str
    because: str


@dataclass(frozen=True)
class Situation:
    """A stream table before its refresh."""

    stream: StreamTable
    inputs: Mapping[TableName, TableVersion]
    """What its query would read."""
    staged: frozenset[TableName]
    """Inputs that this refresh has changed already, before anybody sees it."""
    lost: frozenset[TableName]
    """Inputs whose last read version has expired."""
    touched_by: str | None = None
    """Who else changed its contents, if somebody did."""
    asked_full: bool = False
    anew: str | None = None
    """Why it must be reinitialised, whatever changed."""


def plan_refresh(situation: Situation, choose: Callable[[], Choice] | None) -> PlannedAction:
    """The action, and why; `choose` is asked in mode auto where either is possible."""
    stream = situation.stream
    if situation.anew is not None:
        return PlannedAction(REINITIALIZE, situation.anew)
    if stream.reads is None:
        return PlannedAction(REINITIALIZE, "the first fill")
    if situation.touched_by is not None:
        return PlannedAction(REINITIALIZE, f"its contents were changed by {situation.touched_by}")
    if situation.asked_full:
        return PlannedAction(FULL, "a full refresh was asked for")
    changed = changed_inputs(stream.reads, situation.inputs) | situation.staged
    if not changed:
        return PlannedAction(NO_DATA, NOTHING_CHANGED)
    for name in sorted(situation.inputs):
        read = stream.reads.get(name)
        if read is None or read.table_id != situation.inputs[name].table_id:
            return PlannedAction(REINITIALIZE, f'"{name}" is another table than the one that was read')
    if situation.lost:
        names = ", ".join(f'"{name}"' for name in sorted(situation.lost))
        return PlannedAction(REINITIALIZE, f"the version of {names} that was read last is no longer kept")
    if stream.options.refresh_mode == "full":
        return PlannedAction(FULL, "refresh_mode is full")
    if stream.refusal is not None:
        return PlannedAction(FULL, stream.refusal)
    if stream.options.refresh_mode in ("differential", "immediate"):
        return PlannedAction(DIFFERENTIAL, f"refresh_mode is {stream.options.refresh_mode}")
    assert choose is not None, "there is a choice in mode auto only"
    choice = choose()
    return PlannedAction(choice.action, choice.because)


def changed_inputs(reads: Reads, inputs: Mapping[TableName, TableVersion]) -> frozenset[TableName]:
    """The inputs whose version differs from the one that was read."""
    return frozenset(
        name
        for name, version in inputs.items()
        if (read := reads.get(name)) is None or (read.table_id, read.lsn) != (version.table_id, version.lsn)
    )
