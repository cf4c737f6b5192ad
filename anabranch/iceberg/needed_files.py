"""Which files the lake still needs, and which below its warehouse it doesn't.

Only folders named by a table's id are listed: files of other clients elsewhere are left alone. A
file is unneeded if no retained snapshot lists it, as data, as metadata or as part of a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyiceberg.manifest import ManifestFile
from pyiceberg.table.metadata import TableMetadata

from anabranch.iceberg.change_files import read_summary_files
from anabranch.iceberg.table_reader import TableReader, translate_read_errors

_OWN_FOLDER = re.compile(r"[0-9a-f]{32}")


def list_stored_paths(reader: TableReader, skip: Iterable[str]) -> set[str]:
    """Every file in the tables' folders, except the folders in `skip`.

    And every folder of a write that died before it had a file, with a slash at its end.
    """
    left_alone, warehouse = set(skip), reader.warehouse
    found: set[str] = set()
    for folder in warehouse.list_folders():
        if _OWN_FOLDER.fullmatch(folder) and folder not in left_alone:
            location = warehouse.table_location(folder)
            found.update(file.path for file in warehouse.list_files(location))
            found.update(warehouse.list_empty_folders(location))
    return found


def read_needed_paths(reader: TableReader, location: str, name: str) -> set[str]:
    """Every file that a table needs, given the location of its metadata."""
    metadata = reader.read_metadata(location)
    needed = {location} | {entry.metadata_file for entry in metadata.metadata_log}
    needed |= _statistics_paths(metadata)
    manifests: dict[str, ManifestFile] = {}
    for snapshot in metadata.snapshots:
        needed.add(snapshot.manifest_list)
        needed.update(read_summary_files(reader.warehouse, snapshot, name))
        with translate_read_errors(f'a manifest list of "{name}"'):
            manifests |= {found.manifest_path: found for found in snapshot.manifests(reader.warehouse.io)}
    needed |= set(manifests)
    for manifest in manifests.values():
        with translate_read_errors(f'a manifest of "{name}"'):
            entries = manifest.fetch_manifest_entry(reader.warehouse.io, discard_deleted=True)
            needed.update(entry.data_file.file_path for entry in entries)
    return needed | {_checksum_path(path) for path in needed}


def _statistics_paths(metadata: TableMetadata) -> set[str]:
    statistics = list(getattr(metadata, "statistics", []) or [])
    statistics += list(getattr(metadata, "partition_statistics", []) or [])
    return {entry.statistics_path for entry in statistics}


def _checksum_path(path: str) -> str:
    """Where Hadoop's local file system puts a file's checksum."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.crc"
