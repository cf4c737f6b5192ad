"""Which files a lake needs and which it has, found without asking the lake.

Walks the catalog as another Iceberg client would: pointers, metadata, manifests, data files. What
goes beyond Iceberg are change files, named in snapshot summaries, and tables that were dropped but can
still be read as of an earlier lsn.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import StaticTable, Table


def needed_files(location: Path, catalog: str | None) -> set[Path]:
    """Every file that some version which is still listed needs."""
    url = address(location, catalog)
    iceberg = SqlCatalog(
        "anabranch", uri=url, warehouse=f"file://{location}/tables", init_catalog_tables="false"
    )
    try:
        found = {path for table in _tables(iceberg, url) for path in _files(table)}
    finally:
        iceberg.engine.dispose()
    return {Path(path.removeprefix("file://")) for path in found}


def stored_files(location: Path) -> set[Path]:
    """Every file below the warehouse."""
    return {Path(folder) / name for folder, _, names in os.walk(location / "tables") for name in names}


@dataclass(frozen=True)
class Survey:
    """Files that nothing points at, and files that something points at but that aren't there."""

    unneeded: set[Path]
    missing: set[Path]


def survey(location: Path, catalog: str | None) -> Survey:
    """Compare what a lake has with what it needs."""
    stored, needed = stored_files(location), needed_files(location, catalog)
    return Survey(stored - needed, needed - stored)


def table_folders(location: Path) -> set[str]:
    """The folders below the warehouse, empty ones too."""
    return {path.name for path in (location / "tables").iterdir()}


def empty_folders(location: Path) -> set[Path]:
    """Folders with nothing in them, below the few that every table has."""
    return {
        Path(folder)
        for folder, inner, names in os.walk(location / "tables")
        if not inner and not names and len(Path(folder).relative_to(location / "tables").parts) > 2
    }


def address(location: Path, catalog: str | None) -> str:
    """Where the lake's database is."""
    return catalog or f"sqlite:///{location}/catalog.db"


def remembered(location: Path, catalog: str | None, *, dropped: bool) -> dict[str, str]:
    """Tables in the ledger by id, with where their metadata stands."""
    engine = sqlalchemy.create_engine(address(location, catalog))
    condition = "IS NOT NULL" if dropped else "IS NULL"
    query = f"SELECT table_id, metadata_location FROM anabranch_tables WHERE dropped_lsn {condition}"
    with engine.connect() as connection:
        found = {row[0]: row[1] for row in connection.execute(sqlalchemy.text(query))}
    engine.dispose()
    return found


def _tables(iceberg: SqlCatalog, url: str) -> Iterator[Table]:
    for namespace in iceberg.list_namespaces():
        for identifier in iceberg.list_tables(namespace):
            yield iceberg.load_table(identifier)
    for location in remembered(Path(), url, dropped=True).values():
        yield StaticTable.from_metadata(location)


def _files(table: Table) -> Iterator[str]:
    yield table.metadata_location
    yield from (entry.metadata_file for entry in table.metadata.metadata_log)
    manifests: dict[str, ManifestFile] = {}
    for snapshot in table.snapshots():
        yield snapshot.manifest_list
        manifests |= {manifest.manifest_path: manifest for manifest in snapshot.manifests(table.io)}
        yield from _change_files((snapshot.summary or {}).get("anabranch.changes"))
    yield from manifests
    for manifest in manifests.values():
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            yield entry.data_file.file_path


def _change_files(text: str | None) -> Iterator[str]:
    changes = json.loads(text or '{"pieces": []}')
    if "file" in changes:
        yield changes["file"]
        changes = json.loads(Path(changes["file"].removeprefix("file://")).read_text())
    for _, path, *deletes in changes["pieces"]:
        yield path
        yield from (one for listed in deletes for one in listed)
