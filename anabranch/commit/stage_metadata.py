"""From an edit of a table to new Iceberg metadata, written but not yet pointed at.

The only module that uses private parts of pyiceberg: its snapshot producers write manifests and
return the new metadata as updates; the catalog points at it later. Contract tests check these calls
against the pinned version.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestFile, ManifestWriterV2
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.name_mapping import create_mapping_from_schema
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import (
    RemoveSnapshotsUpdate,
    TableUpdate,
    _apply_table_update,
    _TableMetadataUpdateContext,
    _update_table_metadata_log,
    update_table_metadata,
)
from pyiceberg.table.update.snapshot import (
    _ManifestMergeManager,
    _MergeAppendFiles,
    _OverwriteFiles,
    _SnapshotProducer,
)
from pyiceberg.typedef import EMPTY_DICT

from anabranch.errors import ForeignFormat
from anabranch.iceberg.parquet_files import FileRef
from anabranch.iceberg.position_deletes import DeleteFile
from anabranch.iceberg.table_reader import TableReader
from anabranch.iceberg.type_mapping import to_iceberg
from anabranch.schema import Schema

KEPT_METADATA_FILES = 20
MANIFESTS_BEFORE_MERGE = 30
MANIFEST_BYTES = 8 << 20

_PROPERTIES = {
    "format-version": "2",
    "write.format.default": "parquet",
    "write.parquet.compression-codec": "zstd",
    "write.metadata.previous-versions-max": str(KEPT_METADATA_FILES),
    # Small appends would otherwise leave one manifest each, and every reader opens all of them.
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": str(MANIFESTS_BEFORE_MERGE),
}


@dataclass(frozen=True)
class Staged:
    """New metadata of a table, and the version that it makes the newest."""

    metadata_location: str
    metadata: TableMetadata
    snapshot_id: int | None
    rows: int
    schema_id: int


def stage_new_table(reader: TableReader, table_id: str, schema: Schema) -> Staged:
    """Metadata of a table without rows. Its location is its id: names stay out of paths."""
    fields = to_iceberg(schema)
    properties = dict(_PROPERTIES)
    metadata = new_table_metadata(
        schema=fields,
        partition_spec=UNPARTITIONED_PARTITION_SPEC,
        sort_order=UNSORTED_SORT_ORDER,
        location=reader.warehouse.table_location(table_id),
        properties=properties,
        table_uuid=UUID(table_id),
    )
    # Spark writes no field ids inside lists and maps; readers then go by the names in this mapping.
    mapping = create_mapping_from_schema(metadata.schema()).model_dump_json()
    metadata = metadata.model_copy(
        update={"properties": {**metadata.properties, "schema.name-mapping.default": mapping}}
    )
    return _write_metadata(reader, metadata, None, version=0)


def stage_edit(
    reader: TableReader,
    base: TableMetadata,
    base_location: str,
    *,
    removed: Iterable[FileRef],
    added: Iterable[FileRef],
    summary: Mapping[str, str],
    name: str,
    deletes: Iterable[DeleteFile] = (),
    marked_in: Container[str] = frozenset(),
) -> Staged:
    """Metadata with one more snapshot: without the removed files, with the added ones.

    `deletes` are new delete files. Of those that are listed already only the ones in `marked_in` stay.
    """
    if not base.spec().is_unpartitioned():
        raise ForeignFormat(
            f'"{name}" is partitioned, and partitioned tables can only be read here',
            hint="write to it with the client that created it.",
        )
    removed, added, deletes = list(removed), list(added), list(deletes)
    transaction = _Staging(_pyiceberg_table(reader, base, base_location))
    properties, io = dict(summary), reader.warehouse.io
    producer: _SnapshotProducer[Any]
    if removed or deletes:
        producer = _Replace(Operation.OVERWRITE, transaction, io, snapshot_properties=properties)
        producer.marks = _DeleteFileEdit(deletes, marked_in)
    else:
        producer = _MergeAppendFiles(Operation.APPEND, transaction, io, snapshot_properties=properties)
    # A new manifest per edit; merged into larger ones once there are many.
    with producer as snapshot:
        for file in removed:
            snapshot.delete_data_file(file.entry)
        for file in added:
            snapshot.append_data_file(file.entry)
    return _stage_updates(reader, base, base_location, transaction._updates)


def stage_expiry(
    reader: TableReader, base: TableMetadata, base_location: str, snapshots: Iterable[int]
) -> Staged:
    """Metadata that no longer lists some old snapshots. Their files are swept later."""
    return _stage_updates(
        reader, base, base_location, (RemoveSnapshotsUpdate(snapshot_ids=sorted(snapshots)),)
    )


class _DeletesWriter(ManifestWriterV2):
    """Writes a manifest of delete files; pyiceberg's own writers know data only."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


@dataclass(frozen=True)
class _DeleteFileEdit:
    """An edit of a table's delete files: new ones, and which of the listed ones stay."""

    come: Sequence[DeleteFile] = ()
    stay: Container[str] = frozenset()


class _Replace(_OverwriteFiles):
    """Replaces files by others; manifests are merged as for an append.

    pyiceberg's own overwrite merges none, and carries those of earlier overwrites along even when
    they have no live file left: every later read and write would open them all. It writes no delete
    files, either, and never removes any.
    """

    marks = _DeleteFileEdit()
    _dropped: Sequence[ManifestEntry] = ()

    def _existing_manifests(self) -> list[ManifestFile]:
        kept = super()._existing_manifests()
        return [manifest for manifest in kept if manifest.has_added_files() or manifest.has_existing_files()]

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        deletes = [manifest for manifest in manifests if manifest.content == ManifestContent.DELETES]
        data = [manifest for manifest in manifests if manifest.content == ManifestContent.DATA]
        return self._merge_manifests(data) + self._delete_manifests(deletes)

    def _delete_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        """The delete files that are listed from now on, in one manifest if they aren't the ones before."""
        listed = [entry for manifest in manifests for entry in self.fetch_manifest_entry(manifest)]
        self._dropped = [entry for entry in listed if entry.data_file.file_path not in self.marks.stay]
        if not self._dropped and not self.marks.come:
            return manifests
        table = self._transaction.table_metadata
        with _DeletesWriter(
            table.spec(), table.schema(), self.new_manifest_output(), self._snapshot_id, self._compression
        ) as writer:
            for file in self.marks.come:
                writer.add(ManifestEntry.from_args(data_file=file.entry))
            for entry in listed:
                stays = entry.data_file.file_path in self.marks.stay
                (writer.existing if stays else writer.delete)(entry)
        return [writer.to_manifest_file()]

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        # Called when all manifests are written: after this these files are only counted.
        self._added_data_files = [*self._added_data_files, *(file.entry for file in self.marks.come)]
        self._deleted_data_files |= {entry.data_file for entry in self._dropped}
        return super()._summary(snapshot_properties)

    def _merge_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        merger: _ManifestMergeManager[_OverwriteFiles] = _ManifestMergeManager(
            target_size_bytes=MANIFEST_BYTES,
            min_count_to_merge=MANIFESTS_BEFORE_MERGE,
            merge_enabled=True,
            snapshot_producer=self,
        )
        return merger.merge_manifests(manifests)


class _Staging(Transaction):
    """A transaction that is never committed, only asked what it would change.

    pyiceberg makes a deep copy of the metadata at each of some fifteen reads of it per snapshot;
    nobody changes it in place, so one copy per update is enough.
    """

    _seen: tuple[tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        if not self._updates:
            return self._table.metadata
        if self._seen is None or self._seen[0] is not self._updates:
            self._seen = (self._updates, update_table_metadata(self._table.metadata, self._updates))
        return self._seen[1]


def _stage_updates(
    reader: TableReader, base: TableMetadata, base_location: str, updates: tuple[TableUpdate, ...]
) -> Staged:
    metadata = _apply_updates(base, updates, base_location)
    return _write_metadata(
        reader, metadata, metadata.current_snapshot_id, version=_metadata_file_number(base_location) + 1
    )


def _apply_updates(base: TableMetadata, updates: tuple[TableUpdate, ...], location: str) -> TableMetadata:
    """pyiceberg's `update_table_metadata`, but for the deep copy of every snapshot that ends it.

    Times never go back, whatever the clock does.
    """
    context = _TableMetadataUpdateContext()
    metadata = base
    for update in updates:
        metadata = _apply_table_update(update, metadata, context)
    metadata = _update_table_metadata_log(metadata, location, base.last_updated_ms)
    last = max(metadata.last_updated_ms, base.last_updated_ms + 1)
    return metadata.model_copy(update={"last_updated_ms": last})


def _write_metadata(
    reader: TableReader, metadata: TableMetadata, snapshot_id: int | None, *, version: int
) -> Staged:
    provider = load_location_provider(metadata.location, metadata.properties)
    location = provider.new_table_metadata_file_location(version)
    ToOutputFile.table_metadata(metadata, reader.warehouse.io.new_output(location))
    reader.cache_metadata(location, metadata)
    rows = reader.count_rows(metadata, snapshot_id, "a table that is being written")
    return Staged(location, metadata, snapshot_id, rows, metadata.current_schema_id)


def _pyiceberg_table(reader: TableReader, metadata: TableMetadata, location: str) -> Table:
    return Table(
        identifier=("staged", metadata.table_uuid.hex),
        metadata=metadata,
        metadata_location=location,
        io=reader.warehouse.io,
        catalog=NoopCatalog("staged"),
    )


def _metadata_file_number(location: str) -> int:
    """The number at the front of a metadata file's name; another client's may have none.

    >>> _metadata_file_number("file:///w/t/metadata/00012-4f0c.metadata.json")
    12
    """
    digits = location.rpartition("/")[2].partition("-")[0]
    return int(digits) if digits.isdigit() else 0
