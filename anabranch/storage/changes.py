"""What a commit changed, as pieces: files whose rows count +1, -1, or by their own weight.

An append says nothing more than the files it added. Our own updates, deletes and refreshes name
their pieces in the snapshot's summary. A commit by somebody else's writer is the files it added
minus the files it removed; one that marks rows of a file as gone takes the file away and brings it
back without them. So every table, whoever writes it, looks the same to what reads it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot

from anabranch.errors import Damaged
from anabranch.storage.tables import TableReader, decoding, is_position_delete
from anabranch.storage.warehouse import Warehouse

CHANGES = "anabranch.changes"
ATTEMPT = "anabranch.attempt"
MAX_INLINE_PIECES = 50
"""More pieces than that stand in a file of their own, so that table metadata stays small."""

Sign = Literal["+", "-", "~"]


@dataclass(frozen=True, order=True)
class Piece:
    """A Parquet file that is part of a change: `+` its rows were added, `-` removed, `~` are weighted."""

    sign: Sign
    path: str
    deletes: tuple[str, ...] = ()
    """Position delete files: rows that they mark are not part of it."""


def describe(warehouse: Warehouse, pieces: Iterable[Piece], side_file: str) -> str:
    """The summary's text for a commit with these pieces; many of them go to `side_file`."""
    listed = [[piece.sign, piece.path, *([list(piece.deletes)] if piece.deletes else [])] for piece in pieces]
    text = json.dumps({"pieces": listed}, separators=(",", ":"))
    if len(listed) <= MAX_INLINE_PIECES:
        return text
    warehouse.write_bytes(side_file, text.encode())
    return json.dumps({"file": side_file}, separators=(",", ":"))


def pieces_between(
    reader: TableReader, metadata: TableMetadata, since: int | None, until: int | None, name: str
) -> list[Piece]:
    """The pieces that lead from one snapshot to a later one, oldest first.

    contents(since) + pieces = contents(until), as bags of rows.
    """
    # From nothing on, the history can't be trusted: once older snapshots expire, others look like the first.
    steps = None if since is None else _steps(metadata, since, until)
    if steps is None:
        return _difference(reader, metadata, since, until, name)
    return [piece for snapshot in steps for piece in pieces_of(reader, metadata, snapshot, name)]


def _steps(metadata: TableMetadata, since: int | None, until: int | None) -> list[Snapshot] | None:
    """The snapshots after `since` up to `until`, or None if the one doesn't descend from the other."""
    steps: list[Snapshot] = []
    current = until
    while current != since:
        snapshot = None if current is None else metadata.snapshot_by_id(current)
        if snapshot is None:
            return None
        steps.append(snapshot)
        current = snapshot.parent_snapshot_id
    return steps[::-1]


def _difference(
    reader: TableReader, metadata: TableMetadata, since: int | None, until: int | None, name: str
) -> list[Piece]:
    # A file in which other rows are marked goes and comes; what both have cancels.
    before = {(file.path, file.deletes) for file in reader.files(metadata, since, name)}
    after = {(file.path, file.deletes) for file in reader.files(metadata, until, name)}
    return sorted(
        [Piece("+", *file) for file in after - before] + [Piece("-", *file) for file in before - after]
    )


@dataclass(frozen=True)
class Signed:
    """Pieces by their sign, for whoever adds them up."""

    plus: tuple[Piece, ...] = ()
    minus: tuple[Piece, ...] = ()
    weighted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.plus or self.minus or self.weighted)

    @classmethod
    def of(cls, pieces: Sequence[Piece]) -> Signed:
        """All pieces, but those that cancel: a file that came and went, or went and came, as it was."""
        rows = [(piece.sign, (piece.path, piece.deletes)) for piece in pieces]
        net = Counter(file for sign, file in rows if sign == "+")
        net.subtract(Counter(file for sign, file in rows if sign == "-"))
        return cls(
            tuple(Piece("+", *file) for file, weight in net.items() for _ in range(weight)),
            tuple(Piece("-", *file) for file, weight in net.items() for _ in range(-weight)),
            tuple(piece.path for piece in pieces if piece.sign == "~"),
        )


def pieces_of(reader: TableReader, metadata: TableMetadata, snapshot: Snapshot, name: str) -> list[Piece]:
    """What one commit changed."""
    summary = snapshot.summary
    if summary is not None and (text := summary.additional_properties.get(CHANGES)) is not None:
        return _read(reader.warehouse, text, name)
    if summary is not None and summary.operation == Operation.REPLACE:
        return []
    return _foreign_pieces(reader, metadata, snapshot, name)


def summary_files(warehouse: Warehouse, snapshot: Snapshot, name: str) -> list[str]:
    """Files that a snapshot needs beside those in its manifests."""
    summary = snapshot.summary
    text = None if summary is None else summary.additional_properties.get(CHANGES)
    if text is None:
        return []
    pieces = [path for piece in _read(warehouse, text, name) for path in (piece.path, *piece.deletes)]
    side = json.loads(text).get("file")
    return [*pieces, side] if side else pieces


def _read(warehouse: Warehouse, text: str, name: str) -> list[Piece]:
    try:
        value = json.loads(text)
        if "file" in value:
            value = json.loads(warehouse.read_bytes(value["file"]))
        return [Piece(sign, path, tuple(*deletes)) for sign, path, *deletes in value["pieces"]]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise Damaged(f'a version of "{name}" doesn\'t say what it changed', detail=str(error)) from error


def _foreign_pieces(
    reader: TableReader, metadata: TableMetadata, snapshot: Snapshot, name: str
) -> list[Piece]:
    pieces = []
    io = reader.warehouse.io
    with decoding(f'a manifest of "{name}"'):
        manifests = snapshot.manifests(io)
        entries = [
            entry
            for manifest in manifests
            if manifest.added_snapshot_id == snapshot.snapshot_id
            for entry in manifest.fetch_manifest_entry(io, discard_deleted=False)
            if entry.snapshot_id == snapshot.snapshot_id
        ]
    marking = any(is_position_delete(entry.data_file, name) for entry in entries)
    summary = {} if snapshot.summary is None else snapshot.summary.additional_properties
    marking = marking or int(summary.get("removed-delete-files", 0)) > 0
    marked = any(manifest.content == ManifestContent.DELETES for manifest in manifests)
    if marking or (marked and any(entry.status == ManifestEntryStatus.DELETED for entry in entries)):
        # Of a file that goes only those rows go that weren't marked before.
        return _difference(reader, metadata, snapshot.parent_snapshot_id, snapshot.snapshot_id, name)
    for entry in entries:
        if entry.status == ManifestEntryStatus.ADDED:
            pieces.append(Piece("+", entry.data_file.file_path))
        elif entry.status == ManifestEntryStatus.DELETED:
            pieces.append(Piece("-", entry.data_file.file_path))
    return sorted(pieces)
