"""Reading Iceberg metadata: which files a version has. Metadata files never change, so they are cached."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestFile
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from anabranch.errors import AnabranchError, Damaged, ForeignFormat, StorageError, VersionExpired
from anabranch.storage.deletes import Marks, read_deletes, united
from anabranch.storage.files import FileRef, Layout
from anabranch.storage.warehouse import Warehouse

T = TypeVar("T")
CACHED_METADATA = 512
CACHED_LISTINGS = 512
CACHED_MANIFESTS = 2048
CACHED_MARKS = 16


class TableReader:
    """What the metadata of tables says."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self._metadata: _Cache[TableMetadata] = _Cache(CACHED_METADATA)
        self._layouts: _Cache[Layout] = _Cache(CACHED_LISTINGS)
        self._files: _Cache[tuple[FileRef, ...]] = _Cache(CACHED_LISTINGS)
        self._manifests: _Cache[tuple[_Entry, ...]] = _Cache(CACHED_MANIFESTS)
        self._marks: _Cache[Marks] = _Cache(CACHED_MARKS)

    def metadata(self, location: str) -> TableMetadata:
        """The table metadata at `location`."""

        def load() -> TableMetadata:
            with decoding(f"the metadata file {location}"):
                return FromInputFile.table_metadata(self.warehouse.io.new_input(location))

        return self._metadata.get(location, load)

    def layout(self, metadata: TableMetadata) -> Layout:
        """How new files of a table are written."""
        key = f"{metadata.table_uuid.hex}/{metadata.current_schema_id}"
        return self._layouts.get(key, lambda: Layout.of(metadata.schema()))

    def remember(self, location: str, metadata: TableMetadata) -> None:
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

    def files(self, metadata: TableMetadata, snapshot_id: int | None, name: str) -> tuple[FileRef, ...]:
        """The live data files of a version, in a fixed order."""
        if snapshot_id is None:
            return ()
        snapshot = self.snapshot(metadata, snapshot_id, name)
        return self._files.get(snapshot.manifest_list, lambda: self._list(snapshot, name))

    def rows(self, metadata: TableMetadata, snapshot_id: int | None, name: str) -> int:
        """How many rows a version has: as its summary says, unless some are marked as gone."""
        snapshot = None if snapshot_id is None else metadata.snapshot_by_id(snapshot_id)
        summary = None if snapshot is None else snapshot.summary
        if summary is None:
            return 0
        if int(summary.additional_properties.get("total-delete-files", 0)):
            # Marks may be in files that are gone: the totals don't tell.
            try:
                return sum(file.rows for file in self.files(metadata, snapshot_id, name))
            except ForeignFormat:
                pass  # it can't be read here: nobody will see more than this number of it
        return int(summary.additional_properties.get("total-records", 0))

    def _list(self, snapshot: Snapshot, name: str) -> tuple[FileRef, ...]:
        found: list[_Entry] = []
        with decoding(f'a manifest of "{name}"'):
            for manifest in snapshot.manifests(self.warehouse.io):
                # Another client's overwrites leave manifests behind in which nothing is live.
                if manifest.has_added_files() or manifest.has_existing_files():
                    found += self._manifests.get(manifest.manifest_path, partial(self._live, manifest, name))
        data = sorted((one for one in found if not one.deletes), key=lambda one: one.file.path)
        deletes = sorted((one for one in found if one.deletes), key=lambda one: one.file.path)
        if not deletes:
            return tuple(one.file for one in data)
        return self._without_marked(data, deletes, name)

    def _live(self, manifest: ManifestFile, name: str) -> tuple[_Entry, ...]:
        return tuple(
            _Entry(
                entry.sequence_number or 0,
                FileRef(file.file_path, file.record_count, file.file_size_in_bytes, file),
                is_position_delete(file, name),
            )
            for entry in manifest.fetch_manifest_entry(self.warehouse.io)
            if (file := entry.data_file)
        )

    def _without_marked(
        self, data: Sequence[_Entry], deletes: Sequence[_Entry], name: str
    ) -> tuple[FileRef, ...]:
        """The data files, each with what delete files mark in it."""
        with decoding(f'a delete file of "{name}"'):
            marks = [(one, self._marks.get(one.file.path, partial(self._read, one.file))) for one in deletes]
        paths = tuple(one.file.path for one in deletes)
        result = []
        for number, file, _ in data:
            found = [(one, places[file.path]) for one, places in marks if file.path in places]
            if any(one.number < number for one, _ in found):
                raise ForeignFormat(
                    f'rows of "{name}" are marked as deleted in a file that came later', detail=file.path
                )
            marked = united([places for _, places in found])
            if len(marked) and marked[-1] >= file.rows:
                raise Damaged(
                    f'rows of "{name}" are marked as deleted that never were',
                    detail=f"{file.path} has {file.rows} rows, {marked[-1] + 1} are marked.",
                )
            # All delete files for each: then one look at them serves all data files.
            result.append(
                replace(file, rows=file.rows - len(marked), deletes=paths, marked=len(marked))
                if len(marked)
                else file
            )
        return tuple(result)

    def _read(self, file: FileRef) -> Marks:
        return read_deletes(self.warehouse, file.path)


class _Entry(NamedTuple):
    """A live entry of a manifest: the sequence number orders data and what deletes from it."""

    number: int
    file: FileRef
    deletes: bool


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Around the reading of metadata: bytes that lead nowhere are `Damaged`.

    pyiceberg's readers follow the bytes wherever they lead, so any exception may come of them.
    """
    try:
        yield
    except AnabranchError:
        raise
    except Exception as error:
        lines = str(error).splitlines() or [type(error).__name__]
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            # No permission, or no space left: a pity, but no damage.
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


class _Cache(Generic[T]):
    """A bounded map from a key to a value that never changes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, T] = OrderedDict()

    def get(self, key: str, load: Callable[[], T]) -> T:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        value = load()
        with self._lock:
            self._kept[key] = value
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return value
