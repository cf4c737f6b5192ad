"""A table as a transaction sees it: the version it began with, and what it did to it so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.ledger.records import Version
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.storage.changes import ATTEMPT, CHANGES, Piece, describe
from anabranch.storage.commit import CreateTable, DropTable, NewVersion, Step
from anabranch.storage.deletes import DeleteFile, all_marks, marked_file, write_deletes
from anabranch.storage.files import FileRef, Layout
from anabranch.storage.stage import Staged, stage_edit, stage_new_table
from anabranch.storage.tables import TableReader, decoding
from anabranch.storage.types import has_collections

MARKS_FORMAT = 2
"""The version of Iceberg's format in which rows are marked by delete files."""


@dataclass
class WorkingTable:
    """Live files, and how they came about. Mutable, and owned by one transaction."""

    version: Version
    reader: TableReader
    new: Staged | None = None
    dropped: bool = False
    base: Mapping[str, FileRef] | None = None
    added: dict[str, FileRef] = field(default_factory=dict)
    removed: dict[str, FileRef] = field(default_factory=dict)
    marked: dict[str, FileRef] = field(default_factory=dict)
    """Files of the base in which this transaction marked rows as gone, or marked them anew."""
    deletes: DeleteFile | None = None
    """The delete file with all marks, if this transaction wrote one."""
    pieces: list[Piece] = field(default_factory=list)
    appends_only: bool = True
    compacted: bool = False

    @classmethod
    def create(
        cls, reader: TableReader, table_id: str, name: TableName, kind: str, schema: Schema
    ) -> WorkingTable:
        """A table that doesn't exist yet."""
        staged = stage_new_table(reader, table_id, schema)
        version = Version(table_id, name, kind, schema, 0, None, 0, staged.metadata_location)
        return cls(version, reader, new=staged)

    @property
    def name(self) -> TableName:
        """The table's name."""
        return self.version.name

    @property
    def schema(self) -> Schema:
        """The declared schema."""
        return self.version.schema

    @property
    def touched(self) -> bool:
        """Whether a commit has anything to say about this table."""
        if self.dropped:
            return self.new is None
        return self.new is not None or self.compacted or bool(self.pieces)

    @property
    def folder(self) -> str:
        """Where the table's files are."""
        return self.reader.metadata(self.version.metadata_location).location

    def base_files(self) -> Mapping[str, FileRef]:
        """The files of the version the transaction began with."""
        if self.base is None:
            metadata = self.reader.metadata(self.version.metadata_location)
            files = self.reader.files(metadata, self.version.snapshot_id, str(self.name))
            self.base = {file.path: file for file in files}
        return self.base

    def live(self) -> dict[str, FileRef]:
        """The files that hold the table's rows now, as the transaction sees them."""
        base = self.base_files()
        kept = {path: self.marked.get(path, file) for path, file in base.items() if path not in self.removed}
        return kept | self.added

    def markable(self) -> frozenset[str]:
        """The files in which rows can be marked as gone: those of the base, where Iceberg knows of marks."""
        metadata = self.reader.metadata(self.version.metadata_location)
        if metadata.format_version != MARKS_FORMAT:
            return frozenset()
        return frozenset(self.base_files().keys() - self.removed.keys())

    def field_ids(self) -> dict[str, int]:
        """Iceberg's ids of the columns, where Spark can write them for the whole row."""
        if has_collections(self.schema):
            return {}
        return dict(self.layout.field_ids)

    @property
    def layout(self) -> Layout:
        """How the table's files are written."""
        return self.reader.layout(self.reader.metadata(self.version.metadata_location))

    # -- edits --------------------------------------------------------------------------------

    def append(self, files: Iterable[FileRef]) -> None:
        """Rows were added, in files of their own."""
        for file in files:
            self.added[file.path] = file
            self.pieces.append(Piece("+", file.path))

    def replace(self, gone: Iterable[FileRef], come: Iterable[FileRef], changes: Iterable[str]) -> None:
        """Files were rewritten; what changed stands in change files."""
        self.appends_only = False
        for file in gone:
            if self.added.pop(file.path, None) is None:
                self.removed[file.path] = file
        self.added.update((file.path, file) for file in come)
        self.pieces.extend(Piece("~", path) for path in changes)

    def mark(self, positions: Mapping[str, Sequence[int]], path: str) -> None:
        """Rows of files of the base go: a new delete file at `path` says so, and all that was said before."""
        self.appends_only = False
        live, warehouse = self.live(), self.reader.warehouse
        marks = all_marks(warehouse, live, positions)
        self.deletes = write_deletes(warehouse, marks, path)
        self.marked.update((at, marked_file(live[at], marks[at], path)) for at in marks)

    def clear(self) -> int:
        """All rows were removed; how many there were."""
        # Also where there is nothing to remove: what follows must not join what others add meanwhile.
        self.appends_only = False
        live = self.live()
        if not live:
            return 0
        self.pieces.extend(Piece("-", path, live[path].deletes) for path in sorted(live))
        self.removed.update((path, file) for path, file in live.items() if path not in self.added)
        self.added.clear()
        return sum(file.rows for file in live.values())

    def compact(self, gone: Iterable[FileRef], come: Iterable[FileRef]) -> None:
        """Files were rewritten into others with the same rows."""
        self.replace(gone, come, ())
        self.compacted = True

    def rebase(self, version: Version) -> None:
        """Begin from a newer version: with the same rows, or appends only."""
        self.version = version
        self.base = None

    # -- committing ---------------------------------------------------------------------------

    def stage(self, attempt: str, file_name: str) -> list[Step]:
        """New metadata for what was done, and the steps that make it visible.

        `file_name` is a fresh one: an attempt's name is the user's, and may be tried again.
        """
        if self.dropped:
            if self.new is not None:
                return []
            return [DropTable(self.version.table_id, self.name, self.version.metadata_location)]
        staged = self._staged_edit(attempt, file_name)
        if self.new is not None:
            final = staged or self.new
            version = self.version
            return [CreateTable(version.table_id, self.name, version.kind, self.schema, final)]
        if staged is None:
            return []
        expected = self.version.metadata_location
        return [NewVersion(self.version.table_id, self.name, self.schema, expected, staged)]

    def _staged_edit(self, attempt: str, file_name: str) -> Staged | None:
        if not self.pieces and not self.compacted:
            return None
        summary = {ATTEMPT: attempt}
        if not self.appends_only:
            side_file = f"{self.folder}/changes/{file_name}.json"
            summary[CHANGES] = describe(self.reader.warehouse, self.pieces, side_file)
        marked_in = {path for file in self.live().values() for path in file.deletes}
        deletes = [self.deletes] if self.deletes is not None and self.deletes.path in marked_in else []
        with decoding(f'the metadata of "{self.name}"'):
            return stage_edit(
                self.reader,
                self.reader.metadata(self.version.metadata_location),
                self.version.metadata_location,
                removed=self.removed.values(),
                added=self.added.values(),
                summary=summary,
                name=str(self.name),
                deletes=deletes,
                marked_in=marked_in,
            )
