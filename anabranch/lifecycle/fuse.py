"""Deciding about a fuse that has blown, and what to know about one that can't."""

from __future__ import annotations

import warnings

from anabranch.errors import FuseError, FuseNotBlown, Notice, WriteConflict
from anabranch.ledger.database import Connection
from anabranch.ledger.stream_tables import read_streams, store_fuse, store_status
from anabranch.lifecycle.suspend_resume import resumed_stream
from anabranch.names import TableName
from anabranch.refresh.definition_cache import DefinitionCache
from anabranch.refresh.fuse_decision import ACTIONS, SKIP_CHANGES
from anabranch.refresh.parallel_jobs import Failed
from anabranch.refresh.publish import Groups, publish
from anabranch.refresh.refresh_group import stage_members
from anabranch.refresh.refresh_member import Job
from anabranch.refresh.run_context import RefreshRun, pin_lake_version
from anabranch.streams.arguments import find_stream
from anabranch.streams.fuse import ON, Fuse
from anabranch.streams.stream_graph import Streams, commit_members
from anabranch.streams.stream_table import StreamTable

TRIES = 5


def reset_fuse(definitions: DefinitionCache, name: str, action: str) -> None:
    """Arm a blown fuse again, and say what becomes of the changes that it stopped."""
    word = action.strip().lower() if isinstance(action, str) else action
    if word not in ACTIONS:
        raise FuseError(
            f"{ascii(action)[:60]} can't become of what a fuse stopped", hint=f"it is {', '.join(ACTIONS)}."
        )
    for attempt in range(TRIES):
        try:
            _reset(definitions, name, word)
            return
        except WriteConflict:
            # It was refreshed or altered meanwhile.
            if attempt == TRIES - 1:
                raise


def _reset(definitions: DefinitionCache, name: str, action: str) -> None:
    context = definitions.context
    with context.catalog.database.begin_write() as connection:
        streams = read_streams(connection)
        stream = _find_blown_stream(streams, name)
        if action == SKIP_CHANGES and stream.scc_id is not None:
            raise FuseError(
                f'"{stream.name}" is in a cycle, and can\'t skip changes',
                detail="what it holds would be no fixed point, and what others derive from it neither.",
                hint="apply them, or reinitialize.",
            )
        if action != SKIP_CHANGES or _has_inputs_in_group(definitions, streams, stream):
            # What it reads of its group is published with it, or not at all: the next refresh has to do it.
            _store_status_and_fuse(connection, resumed_stream(stream, action))
            return
    _skip_changes(definitions, stream.name)


def _has_inputs_in_group(definitions: DefinitionCache, streams: Streams, stream: StreamTable) -> bool:
    return bool(
        set(stream.inputs).intersection(commit_members(streams, stream.name, definitions.context.settings))
    )


def _skip_changes(definitions: DefinitionCache, name: TableName) -> None:
    """Move its frontier to now at once: what comes after is no part of what was decided about."""
    context = definitions.context
    with pin_lake_version(context) as (lake_version, streams):
        refresh_run = RefreshRun(context, definitions, lake_version, streams, "manual")
        job = Job(resumed_stream(_find_blown_stream(streams, name), SKIP_CHANGES))
        try:
            results = stage_members(refresh_run, [job])
        except Failed as failed:
            raise failed.error from None

        def update_ledger(connection: Connection, after: Streams) -> Groups:
            _find_blown_stream(read_streams(connection), name)
            _store_status_and_fuse(connection, after[name])
            return {}

        publish(refresh_run, results, before=update_ledger)


def _find_blown_stream(streams: Streams, name: str | TableName) -> StreamTable:
    stream = find_stream(streams, name)
    if stream.fuse.blown_at is None:
        raise FuseNotBlown(
            f'the fuse of "{stream.name}" has not blown', hint="fuse_status() tells which have."
        )
    return stream


def _store_status_and_fuse(connection: Connection, stream: StreamTable) -> None:
    store_status(connection, stream)
    store_fuse(connection, stream)


def warn_of_missing_ceiling(name: TableName, fuse: Fuse) -> None:
    """Say that a fuse can't blow, if it has no ceiling."""
    if fuse.mode == ON and fuse.ceiling is None:
        text = f"the fuse of \"{name}\" has no ceiling, and can't blow: set fuse_ceiling, or the lake's "
        warnings.warn(Notice(text + "fuse_default_ceiling"), stacklevel=5)
