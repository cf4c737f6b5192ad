"""What `storage` takes for granted in pyiceberg, much of it private. A new version must pass here first."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.catalog.sql import IcebergNamespaceProperties, IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.io.pyarrow import (
    PyArrowFileIO,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema, index_name_by_id
from pyiceberg.serializers import FromInputFile, ToOutputFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.delete_file_index import DeleteFileIndex
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.snapshots import Operation, SnapshotSummaryCollector
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    RemoveSnapshotsUpdate,
    SetSnapshotRefUpdate,
    update_table_metadata,
)
from pyiceberg.table.update.snapshot import (
    _ManifestMergeManager,
    _MergeAppendFiles,
    _OverwriteFiles,
    _SnapshotProducer,
)
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType, StructType

from anabranch.commit.stage_metadata import _apply_updates, _DeletesWriter
from anabranch.ledger import tables

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "word", StringType()))
ID = UUID(int=7)
IO = PyArrowFileIO()


def new_metadata(place: Path, **properties: str) -> TableMetadata:
    return new_table_metadata(
        schema=SCHEMA,
        partition_spec=UNPARTITIONED_PARTITION_SPEC,
        sort_order=UNSORTED_SORT_ORDER,
        location=f"file://{place}/t",
        properties={"format-version": "2", **properties},
        table_uuid=ID,
    )


class Staging:
    """A table that no catalog knows, and transactions on it that nobody commits."""

    def __init__(self, place: Path, **properties: str) -> None:
        self.place = place
        self.metadata = new_metadata(place, **properties)
        self.number = 0

    def file(self, *ids: int) -> DataFile:
        self.number += 1
        rows = pa.table({"id": pa.array(ids, pa.int64()), "word": [str(n) for n in ids]})
        path = self.place / "t" / "data" / f"{self.number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.cast(schema_to_pyarrow(SCHEMA)), path)
        statistics = data_file_statistics_from_parquet_metadata(
            parquet_metadata=pq.read_metadata(path),
            stats_columns=compute_statistics_plan(SCHEMA, {}),
            parquet_column_mapping=parquet_path_to_id_mapping(SCHEMA),
        )
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"file://{path}",
            file_format=FileFormat.PARQUET,
            partition=Record(),
            file_size_in_bytes=path.stat().st_size,
            sort_order_id=None,
            spec_id=0,
            equality_ids=None,
            key_metadata=None,
            **statistics.to_serialized_dict(),
        )

    def transaction(self) -> Transaction:
        return Transaction(
            Table(
                identifier=("staged", "t"),
                metadata=self.metadata,
                metadata_location=f"file://{self.place}/t/metadata/before.json",
                io=IO,
                catalog=NoopCatalog("staged"),
            )
        )

    def edit(
        self, *, added: list[DataFile], removed: list[DataFile] | None = None, **properties: str
    ) -> Transaction:
        """One snapshot more."""
        transaction = self.transaction()
        kind, operation = (
            (_OverwriteFiles, Operation.OVERWRITE) if removed else (_MergeAppendFiles, Operation.APPEND)
        )
        with kind(operation, transaction, IO, snapshot_properties=properties) as snapshot:
            for file in removed or []:
                snapshot.delete_data_file(file)
            for file in added:
                snapshot.append_data_file(file)
        self.metadata = update_table_metadata(
            self.metadata, transaction._updates, metadata_location=f"file://{self.place}/{self.number}.json"
        )
        return transaction

    def live(self) -> list[DataFile]:
        """The live files, as the manifests have them, by name."""
        snapshot = self.metadata.current_snapshot()
        assert snapshot is not None
        found = [
            entry.data_file
            for manifest in snapshot.manifests(IO)
            for entry in manifest.fetch_manifest_entry(IO)
        ]
        return sorted(found, key=lambda file: file.file_path)

    def manifests(self) -> list[list[tuple[ManifestEntryStatus, str]]]:
        """Status and file name of every entry of every manifest."""
        snapshot = self.metadata.current_snapshot()
        assert snapshot is not None
        return [
            [
                (entry.status, entry.data_file.file_path.rpartition("/")[2])
                for entry in manifest.fetch_manifest_entry(IO, discard_deleted=False)
            ]
            for manifest in snapshot.manifests(IO)
        ]


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(tmp_path)


ADDED, DELETED, EXISTING = (
    ManifestEntryStatus.ADDED,
    ManifestEntryStatus.DELETED,
    ManifestEntryStatus.EXISTING,
)


def test_the_version_is_the_one_that_was_tried() -> None:
    assert version("pyiceberg") == "0.12.0"


# -- staging --------------------------------------------------------------------------------------


def test_a_transaction_that_nobody_commits_keeps_its_updates(staging: Staging) -> None:
    before = staging.metadata
    first = staging.edit(added=[staging.file(1)])
    assert [type(update) for update in first._updates] == [AddSnapshotUpdate, SetSnapshotRefUpdate]
    [add, point] = first._updates
    assert isinstance(add, AddSnapshotUpdate)
    assert isinstance(point, SetSnapshotRefUpdate)
    assert point.ref_name == "main"
    assert point.snapshot_id == add.snapshot.snapshot_id == staging.metadata.current_snapshot_id
    assert add.snapshot.parent_snapshot_id is None
    assert before.current_snapshot_id is None
    second = staging.edit(added=[staging.file(2)], removed=staging.live())
    assert [type(update) for update in second._updates] == [AddSnapshotUpdate, SetSnapshotRefUpdate]
    [add, _] = second._updates
    assert isinstance(add, AddSnapshotUpdate)
    assert add.snapshot.parent_snapshot_id == point.snapshot_id


def test_a_transaction_is_committed_by_nobody_but_its_caller(staging: Staging) -> None:
    """No catalog is asked before `commit_transaction`: the one given refuses everything."""
    transaction = staging.transaction()
    with _MergeAppendFiles(Operation.APPEND, transaction, IO) as snapshot:
        snapshot.append_data_file(staging.file(1))
    with pytest.raises(NotImplementedError):
        transaction.commit_transaction()


def test_the_metadata_of_a_transaction_is_the_tables_until_it_has_updates(staging: Staging) -> None:
    """`_Staging` overrides this property to spare the copies; all looks go through it."""
    assert isinstance(Transaction.table_metadata, property)
    assert "_table.metadata" in inspect.getsource(Transaction.table_metadata.fget)
    assert "self._transaction.table_metadata" in inspect.getsource(_SnapshotProducer)


def test_a_snapshot_has_our_properties_and_pyicebergs_totals_in_its_summary(staging: Staging) -> None:
    staging.edit(
        added=[staging.file(1, 2, 3), staging.file(4)],
        **{"anabranch.attempt": "a", "anabranch.changes": '{"pieces":[]}'},
    )
    summary = staging.metadata.current_snapshot().summary
    assert summary.operation == Operation.APPEND
    assert summary.additional_properties["anabranch.attempt"] == "a"
    assert summary.additional_properties["anabranch.changes"] == '{"pieces":[]}'
    assert summary.additional_properties["total-records"] == "4"
    assert summary.additional_properties["total-data-files"] == "2"
    staging.edit(added=[staging.file(5)], removed=staging.live()[:1])
    summary = staging.metadata.current_snapshot().summary
    assert summary.operation == Operation.OVERWRITE
    assert summary.additional_properties["total-records"] == "2"
    assert "anabranch.attempt" not in summary.additional_properties, "a property must not be inherited"


def test_entries_say_what_was_added_and_deleted_and_by_which_snapshot(staging: Staging) -> None:
    """How the changes of foreign commits are found."""
    staging.edit(added=[staging.file(1), staging.file(2)])
    assert staging.manifests() == [[(ADDED, "1.parquet"), (ADDED, "2.parquet")]]
    staging.edit(added=[staging.file(3)], removed=staging.live()[:1])
    snapshot = staging.metadata.current_snapshot()
    own = [
        (entry.status, entry.data_file.file_path.rpartition("/")[2])
        for manifest in snapshot.manifests(IO)
        if manifest.added_snapshot_id == snapshot.snapshot_id
        for entry in manifest.fetch_manifest_entry(IO, discard_deleted=False)
        if entry.snapshot_id == snapshot.snapshot_id
    ]
    assert sorted(own, key=lambda item: item[1]) == [(DELETED, "1.parquet"), (ADDED, "3.parquet")]
    live = sorted(name for entries in staging.manifests() for status, name in entries if status != DELETED)
    assert live == ["2.parquet", "3.parquet"]


def test_deleting_a_file_that_is_not_there_is_refused(staging: Staging) -> None:
    staging.edit(added=[staging.file(1)])
    gone = staging.live()
    staging.edit(added=[staging.file(2)], removed=gone)
    with pytest.raises(ValidationException):
        staging.edit(added=[], removed=gone)


def test_data_files_are_the_same_if_their_paths_are(staging: Staging) -> None:
    """A file read from a manifest can be deleted, though it isn't the object that was added."""
    file = staging.file(1)
    staging.edit(added=[file])
    [read], [again] = staging.live(), staging.live()
    assert read is not again
    assert read == again == file
    assert len({read, again, file}) == 1
    staging.edit(added=[], removed=[read])
    assert staging.metadata.current_snapshot().summary.additional_properties["total-records"] == "0"


def test_only_files_read_from_a_manifest_know_their_partition_spec(staging: Staging) -> None:
    """Files of the same transaction are taken back by not adding them, never by deleting them."""
    staging.edit(added=[staging.file(1)])
    assert staging.live()[0].spec_id == 0
    with pytest.raises(AttributeError):
        _ = staging.file(2).spec_id


# -- manifests ------------------------------------------------------------------------------------


def test_appends_merge_their_manifests_once_there_are_as_many_as_configured(tmp_path: Path) -> None:
    staging = Staging(
        tmp_path, **{"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "3"}
    )
    counts = []
    for n in range(6):
        staging.edit(added=[staging.file(n)])
        counts.append(len(staging.manifests()))
    assert counts == [1, 2, 1, 2, 1, 2]
    newest, merged = staging.manifests()
    assert newest == [(ADDED, "6.parquet")]
    assert sorted(name for _, name in merged) == [f"{n}.parquet" for n in range(1, 6)]
    assert sorted(status.name for status, _ in merged) == ["ADDED"] + ["EXISTING"] * 4


def test_overwrites_merge_nothing_and_keep_dead_manifests_unless_told_otherwise(staging: Staging) -> None:
    """Why `stage.py` has an overwrite of its own. If this fails, that class may go."""
    staging.edit(added=[staging.file(0)])
    for n in range(1, 6):
        staging.edit(added=[staging.file(n)], removed=staging.live())
    dead = [entries for entries in staging.manifests() if all(status == DELETED for status, _ in entries)]
    assert len(dead) == 5


def test_the_hooks_of_a_snapshot_producer_are_where_they_were() -> None:
    for name in ("_existing_manifests", "_deleted_entries", "_process_manifests", "_manifests", "_commit"):
        assert callable(getattr(_OverwriteFiles, name)), name
    parameters = list(inspect.signature(_ManifestMergeManager).parameters)
    assert parameters == ["target_size_bytes", "min_count_to_merge", "merge_enabled", "snapshot_producer"]
    expected = ["operation", "transaction", "io", "commit_uuid", "snapshot_properties", "branch"]
    assert list(inspect.signature(_OverwriteFiles).parameters) == expected
    assert set(inspect.signature(_MergeAppendFiles).parameters) == set(expected)


def test_a_manifest_writer_says_what_it_lists_where_ours_says_deletes(tmp_path: Path) -> None:
    """pyiceberg's own knows data only. If this fails, `_DeletesWriter` may go."""
    assert list(inspect.signature(ManifestWriterV2).parameters) == [
        "spec",
        "schema",
        "output_file",
        "snapshot_id",
        "avro_compression",
    ]
    for kind, content, said in (
        (ManifestWriterV2, ManifestContent.DATA, "data"),
        (_DeletesWriter, ManifestContent.DELETES, "deletes"),
    ):
        output = IO.new_output(f"file://{tmp_path}/{said}.avro")
        writer = kind(UNPARTITIONED_PARTITION_SPEC, SCHEMA, output, 7, "deflate")
        assert writer.content() == content
        assert writer._meta["content"] == said


def test_a_summary_is_made_after_the_manifests_and_counts_delete_files(staging: Staging) -> None:
    """`_Replace` adds delete files to what is counted, once what is listed is written."""
    source = inspect.getsource(_SnapshotProducer._commit)
    assert source.index("self._manifests()") < source.index("self._summary(")
    collected = SnapshotSummaryCollector()
    marks = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path="file:///d",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=3,
        file_size_in_bytes=9,
    )
    collected.add_file(marks, SCHEMA)
    assert collected.build() == {
        "added-files-size": "9",
        "added-position-delete-files": "1",
        "added-delete-files": "1",
        "added-position-deletes": "3",
    }


def test_delete_files_apply_by_path_and_sequence_number(staging: Staging) -> None:
    """How other readers find ours: one delete file for several data files is looked up by its bounds."""
    file = staging.file(1, 2)
    index = DeleteFileIndex()
    bounds = {2147483546: file.file_path.encode()}
    marks = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path="file:///d",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=9,
        lower_bounds=bounds,
        upper_bounds={2147483546: b"file:///zzz"},
        spec_id=0,
    )
    marks._spec_id = 0
    index.add_delete_file(ManifestEntry.from_args(data_file=marks, sequence_number=5))
    staging.edit(added=[file])
    [read] = staging.live()
    assert [len(index.for_data_file(number, read)) for number in (4, 5, 6)] == [1, 1, 0]


# -- metadata -------------------------------------------------------------------------------------


def test_a_new_table_has_the_id_and_the_field_ids_it_was_given(tmp_path: Path) -> None:
    metadata = new_metadata(tmp_path)
    assert metadata.table_uuid == ID
    assert metadata.format_version == 2
    assert metadata.location == f"file://{tmp_path}/t"
    assert "format-version" not in metadata.properties
    assert [field.field_id for field in metadata.schema().fields] == [1, 2]


def test_the_metadata_log_keeps_as_many_files_as_configured(tmp_path: Path) -> None:
    staging = Staging(tmp_path, **{"write.metadata.previous-versions-max": "3"})
    for n in range(6):
        staging.edit(added=[staging.file(n)])
    assert [entry.metadata_file for entry in staging.metadata.metadata_log] == [
        f"file://{tmp_path}/{n}.json" for n in (4, 5, 6)
    ]


def test_updating_metadata_leaves_the_old_as_it_was(staging: Staging) -> None:
    before = staging.metadata
    shown = before.model_dump_json()
    staging.edit(added=[staging.file(1)])
    assert before.model_dump_json() == shown
    assert before.snapshots == []


def test_removing_snapshots_cuts_the_tie_to_the_parent(staging: Staging) -> None:
    """So a snapshot without a parent need not be the first: changes from nothing can't rely on it."""
    for n in range(3):
        staging.edit(added=[staging.file(n)])
    first, second, third = (snapshot.snapshot_id for snapshot in staging.metadata.snapshots)
    metadata = update_table_metadata(staging.metadata, (RemoveSnapshotsUpdate(snapshot_ids=[first]),))
    assert [snapshot.snapshot_id for snapshot in metadata.snapshots] == [second, third]
    assert [snapshot.parent_snapshot_id for snapshot in metadata.snapshots] == [None, second]
    assert metadata.current_snapshot_id == third
    assert {entry.snapshot_id for entry in metadata.snapshot_log} == {second, third}


def test_every_update_of_the_metadata_has_its_own_time(staging: Staging) -> None:
    for n in range(3):
        staging.edit(added=[staging.file(n)])
    times = [entry.timestamp_ms for entry in staging.metadata.snapshot_log]
    assert times == sorted(times)
    assert staging.metadata.last_updated_ms >= times[-1]


def test_metadata_is_written_where_the_location_provider_says_and_read_back_equal(staging: Staging) -> None:
    staging.edit(added=[staging.file(1)])
    provider = load_location_provider(staging.metadata.location, staging.metadata.properties)
    location = provider.new_table_metadata_file_location(12)
    folder, _, name = location.rpartition("/")
    assert folder == f"{staging.metadata.location}/metadata"
    assert name.startswith("00012-")
    assert name.endswith(".metadata.json")
    ToOutputFile.table_metadata(staging.metadata, IO.new_output(location))
    assert FromInputFile.table_metadata(IO.new_input(location)) == staging.metadata


def test_names_of_nested_columns_are_indexed_by_their_ids() -> None:
    inner = StructType(NestedField(3, "a", LongType()))
    assert index_name_by_id(Schema(NestedField(1, "id", LongType()), NestedField(2, "s", inner))) == {
        1: "id",
        2: "s",
        3: "s.a",
    }


# -- files ----------------------------------------------------------------------------------------


def test_statistics_of_a_file_come_from_its_footer(staging: Staging) -> None:
    file = staging.file(3, 1, 2)
    assert file.record_count == 3
    assert set(file.lower_bounds) == set(file.upper_bounds) == {1, 2}
    assert int.from_bytes(file.lower_bounds[1], "little") == 1
    assert int.from_bytes(file.upper_bounds[1], "little") == 3
    assert file.null_value_counts == {1: 0, 2: 0}


def test_files_are_written_with_the_field_ids_of_the_schema(tmp_path: Path) -> None:
    arrow = schema_to_pyarrow(SCHEMA)
    assert [field.metadata[b"PARQUET:field_id"] for field in arrow] == [b"1", b"2"]
    assert parquet_path_to_id_mapping(SCHEMA) == {"id": 1, "word": 2}


# -- the catalog ----------------------------------------------------------------------------------


@pytest.fixture
def catalog_of_others(tmp_path: Path) -> Iterator[SqlCatalog]:
    catalog = SqlCatalog("anabranch", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("main")
    yield catalog
    catalog.close()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(tables.iceberg_tables, IcebergTables), (tables.iceberg_namespaces, IcebergNamespaceProperties)],
)
def test_the_catalog_tables_are_column_for_column_pyicebergs(ours: object, theirs: object) -> None:
    def shown(table: object) -> list[tuple[str, str, bool, bool]]:
        return [
            (column.name, str(column.type), bool(column.primary_key), bool(column.nullable))
            for column in table.columns
        ]

    assert ours.name == theirs.__tablename__
    assert shown(ours) == shown(theirs.__table__)


def test_a_commit_of_the_sql_catalog_is_a_conditional_update_of_the_pointer(
    catalog_of_others: SqlCatalog,
) -> None:
    """Who was overtaken must fail: on this our commits and those of others rely alike."""
    catalog_of_others.create_table("main.t", SCHEMA, properties={"commit.retry.num-retries": "0"})
    one, two = catalog_of_others.load_table("main.t"), catalog_of_others.load_table("main.t")
    two.append(pa.table({"id": pa.array([1], pa.int64()), "word": ["a"]}))
    with pytest.raises(CommitFailedException):
        one.append(pa.table({"id": pa.array([2], pa.int64()), "word": ["b"]}))
    assert one.refresh().scan().to_arrow()["id"].to_pylist() == [1]


def test_namespaces_are_known_by_a_property(catalog_of_others: SqlCatalog) -> None:
    with catalog_of_others.engine.connect() as connection:
        rows = connection.execute(tables.iceberg_namespaces.select()).all()
    assert [tuple(row) for row in rows] == [("anabranch", "main", "exists", "true")]


def test_updates_applied_one_by_one_give_what_pyiceberg_gives_at_once(staging: Staging) -> None:
    """`stage.py` leaves out the deep copy at the end, and nothing else."""
    base = staging.metadata
    transaction = staging.edit(added=[staging.file(1)])
    removal = (RemoveSnapshotsUpdate(snapshot_ids=[staging.metadata.current_snapshot_id]),)
    for before, changes in ((base, transaction._updates), (staging.metadata, removal)):
        wanted = update_table_metadata(before, changes, metadata_location="file:///before.json")
        applied = _apply_updates(before, changes, "file:///before.json")
        same = {"last_updated_ms": 0}
        assert applied.model_copy(update=same) == wanted.model_copy(update=same)
        assert applied.last_updated_ms > before.last_updated_ms
        assert type(applied) is type(wanted)


def test_summaries_are_text_that_survives_the_metadata_file(staging: Staging) -> None:
    pieces = json.dumps({"pieces": [["+", "file:///a b/ü.parquet"], ["~", 'quote"d']]})
    staging.edit(added=[staging.file(1)], **{"anabranch.changes": pieces})
    location = f"file://{staging.place}/written.json"
    ToOutputFile.table_metadata(staging.metadata, IO.new_output(location))
    read = FromInputFile.table_metadata(IO.new_input(location)).current_snapshot()
    assert read.summary.additional_properties["anabranch.changes"] == pieces
