"""Reading Iceberg metadata: which files a version has. Metadata files never change, so they are cached."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Generic, TypeVar

from pyiceberg.manifest import DataFileContent, ManifestContent, ManifestFile
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from anabranch.errors import AnabranchError, Damaged, ForeignFormat, StorageError, VersionExpired
from anabranch.storage.files import FileRef, Layout
from anabranch.storage.warehouse import Warehouse

T = TypeVar("T")
CACHED_METADATA = 512
CACHED_LISTINGS = 512
CACHED_MANIFESTS = 2048


class TableReader:
    """What the metadata of tables says."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self._metadata: _Cache[TableMetadata] = _Cache(CACHED_METADATA)
        self._layouts: _Cache[Layout] = _Cache(CACHED_LISTINGS)
        self._files: _Cache[tuple[FileRef, ...]] = _Cache(CACHED_LISTINGS)
        self._manifests: _Cache[tuple[FileRef, ...]] = _Cache(CACHED_MANIFESTS)

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

    def _list(self, snapshot: Snapshot, name: str) -> tuple[FileRef, ...]:
        found: list[FileRef] = []
        with decoding(f'a manifest of "{name}"'):
            for manifest in snapshot.manifests(self.warehouse.io):
                # Another client's overwrites leave manifests behind in which nothing is live.
                if manifest.has_added_files() or manifest.has_existing_files():
                    found += self._manifests.get(manifest.manifest_path, partial(self._live, manifest, name))
        return tuple(sorted(found, key=lambda file: file.path))

    def _live(self, manifest: ManifestFile, name: str) -> tuple[FileRef, ...]:
        if manifest.content == ManifestContent.DELETES:
            raise delete_files(name)
        files = [entry.data_file for entry in manifest.fetch_manifest_entry(self.warehouse.io)]
        if any(file.content != DataFileContent.DATA for file in files):
            raise delete_files(name)
        return tuple(
            FileRef(file.file_path, file.record_count, file.file_size_in_bytes, file) for file in files
        )


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


def row_count(metadata: TableMetadata, snapshot_id: int | None) -> int:
    """How many rows a version has, as its summary says."""
    snapshot = None if snapshot_id is None else metadata.snapshot_by_id(snapshot_id)
    summary = None if snapshot is None else snapshot.summary
    return 0 if summary is None else int(summary.additional_properties.get("total-records", 0))


def delete_files(name: str) -> ForeignFormat:
    """The error for tables in which another client marked rows as deleted."""
    return ForeignFormat(
        f'"{name}" has delete files, which are not read here',
        detail="another Iceberg client deleted rows by merge-on-read.",
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
