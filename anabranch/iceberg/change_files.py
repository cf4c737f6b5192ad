"""What a commit changed, as change files: their rows count +1, -1, or by their own weight.

The change of an append is the files it added. Our own updates, deletes and refreshes name their
change files in the snapshot's summary. The change of a commit by another client is the files it added
minus the files it removed; a file that gets position deletes counts as removed, and as added without
the deleted rows. So every table, whoever writes it, can be read the same way.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot

from anabranch.errors import Damaged
from anabranch.iceberg.table_reader import TableReader, is_position_delete, translate_read_errors
from anabranch.iceberg.warehouse import Warehouse

CHANGES = "anabranch.changes"
ATTEMPT = "anabranch.attempt"
MAX_INLINE_CHANGE_FILES = 50
"""More change files than that are listed in a file of their own, so that table metadata stays small."""

Sign = Literal["+", "-", "~"]


@dataclass(frozen=True, order=True)
class ChangeFile:
    """A Parquet file that is part of a change: `+` its rows were added, `-` removed, `~` are weighted."""

    sign: Sign
    path: str
    deletes: tuple[str, ...] = ()
    """Position delete files: the rows that they delete are not part of the change."""


def write_change_summary(warehouse: Warehouse, files: Iterable[ChangeFile], side_file: str) -> str:
    """The summary's text for a commit with these change files; many are listed in `side_file` instead."""
    listed = [[file.sign, file.path, *([list(file.deletes)] if file.deletes else [])] for file in files]
    text = json.dumps({"pieces": listed}, separators=(",", ":"))
    if len(listed) <= MAX_INLINE_CHANGE_FILES:
        return text
    warehouse.write_bytes(side_file, text.encode())
    return json.dumps({"file": side_file}, separators=(",", ":"))


def read_changes_between(
    reader: TableReader, metadata: TableMetadata, since: int | None, until: int | None, name: str
) -> list[ChangeFile]:
    """The change files that lead from one snapshot to a later one, oldest first.

    contents(since) + change files = contents(until), as bags of rows.
    """
    # Without `since`, compare lists of files: once snapshots expire, a later one may look like the first.
    steps = None if since is None else _snapshots_between(metadata, since, until)
    if steps is None:
        return _compare_file_lists(reader, metadata, since, until, name)
    return [file for snapshot in steps for file in read_snapshot_changes(reader, metadata, snapshot, name)]


def _snapshots_between(
    metadata: TableMetadata, since: int | None, until: int | None
) -> list[Snapshot] | None:
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


def _compare_file_lists(
    reader: TableReader, metadata: TableMetadata, since: int | None, until: int | None, name: str
) -> list[ChangeFile]:
    # A file with other position deletes is removed and added; rows that both have cancel.
    before = {(file.path, file.deletes) for file in reader.list_files(metadata, since, name)}
    after = {(file.path, file.deletes) for file in reader.list_files(metadata, until, name)}
    return sorted(
        [ChangeFile("+", *file) for file in after - before]
        + [ChangeFile("-", *file) for file in before - after]
    )


@dataclass(frozen=True)
class SignedFiles:
    """Change files by their sign."""

    plus: tuple[ChangeFile, ...] = ()
    minus: tuple[ChangeFile, ...] = ()
    weighted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.plus or self.minus or self.weighted)

    @classmethod
    def from_change_files(cls, files: Sequence[ChangeFile]) -> SignedFiles:
        """All change files but those that cancel: a file added and removed, in either order, unchanged."""
        rows = [(file.sign, (file.path, file.deletes)) for file in files]
        net = Counter(file for sign, file in rows if sign == "+")
        net.subtract(Counter(file for sign, file in rows if sign == "-"))
        return cls(
            tuple(ChangeFile("+", *file) for file, weight in net.items() for _ in range(weight)),
            tuple(ChangeFile("-", *file) for file, weight in net.items() for _ in range(-weight)),
            tuple(file.path for file in files if file.sign == "~"),
        )


def read_snapshot_changes(
    reader: TableReader, metadata: TableMetadata, snapshot: Snapshot, name: str
) -> list[ChangeFile]:
    """What one commit changed."""
    summary = snapshot.summary
    if summary is not None and (text := summary.additional_properties.get(CHANGES)) is not None:
        return _read_change_summary(reader.warehouse, text, name)
    if summary is not None and summary.operation == Operation.REPLACE:
        return []
    load = partial(_read_foreign_changes, reader, metadata, snapshot, name)
    return list(reader.changes.get(snapshot.manifest_list, load))


def read_summary_files(warehouse: Warehouse, snapshot: Snapshot, name: str) -> list[str]:
    """Files that a snapshot needs beside those in its manifests."""
    summary = snapshot.summary
    text = None if summary is None else summary.additional_properties.get(CHANGES)
    if text is None:
        return []
    files = [
        path for file in _read_change_summary(warehouse, text, name) for path in (file.path, *file.deletes)
    ]
    side = json.loads(text).get("file")
    return [*files, side] if side else files


def may_cancel(files: Sequence[ChangeFile]) -> bool:
    """Whether rows of a change may be at neither end, or at both: then its weights have to be added up first.

    A row is at neither end if it was inserted and later deleted. Whole files that go while others come are a
    table that was written anew, mostly with the rows that it had. Files in one folder are one write's.
    """
    inserted: set[str] = set()
    for file in files:
        folder = file.path.rpartition("/")[0]
        if file.sign != "+" and inserted - {folder}:
            return True
        if file.sign != "-":
            inserted.add(folder)
    return {file.sign for file in files} >= {"+", "-"}


def _read_change_summary(warehouse: Warehouse, text: str, name: str) -> list[ChangeFile]:
    try:
        value = json.loads(text)
        if "file" in value:
            value = json.loads(warehouse.read_bytes(value["file"]))
        return [ChangeFile(sign, path, tuple(*deletes)) for sign, path, *deletes in value["pieces"]]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise Damaged(f'a version of "{name}" doesn\'t say what it changed', detail=str(error)) from error


def _read_foreign_changes(
    reader: TableReader, metadata: TableMetadata, snapshot: Snapshot, name: str
) -> tuple[ChangeFile, ...]:
    files = []
    io = reader.warehouse.io
    with translate_read_errors(f'a manifest of "{name}"'):
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
        # Of a removed file only the rows are deleted that weren't deleted before.
        parent = snapshot.parent_snapshot_id
        return tuple(_compare_file_lists(reader, metadata, parent, snapshot.snapshot_id, name))
    for entry in entries:
        if entry.status == ManifestEntryStatus.ADDED:
            files.append(ChangeFile("+", entry.data_file.file_path))
        elif entry.status == ManifestEntryStatus.DELETED:
            files.append(ChangeFile("-", entry.data_file.file_path))
    return tuple(sorted(files))
