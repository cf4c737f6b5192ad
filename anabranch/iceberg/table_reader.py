"""Reading Iceberg metadata: which files a version has. Metadata files never change, so they are cached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestFile
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from anabranch.bounded_cache import Cache
from anabranch.errors import AnabranchError, Damaged, ForeignFormat, StorageError, VersionExpired
from anabranch.iceberg.parquet_files import FileRef, Layout
from anabranch.iceberg.position_deletes import Marks, read_delete_file, union_positions
from anabranch.iceberg.warehouse import Warehouse

if TYPE_CHECKING:
    from anabranch.iceberg.change_files import ChangeFile

CACHED_SNAPSHOTS = 50_000
"""How many snapshots all cached metadata may list: they are what makes it large."""
CACHED_FILES = 100_000
"""How many data files all cached listings may have, and how many files all cached changes."""
CACHED_LAYOUTS = 512
CACHED_MARKS = 16
KEPT_PER_TABLE = 4
"""Metadata of a table: the newest, and that of writes in progress."""
LISTED_PER_TABLE = 16
"""Versions of a table: the newest, those that refreshes have seen, and those of writes in progress."""


class TableReader:
    """Reads the metadata of tables."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self._metadata: Cache[TableMetadata] = Cache(
            CACHED_SNAPSHOTS,
            weigh=lambda metadata: 1 + len(metadata.snapshots),
            owner=lambda metadata: metadata.table_uuid,
            each=KEPT_PER_TABLE,
        )
        self._listings: Cache[_Listing] = Cache(
            CACHED_FILES,
            weigh=lambda listing: 1 + len(listing.files),
            owner=lambda listing: listing.table,
            each=LISTED_PER_TABLE,
        )
        self.changes: Cache[tuple[ChangeFile, ...]] = Cache(CACHED_FILES, weigh=lambda files: 1 + len(files))
        """What commits changed, by the manifest list of the snapshot that each of them made."""
        self._layouts: Cache[Layout] = Cache(CACHED_LAYOUTS)
        self._marks: Cache[Marks] = Cache(CACHED_MARKS)

    def read_metadata(self, location: str) -> TableMetadata:
        """The table metadata at `location`."""

        def load() -> TableMetadata:
            with translate_read_errors(f"the metadata file {location}"):
                return FromInputFile.table_metadata(self.warehouse.io.new_input(location))

        return self._metadata.get(location, load)

    def layout(self, metadata: TableMetadata) -> Layout:
        """How new files of a table are written."""
        key = f"{metadata.table_uuid.hex}/{metadata.current_schema_id}"
        return self._layouts.get(key, lambda: Layout.from_schema(metadata.schema()))

    def cache_metadata(self, location: str, metadata: TableMetadata) -> None:
        """Metadata that was just written needn't be read again."""
        self._metadata.get(location, lambda: metadata)

    def snapshot(self, metadata: TableMetadata, snapshot_id: int, name: str) -> Snapshot:
        """A snapshot that the metadata still lists, or `VersionExpired`."""
        found = metadata.snapshot_by_id(snapshot_id)
        if found is None:
            raise VersionExpired(
                f'a version of "{name}" is no longer kept',
                hint="to keep versions longer, raise snapshot_retention or hold a snapshot() open.",
            )
        return found

    def list_files(self, metadata: TableMetadata, snapshot_id: int | None, name: str) -> tuple[FileRef, ...]:
        """The live data files of a version, in a fixed order."""
        if snapshot_id is None:
            return ()
        snapshot = self.snapshot(metadata, snapshot_id, name)
        load = partial(self._read_listing, metadata.table_uuid, snapshot, name)
        return self._listings.get(snapshot.manifest_list, load).files

    def count_rows(self, metadata: TableMetadata, snapshot_id: int | None, name: str) -> int:
        """How many rows a version has: as its summary says, unless there are delete files."""
        snapshot = None if snapshot_id is None else metadata.snapshot_by_id(snapshot_id)
        summary = None if snapshot is None else snapshot.summary
        if summary is None:
            return 0
        if int(summary.additional_properties.get("total-delete-files", 0)):
            # Position deletes may be of removed files: the totals don't tell.
            try:
                return sum(file.rows for file in self.list_files(metadata, snapshot_id, name))
            except ForeignFormat:
                pass  # this lake can't read it: the number is all that it shows
        return int(summary.additional_properties.get("total-records", 0))

    def _read_listing(self, table: UUID, snapshot: Snapshot, name: str) -> _Listing:
        # Most manifests of a version are those of the one before.
        known = self._listings.values_of_owner(table)
        manifests: dict[str, tuple[_Entry, ...]] = {}
        with translate_read_errors(f'a manifest of "{name}"'):
            for manifest in snapshot.manifests(self.warehouse.io):
                # Another client's overwrites leave manifests behind in which nothing is live.
                if manifest.has_added_files() or manifest.has_existing_files():
                    path = manifest.manifest_path
                    seen = next((one.manifests[path] for one in known if path in one.manifests), None)
                    manifests[path] = self._read_manifest(manifest, name) if seen is None else seen
        found = [entry for entries in manifests.values() for entry in entries]
        return _Listing(table, self._resolve_data_files(found, name), manifests)

    def _resolve_data_files(self, found: Sequence[_Entry], name: str) -> tuple[FileRef, ...]:
        """The data files among the entries, with the number of their live rows."""
        data = sorted((one for one in found if not one.deletes), key=lambda one: one.file.path)
        deletes = sorted((one for one in found if one.deletes), key=lambda one: one.file.path)
        if not deletes:
            return tuple(one.file for one in data)
        return self._apply_delete_files(data, deletes, name)

    def _read_manifest(self, manifest: ManifestFile, name: str) -> tuple[_Entry, ...]:
        return tuple(
            _Entry(
                entry.sequence_number or 0,
                FileRef(
                    file.file_path, file.record_count, file.file_size_in_bytes, _without_statistics(file)
                ),
                is_position_delete(file, name),
            )
            for entry in manifest.fetch_manifest_entry(self.warehouse.io)
            if (file := entry.data_file)
        )

    def _apply_delete_files(
        self, data: Sequence[_Entry], deletes: Sequence[_Entry], name: str
    ) -> tuple[FileRef, ...]:
        """The data files, each with its position deletes."""
        with translate_read_errors(f'a delete file of "{name}"'):
            marks = [
                (one, self._marks.get(one.file.path, partial(self._read_delete_file, one.file)))
                for one in deletes
            ]
        paths = tuple(one.file.path for one in deletes)
        result = []
        for number, file, _ in data:
            found = [(one, places[file.path]) for one, places in marks if file.path in places]
            if any(one.number < number for one, _ in found):
                raise ForeignFormat(
                    f'rows of "{name}" are marked as deleted in a file that came later', detail=file.path
                )
            marked = union_positions([places for _, places in found])
            if len(marked) and marked[-1] >= file.rows:
                raise Damaged(
                    f'rows of "{name}" are marked as deleted that never were',
                    detail=f"{file.path} has {file.rows} rows, {marked[-1] + 1} are marked.",
                )
            # All delete files for each data file: then reading them once serves all.
            result.append(
                replace(file, rows=file.rows - len(marked), deletes=paths, marked=len(marked))
                if len(marked)
                else file
            )
        return tuple(result)

    def _read_delete_file(self, file: FileRef) -> Marks:
        return read_delete_file(self.warehouse, file.path)


class _Entry(NamedTuple):
    """A live entry of a manifest: the sequence number orders data and what deletes from it."""

    number: int
    file: FileRef
    deletes: bool


def _without_statistics(file: DataFile) -> DataFile:
    """A listed file without statistics, which are most of an entry: enough to remove it later."""
    named = DataFile.from_args(
        content=file.content,
        file_path=file.file_path,
        file_format=file.file_format,
        partition=file.partition,
        record_count=file.record_count,
        file_size_in_bytes=file.file_size_in_bytes,
    )
    named.spec_id = file.spec_id
    return named


class _Listing(NamedTuple):
    """The files of a version of a table, and the entries by manifest."""

    table: UUID
    files: tuple[FileRef, ...]
    manifests: Mapping[str, tuple[_Entry, ...]]


@contextmanager
def translate_read_errors(what: str) -> Iterator[None]:
    """Around the reading of metadata: a file that can't be decoded is `Damaged`.

    pyiceberg's readers don't check their input, so any exception may come of it.
    """
    try:
        yield
    except AnabranchError:
        raise
    except Exception as error:
        lines = str(error).splitlines() or [type(error).__name__]
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            # No permission, or no space left: the file isn't damaged.
            raise StorageError(f"{what} can't be read or written", detail=lines[0][:300]) from error
        raise Damaged(f"{what} can't be read", detail=lines[0][:300]) from error


def is_position_delete(file: DataFile, name: str) -> bool:
    """Whether an entry is a position delete file, and not data; other delete files are refused."""
    if file.content == DataFileContent.DATA:
        return False
    if file.content == DataFileContent.POSITION_DELETES and file.file_format == FileFormat.PARQUET:
        return True
    kind = "equality deletes" if file.content == DataFileContent.EQUALITY_DELETES else file.file_format.name
    raise ForeignFormat(
        f'"{name}" has delete files that are not read here',
        detail=f"another Iceberg client deleted rows by {kind}; position deletes in Parquet files are read.",
        hint="let that client rewrite the table's data files (copy-on-write).",
    )
