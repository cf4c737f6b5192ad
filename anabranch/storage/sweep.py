"""Which files the lake still needs, and which below its warehouse it doesn't.

Only folders named by a table's id are looked at: what another client put elsewhere isn't ours. A
file is unneeded if no retained snapshot lists it, as data, as metadata or as part of a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyiceberg.manifest import ManifestFile
from pyiceberg.table.metadata import TableMetadata

from anabranch.storage.changes import summary_files
from anabranch.storage.tables import TableReader, decoding

_OWN_FOLDER = re.compile(r"[0-9a-f]{32}")


def stored_paths(reader: TableReader, skip: Iterable[str]) -> set[str]:
    """Every file in the tables' folders, except the folders in `skip`.

    And every folder of a write that died before it had a file, with a slash at its end.
    """
    left_alone, warehouse = set(skip), reader.warehouse
    found: set[str] = set()
    for folder in warehouse.folders():
        if _OWN_FOLDER.fullmatch(folder) and folder not in left_alone:
            location = warehouse.table_location(folder)
            found.update(file.path for file in warehouse.files(location))
            found.update(warehouse.empty_folders(location))
    return found


def needed_paths(reader: TableReader, location: str, name: str) -> set[str]:
    """Every file that a table needs, given where its metadata stands."""
    metadata = reader.metadata(location)
    needed = {location} | {entry.metadata_file for entry in metadata.metadata_log}
    needed |= _statistics(metadata)
    manifests: dict[str, ManifestFile] = {}
    for snapshot in metadata.snapshots:
        needed.add(snapshot.manifest_list)
        needed.update(summary_files(reader.warehouse, snapshot, name))
        with decoding(f'a manifest list of "{name}"'):
            manifests |= {found.manifest_path: found for found in snapshot.manifests(reader.warehouse.io)}
    needed |= set(manifests)
    for manifest in manifests.values():
        with decoding(f'a manifest of "{name}"'):
            entries = manifest.fetch_manifest_entry(reader.warehouse.io, discard_deleted=True)
            needed.update(entry.data_file.file_path for entry in entries)
    return needed | {_checksum(path) for path in needed}


def _statistics(metadata: TableMetadata) -> set[str]:
    statistics = list(getattr(metadata, "statistics", []) or [])
    statistics += list(getattr(metadata, "partition_statistics", []) or [])
    return {entry.statistics_path for entry in statistics}


def _checksum(path: str) -> str:
    """Where Hadoop's local file system puts a file's checksum."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.crc"
