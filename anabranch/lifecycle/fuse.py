"""Deciding about a fuse that has blown, and what to know about one that can't."""

from __future__ import annotations

import warnings

from anabranch.errors import FuseError, FuseNotBlown, Notice, WriteConflict
from anabranch.ledger.database import Connection
from anabranch.ledger.streams import StreamTable, read_streams, store_fuse, store_status
from anabranch.lifecycle.status import resumed
from anabranch.names import TableName
from anabranch.refresh.definitions import Definitions
from anabranch.refresh.find import found
from anabranch.refresh.fuse import ON, Fuse
from anabranch.refresh.graphs import Streams, moved_with
from anabranch.refresh.group import stage
from anabranch.refresh.member import Job
from anabranch.refresh.parallel import Failed
from anabranch.refresh.passes import Pass, pinned
from anabranch.refresh.publish import Groups, publish
from anabranch.refresh.weigh import ACTIONS, SKIP_CHANGES

TRIES = 5


def reset_fuse(definitions: Definitions, name: str, action: str) -> None:
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


def _reset(definitions: Definitions, name: str, action: str) -> None:
    parts = definitions.parts
    with parts.catalog.database.writing() as connection:
        streams = read_streams(connection)
        stream = _blown(streams, name)
        if action == SKIP_CHANGES and stream.scc_id is not None:
            raise FuseError(
                f'"{stream.name}" is in a cycle, and can\'t skip changes',
                detail="what it holds would be no fixed point, and what others derive from it neither.",
                hint="apply them, or reinitialize.",
            )
        if action != SKIP_CHANGES or _reads_its_group(definitions, streams, stream):
            # What it reads of its group is published with it, or not at all: the next refresh has to do it.
            _store(connection, resumed(stream, action))
            return
    _skip(definitions, stream.name)


def _reads_its_group(definitions: Definitions, streams: Streams, stream: StreamTable) -> bool:
    return bool(set(stream.inputs).intersection(moved_with(streams, stream.name, definitions.parts.settings)))


def _skip(definitions: Definitions, name: TableName) -> None:
    """Move its frontier to now at once: what comes after is no part of what was decided about."""
    parts = definitions.parts
    with pinned(parts) as (moment, streams):
        a_pass = Pass(parts, definitions, moment, streams, "manual")
        job = Job(resumed(_blown(streams, name), SKIP_CHANGES))
        try:
            results = stage(a_pass, [job])
        except Failed as failed:
            raise failed.error from None

        def enter(connection: Connection, after: Streams) -> Groups:
            _blown(read_streams(connection), name)
            _store(connection, after[name])
            return {}

        publish(a_pass, results, before=enter)


def _blown(streams: Streams, name: str | TableName) -> StreamTable:
    stream = found(streams, name)
    if stream.fuse.blown_at is None:
        raise FuseNotBlown(
            f'the fuse of "{stream.name}" has not blown', hint="fuse_status() tells which have."
        )
    return stream


def _store(connection: Connection, stream: StreamTable) -> None:
    store_status(connection, stream)
    store_fuse(connection, stream)


def tell_of_missing_ceiling(name: TableName, fuse: Fuse) -> None:
    """Say that a fuse can't blow, if it has no ceiling."""
    if fuse.mode == ON and fuse.ceiling is None:
        text = f"the fuse of \"{name}\" has no ceiling, and can't blow: set fuse_ceiling, or the lake's "
        warnings.warn(Notice(text + "fuse_default_ceiling"), stacklevel=5)
