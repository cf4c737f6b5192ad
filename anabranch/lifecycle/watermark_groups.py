"""Watermark groups: sources that people want to be loaded alike before they are read together."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from anabranch.commit.group_commit import Committed, GroupCommit, Unknown
from anabranch.connection.lake_context import LakeContext
from anabranch.durations import MAX_DURATION, parse_duration
from anabranch.errors import CatalogUnavailable, InvalidWatermarkGroup, NotASource, Notice
from anabranch.ledger.database import Connection
from anabranch.ledger.watermarks import add_watermark_group, read_watermark_groups, remove_watermark_group
from anabranch.names import TableName
from anabranch.streams.source_readiness import MISSING, Missing, WatermarkGroup

MAX_NAME = 128


def create_watermark_group(
    context: LakeContext, name: str, sources: Sequence[str], tolerance: str | timedelta, missing: str
) -> None:
    """Declare a group. A refusal names the culprit, and stores nothing."""
    group = parse_watermark_group(name, sources, tolerance, missing, context.clock.now())
    _commit(context, lambda connection: store_watermark_group(context, connection, group))


def parse_watermark_group(
    name: object, sources: object, tolerance: object, missing: object, now: datetime
) -> WatermarkGroup:
    """A group that may be asked for; a refusal names the culprit."""
    return WatermarkGroup(
        _parse_name(name),
        _parse_sources(sources),
        _parse_tolerance(tolerance),
        _parse_missing(missing),
        now,
    )


def store_watermark_group(context: LakeContext, connection: Connection, group: WatermarkGroup) -> None:
    """Store a group, if there is none of that name and all in it are sources."""
    if any(other.name == group.name for other in read_watermark_groups(connection)):
        raise InvalidWatermarkGroup(f'there is a watermark group "{group.name}" already')
    lake_version = context.catalog.lake_version_in_transaction(connection, None)
    for source in group.sources:
        if lake_version.version(source).kind != "source":
            raise NotASource(f'"{source}" is a stream table: only sources have watermarks')
    add_watermark_group(connection, group)


def drop_watermark_group(context: LakeContext, name: str) -> None:
    """Drop a watermark group; what reads its sources no longer waits for it."""
    title = _parse_name(name)

    def remove_group(connection: Connection) -> None:
        known = [group.name for group in read_watermark_groups(connection)]
        if title not in known:
            close = difflib.get_close_matches(title, known, n=1)
            hint = f'did you mean "{close[0]}"?' if close else None
            raise InvalidWatermarkGroup(f'there is no watermark group "{title}"', hint=hint)
        remove_watermark_group(connection, title)

    _commit(context, remove_group)


def find_watermark_groups_needing(context: LakeContext, name: str) -> list[str]:
    """The groups that have less than two sources without this one."""
    source = TableName.parse(name)
    with context.catalog.database.begin_read() as connection:
        groups = read_watermark_groups(connection)
    return [group.name for group in groups if source in group.sources and len(group.sources) == 2]


def warn_of_removed_watermark_groups(names: Sequence[str]) -> None:
    """Say that groups went with their sources."""
    for name in names:
        text = f'the watermark group "{name}" is gone: less than two of its sources are left'
        warnings.warn(Notice(text), stacklevel=3)


def _commit(context: LakeContext, enter: Callable[[Connection], None]) -> None:
    """In a commit of its own: its lsn wakes the schedulers."""
    context.catalog.lake_version()
    attempt = context.clock.new_id()
    commit = GroupCommit(attempt, "gate", entries=(lambda connection, _lsn: enter(connection),))
    outcome = context.catalog.commit_group(commit)
    if isinstance(outcome, Unknown):
        outcome = context.catalog.settle(outcome) or outcome
    if not isinstance(outcome, Committed):
        raise CatalogUnavailable("the catalog database takes no commits", detail="nothing of it happened.")


# -- what was asked for ---------------------------------------------------------------------------


def _parse_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise InvalidWatermarkGroup(f"a watermark group is named by 1 to {MAX_NAME} printable characters")
    return name.strip()


def _parse_sources(sources: object) -> tuple[TableName, ...]:
    if isinstance(sources, str | bytes) or not isinstance(sources, Sequence):
        raise InvalidWatermarkGroup("a watermark group needs a list of sources")
    names = [TableName.parse(source) for source in sources]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InvalidWatermarkGroup(f'"{twice}" is named twice')
    if len(names) < 2:
        raise InvalidWatermarkGroup("a watermark group needs two sources or more")
    return tuple(sorted(names))


def _parse_tolerance(tolerance: object) -> timedelta:
    try:
        length = parse_duration(tolerance) if isinstance(tolerance, str) else tolerance
    except ValueError as error:
        raise InvalidWatermarkGroup(f"{ascii(tolerance)[:60]} is no tolerance", detail=f"{error}.") from None
    if not isinstance(length, timedelta) or not timedelta(0) <= length <= MAX_DURATION:
        raise InvalidWatermarkGroup(
            f"{ascii(tolerance)[:60]} is no tolerance", hint='write a duration: "0s", "30m", "1d".'
        )
    return length


def _parse_missing(missing: object) -> Missing:
    for word in MISSING:
        if isinstance(missing, str) and missing.strip().lower() == word:
            return word
    raise InvalidWatermarkGroup(
        f"{ascii(missing)[:60]} can't be what a missing watermark means",
        hint=f"it is {' or '.join(MISSING)}.",
    )
