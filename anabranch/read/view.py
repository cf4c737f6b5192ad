"""Tables as of one moment: what `lake.table`, `lake.sql` and `snapshot()` read from."""

from __future__ import annotations

from typing import Any

from anabranch.engine.base import Frame
from anabranch.errors import InvalidLsn
from anabranch.ledger.records import Moment, Version
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.sql.query import Query
from anabranch.storage.changes import Piece, Signed, pieces_between
from anabranch.storage.files import FileRef, check_files
from anabranch.storage.scan import read_rows


def live_files(parts: Parts, version: Version) -> tuple[FileRef, ...]:
    """The data files of a version."""
    metadata = parts.reader.metadata(version.metadata_location)
    return parts.reader.files(metadata, version.snapshot_id, str(version.name))


def frame_of(parts: Parts, version: Version) -> Frame:
    """A version's rows, as the engine's frame."""
    files = live_files(parts, version)
    check_files(parts.warehouse, files)
    return parts.engine.scan(files, version.schema.visible)


def arrow_of(parts: Parts, version: Version) -> Any:
    """A version's rows as an Arrow table. Needs no Spark, but all of it in memory."""
    return read_rows(parts.warehouse, live_files(parts, version), version.schema.visible)


def run_query(parts: Parts, moment: Moment, query: Query) -> Frame:
    """A query over the tables of one moment."""
    relations = {key: frame_of(parts, moment.version(name)) for key, name in query.tables}
    return parts.engine.query(query.template, relations)


def changes_between(parts: Parts, name: TableName, since: int, until: int | None) -> Frame:
    """What changed in a table after one lsn up to another, as weighted rows."""
    before, after = _interval(parts, name, since, until)
    pieces = change_pieces(parts, before, after)
    check_files(parts.warehouse, pieces)
    signed = Signed.of(pieces)
    return parts.engine.weighted(signed.plus, signed.minus, signed.weighted, after.schema.visible)


def change_pieces(parts: Parts, before: Version | None, after: Version) -> list[Piece]:
    """The files that lead from one version of a table (None: before it existed) to a later one."""
    metadata = parts.reader.metadata(after.metadata_location)
    since = None if before is None else before.snapshot_id
    return pieces_between(parts.reader, metadata, since, after.snapshot_id, str(after.name))


def _interval(parts: Parts, name: TableName, since: int, until: int | None) -> tuple[Version | None, Version]:
    end = parts.catalog.moment(until)
    after = end.version(name)
    if not isinstance(since, int) or isinstance(since, bool) or not 0 <= since <= end.lsn:
        raise InvalidLsn(f"changes can't begin at lsn {since!r}", detail=f"they end at lsn {end.lsn}.")
    before = parts.catalog.moment(since).versions.get(name)
    # A table of the same name that was dropped meanwhile is another table.
    if before is not None and before.table_id != after.table_id:
        before = None
    return before, after
