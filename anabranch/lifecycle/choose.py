"""Which stream tables are filled or refreshed when many definitions change, so that what is published fits.

Redefined stream tables are rebuilt with all that moves with them, over an upstream that is brought up first,
so that nothing goes back in time. New ones are filled unless something that they need isn't ready.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.errors import Notice, RefreshHeld
from anabranch.ledger.streams import StreamTable
from anabranch.lifecycle.blueprint import MODE, Blueprint
from anabranch.lifecycle.changes import Changes
from anabranch.lifecycle.create import tell_put_off, unfilled_before, waiting_units
from anabranch.names import TableName
from anabranch.refresh.graphs import moved_with, units_of
from anabranch.refresh.hold import held_because
from anabranch.refresh.member import Job
from anabranch.refresh.passes import Pass


@dataclass(frozen=True)
class Choice:
    """What is brought up, in order; the new ones, filled or not; and which of them wait, for what."""

    jobs: tuple[Job, ...]
    created: tuple[Job, ...]
    waiting: Mapping[TableName, str]
    put_off: frozenset[TableName]


def chosen_jobs(a_pass: Pass, plan: Blueprint, changes: Changes) -> Choice:
    """What is to be staged."""
    waiting = waiting_units(a_pass, plan.after)
    later = frozenset(new.name for new in changes.created if not new.initialize)
    fresh = plan.created - later
    stale = _stale_above(a_pass, plan)
    chosen: dict[TableName, Job] = {}
    for members in _together(a_pass, plan):
        if not plan.redefined.keys().isdisjoint(members):
            _check_held(a_pass, plan, members)
            _tell_of_waiting(members, waiting)
        elif not fresh.isdisjoint(members):
            why = (
                waiting.get(members[0])
                or unfilled_before(members, later, chosen, plan.graph, plan.after)
                or _held(a_pass, plan, members)
            )
            if why is not None:
                tell_put_off([name for name in members if name in fresh], why)
                continue
        elif stale.isdisjoint(members) or _held(a_pass, plan, members) is not None:
            continue
        for name in members:
            if name in fresh or name in plan.redefined or (name not in plan.created and _ready(plan, name)):
                chosen[name] = _job(a_pass, plan, name)
    _check_filled(plan, chosen)
    return Choice(
        tuple(chosen[name] for name in plan.graph.order() if name in chosen),
        tuple(_job(a_pass, plan, name) for name in plan.graph.order() if name in plan.created),
        {name: why for name, why in waiting.items() if name not in chosen},
        frozenset(name for name in fresh if name in waiting),
    )


def _together(a_pass: Pass, plan: Blueprint) -> list[tuple[TableName, ...]]:
    """What is published as one: what writers maintain, each with what follows it at once, then the units."""
    settings = a_pass.parts.settings
    at_once = [name for name in plan.graph.order() if plan.after[name].immediate]
    found: list[tuple[TableName, ...]] = [(name,) for name in at_once if name in plan.created]
    found += [moved_with(plan.after, name, settings) for name in at_once if name in plan.redefined]
    return [*found, *(unit.members for unit in units_of(plan.after, settings))]


def _stale_above(a_pass: Pass, plan: Blueprint) -> frozenset[TableName]:
    """Stream tables above redefined ones that are behind what they read."""
    above = {table for name in plan.redefined for table in plan.graph.upstream(name)}
    stale: set[TableName] = set()
    for name in plan.graph.order():
        stream = a_pass.streams.get(name)
        if stream is None or stream.immediate or name not in above:
            continue
        if _behind(a_pass, stream) or not stale.isdisjoint(stream.inputs):
            stale.add(name)
    return frozenset(stale)


def _behind(a_pass: Pass, stream: StreamTable) -> bool:
    if stream.reads is None:
        return True
    versions = a_pass.moment.versions
    return any(
        (found := versions.get(name)) is None or (found.table_id, found.lsn) != (read.table_id, read.lsn)
        for name, read in stream.reads.items()
    )


def _ready(plan: Blueprint, name: TableName) -> bool:
    """Whether one that is there can be brought up along with others: a first fill has its own time."""
    return plan.after[name].filled or not plan.redefined.keys().isdisjoint(plan.graph.downstream(name))


def _job(a_pass: Pass, plan: Blueprint, name: TableName) -> Job:
    stream, definition = plan.after[name], plan.defined.get(name)
    if name in plan.redefined:
        why = plan.redefined[name]
        # What it stored so far beside its contents is looked for by its old names.
        stream = replace(stream, state_tables=a_pass.streams[name].state_tables)
        return Job(stream, definition, anew=None if why == MODE else why)
    return Job(stream, definition)


def _held(a_pass: Pass, plan: Blueprint, members: Sequence[TableName]) -> str | None:
    now = a_pass.parts.clock.now()
    for name in members:
        if name in plan.created or name in plan.redefined:
            continue
        if (why := held_because(plan.after[name], now)) is not None:
            return f'"{name}" {why}'
    return None


def _check_held(a_pass: Pass, plan: Blueprint, members: Sequence[TableName]) -> None:
    if (why := _held(a_pass, plan, members)) is not None:
        name = next(name for name in members if name in plan.redefined)
        raise RefreshHeld(
            f'"{name}" can\'t be altered now: what it is published with is held',
            detail=f"{why}.",
            hint="resume it first.",
        )


def _check_filled(plan: Blueprint, chosen: Mapping[TableName, Job]) -> None:
    for name in chosen:
        for read in sorted(plan.graph.inputs[name]):
            known = plan.after.get(read)
            if name in plan.redefined and known is not None and not known.filled and read not in chosen:
                raise RefreshHeld(
                    f'"{name}" can\'t read "{read}" yet, which is not filled',
                    hint=f'refresh_stream_table("{read}") fills it.',
                )


def _tell_of_waiting(members: Sequence[TableName], waiting: Mapping[TableName, str]) -> None:
    """What is altered by hand passes gates and watermarks, as what is refreshed by hand does."""
    if (why := waiting.get(members[0])) is not None:
        warnings.warn(Notice(f'"{members[-1]}" is filled at once, although {why}'), stacklevel=6)
