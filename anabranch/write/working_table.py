"""A table as a transaction sees it: the version it began with, and what it did to it so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.commit.group_commit import CreateTable, DropTable, NewVersion, Step
from anabranch.commit.stage_metadata import Staged, stage_edit, stage_new_table
from anabranch.iceberg.change_files import ATTEMPT, CHANGES, ChangeFile, write_change_summary
from anabranch.iceberg.parquet_files import FileRef, Layout
from anabranch.iceberg.position_deletes import (
    DeleteFile,
    file_with_deletes,
    read_merged_positions,
    write_delete_file,
)
from anabranch.iceberg.table_reader import TableReader, translate_read_errors
from anabranch.iceberg.type_mapping import has_collections
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.streams.versions import TableVersion

MARKS_FORMAT = 2
"""The version of Iceberg's format that has position delete files."""


@dataclass
class WorkingTable:
    """The live files of a table, and the edits that led to them. Mutable, and owned by one transaction."""

    version: TableVersion
    reader: TableReader
    new: Staged | None = None
    dropped: bool = False
    base: Mapping[str, FileRef] | None = None
    added: dict[str, FileRef] = field(default_factory=dict)
    removed: dict[str, FileRef] = field(default_factory=dict)
    marked: dict[str, FileRef] = field(default_factory=dict)
    """Files of the base whose position deletes this transaction wrote, or wrote anew."""
    deletes: DeleteFile | None = None
    """The delete file with all position deletes, if this transaction wrote one."""
    change_files: list[ChangeFile] = field(default_factory=list)
    appends_only: bool = True
    compacted: bool = False

    @classmethod
    def create(
        cls, reader: TableReader, table_id: str, name: TableName, kind: str, schema: Schema
    ) -> WorkingTable:
        """A table that doesn't exist yet."""
        staged = stage_new_table(reader, table_id, schema)
        version = TableVersion(table_id, name, kind, schema, 0, None, 0, staged.metadata_location)
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
    def is_modified(self) -> bool:
        """Whether a commit has anything to say about this table."""
        if self.dropped:
            return self.new is None
        return self.new is not None or self.compacted or bool(self.change_files)

    @property
    def folder(self) -> str:
        """Where the table's files are."""
        return self.reader.read_metadata(self.version.metadata_location).location

    def base_files(self) -> Mapping[str, FileRef]:
        """The files of the version the transaction began with."""
        if self.base is None:
            metadata = self.reader.read_metadata(self.version.metadata_location)
            files = self.reader.list_files(metadata, self.version.snapshot_id, str(self.name))
            self.base = {file.path: file for file in files}
        return self.base

    def live_files(self) -> dict[str, FileRef]:
        """The files that hold the table's rows now, as the transaction sees them."""
        base = self.base_files()
        kept = {path: self.marked.get(path, file) for path, file in base.items() if path not in self.removed}
        return kept | self.added

    def merge_on_read_files(self) -> frozenset[str]:
        """The files that can get position deletes: those of the base, if the table's format has them."""
        metadata = self.reader.read_metadata(self.version.metadata_location)
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
        return self.reader.layout(self.reader.read_metadata(self.version.metadata_location))

    # -- edits --------------------------------------------------------------------------------

    def append(self, files: Iterable[FileRef]) -> None:
        """Add rows, in files of their own."""
        for file in files:
            self.added[file.path] = file
            self.change_files.append(ChangeFile("+", file.path))

    def replace(self, gone: Iterable[FileRef], come: Iterable[FileRef], changes: Iterable[str]) -> None:
        """Replace files by rewritten ones; `changes` are the change files."""
        self.appends_only = False
        for file in gone:
            if self.added.pop(file.path, None) is None:
                self.removed[file.path] = file
        self.added.update((file.path, file) for file in come)
        self.change_files.extend(ChangeFile("~", path) for path in changes)

    def write_position_deletes(self, positions: Mapping[str, Sequence[int]], path: str) -> None:
        """Delete rows of files of the base: a new delete file at `path` lists them and all earlier ones."""
        self.appends_only = False
        live, warehouse = self.live_files(), self.reader.warehouse
        marks = read_merged_positions(warehouse, live, positions)
        self.deletes = write_delete_file(warehouse, marks, path)
        self.marked.update((at, file_with_deletes(live[at], marks[at], path)) for at in marks)

    def clear(self) -> int:
        """Remove all rows; how many there were."""
        # Also where there is nothing to remove: this commit must not be merged with others' inserts.
        self.appends_only = False
        live = self.live_files()
        if not live:
            return 0
        self.change_files.extend(ChangeFile("-", path, live[path].deletes) for path in sorted(live))
        self.removed.update((path, file) for path, file in live.items() if path not in self.added)
        self.added.clear()
        return sum(file.rows for file in live.values())

    def compact(self, gone: Iterable[FileRef], come: Iterable[FileRef]) -> None:
        """Replace files by others with the same rows."""
        self.replace(gone, come, ())
        self.compacted = True

    def rebase(self, version: TableVersion) -> None:
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
        staged = self._stage_edit(attempt, file_name)
        if self.new is not None:
            final = staged or self.new
            version = self.version
            return [CreateTable(version.table_id, self.name, version.kind, self.schema, final)]
        if staged is None:
            return []
        expected = self.version.metadata_location
        return [NewVersion(self.version.table_id, self.name, self.schema, expected, staged)]

    def _stage_edit(self, attempt: str, file_name: str) -> Staged | None:
        if not self.change_files and not self.compacted:
            return None
        summary = {ATTEMPT: attempt}
        if not self.appends_only:
            side_file = f"{self.folder}/changes/{file_name}.json"
            summary[CHANGES] = write_change_summary(self.reader.warehouse, self.change_files, side_file)
        marked_in = {path for file in self.live_files().values() for path in file.deletes}
        deletes = [self.deletes] if self.deletes is not None and self.deletes.path in marked_in else []
        with translate_read_errors(f'the metadata of "{self.name}"'):
            return stage_edit(
                self.reader,
                self.reader.read_metadata(self.version.metadata_location),
                self.version.metadata_location,
                removed=self.removed.values(),
                added=self.added.values(),
                summary=summary,
                name=str(self.name),
                deletes=deletes,
                marked_in=marked_in,
            )
