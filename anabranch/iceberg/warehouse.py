"""The place where a lake's files are: one URI, with opaque names below it.

User text never becomes a path: a table's folder is its id, and file names are made by this lake,
pyiceberg or Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs as pafs
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from anabranch.iceberg.check_avro import CheckedIO


@dataclass(frozen=True)
class StoredFile:
    """A file below the warehouse, as a listing shows it."""

    path: str
    size: int


class Warehouse:
    """Reads, lists and deletes files below one URI."""

    def __init__(self, uri: str, **properties: str) -> None:
        self.uri = uri
        self.io: FileIO = CheckedIO(properties)
        scheme, netloc, _ = PyArrowFileIO.parse_location(uri)
        self._filesystem: pafs.FileSystem = self.io.fs_by_scheme(scheme, netloc)

    def table_location(self, table_id: str) -> str:
        """The URI of a table's files."""
        return f"{self.uri}/{table_id}"

    def filesystem(self) -> pafs.FileSystem:
        """The Arrow file system that holds the warehouse."""
        return self._filesystem

    def inner_path(self, uri: str) -> str:
        """A URI as the Arrow file system names it."""
        return PyArrowFileIO.parse_location(uri)[2]

    def list_files(self, uri: str) -> Iterator[StoredFile]:
        """Every file below `uri`, hidden ones too; none if there is no such folder."""
        base = self.inner_path(uri).rstrip("/")
        selector = pafs.FileSelector(base, recursive=True, allow_not_found=True)
        for info in self._filesystem.get_file_info(selector):
            if info.type == pafs.FileType.File:
                yield StoredFile(uri.rstrip("/") + info.path[len(base) :], info.size or 0)

    def list_empty_folders(self, uri: str) -> Iterator[str]:
        """The folders below those directly in `uri` that have nothing in them, a slash at the end."""
        if uri.startswith("file:"):  # object stores have no folders
            base = self.inner_path(uri).rstrip("/")
            for folder, inner, files in os.walk(base):
                below = folder[len(base) :]
                if below.count("/") > 1 and not inner and not files:
                    yield f"{uri.rstrip('/')}{below}/"

    def list_folders(self) -> list[str]:
        """The names of the folders directly below the warehouse."""
        base = self.inner_path(self.uri)
        infos = self._filesystem.get_file_info(pafs.FileSelector(base, allow_not_found=True))
        return sorted(info.base_name for info in infos if info.type == pafs.FileType.Directory)

    def delete(self, uri: str) -> None:
        """Delete a file; nothing happens if it is gone already."""
        with suppress(FileNotFoundError):
            self._filesystem.delete_file(self.inner_path(uri))

    def delete_folder(self, uri: str) -> None:
        """Delete a folder that no version refers to, and all in it."""
        for file in list(self.list_files(uri)):
            self.delete(file.path)
        self.remove_empty_folders(uri)

    def remove_empty_folders(self, uri: str) -> None:
        """Remove the folders below `uri`, and itself, that have nothing in them."""
        if uri.startswith("file:"):  # object stores have no folders
            for folder, _, _ in os.walk(self.inner_path(uri), topdown=False):
                with suppress(OSError):
                    os.rmdir(folder)

    def read_sizes(self, uris: Sequence[str]) -> list[int | None]:
        """The sizes of files in bytes; None for one that isn't there."""
        infos = self._filesystem.get_file_info([self.inner_path(uri) for uri in uris])
        return [info.size if info.type == pafs.FileType.File else None for info in infos]

    def read_size(self, uri: str) -> int:
        """A file's size in bytes."""
        return int(self._filesystem.get_file_info(self.inner_path(uri)).size or 0)

    def open(self, uri: str) -> pa.NativeFile:
        """Open a file for reading."""
        return self._filesystem.open_input_file(self.inner_path(uri))

    def write_bytes(self, uri: str, content: bytes) -> None:
        """Write a small file whole."""
        with self.io.new_output(uri).create() as stream:
            stream.write(content)

    def read_bytes(self, uri: str) -> bytes:
        """Read a small file whole."""
        with self.io.new_input(uri).open() as stream:
            return stream.read()
