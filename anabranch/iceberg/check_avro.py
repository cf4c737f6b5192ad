"""Checks manifests before they are decoded.

pyiceberg's compiled Avro decoder trusts what it reads: wrong lengths in a damaged file make it read
outside of its memory, and the process dies. So the blocks of every Avro file are checked first; a
file whose lengths don't add up is `Damaged`, like any other.
"""

from __future__ import annotations

import io
import zlib

from pyiceberg.io import InputFile, InputStream
from pyiceberg.io.pyarrow import PyArrowFileIO

from anabranch.errors import Damaged

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_MAX_VARINT_BYTES = 10


class CheckedIO(PyArrowFileIO):
    """The file access that pyiceberg is given."""

    def new_input(self, location: str) -> InputFile:  # type: ignore[override]
        """A file to read; an Avro file is checked when it is opened."""
        file = super().new_input(location)
        return _CheckedFile(file) if location.endswith(".avro") else file


class _CheckedFile(InputFile):
    def __init__(self, inner: InputFile) -> None:
        super().__init__(inner.location)
        self._inner = inner

    def __len__(self) -> int:
        return len(self._inner)

    def exists(self) -> bool:
        return self._inner.exists()

    def open(self, seekable: bool = True) -> InputStream:
        with self._inner.open(seekable=False) as stream:
            content = stream.read()
        try:
            check_avro(content)
        except (ValueError, zlib.error) as error:
            raise Damaged(f"the file {self.location} can't be read", detail=f"{error}.") from error
        return io.BytesIO(content)


def check_avro(content: bytes) -> None:
    """Pass if the content is an Avro container, whole from its first byte to its last."""
    if not content.startswith(_MAGIC):
        raise ValueError("it is no Avro file")
    cursor = _Cursor(content, len(_MAGIC))
    header: dict[bytes, bytes] = {}
    while count := cursor.read_number():
        if count < 0:  # then the block's size in bytes follows
            count = -count
            cursor.read_number()
        for _ in range(count):
            key = cursor.take(cursor.read_number())
            header[key] = cursor.take(cursor.read_number())
    if b"avro.schema" not in header:
        raise ValueError("its header has no schema")
    sync = cursor.take(_SYNC_BYTES)
    deflated = header.get(b"avro.codec") == b"deflate"
    while not cursor.at_end():
        if cursor.read_number() < 0:
            raise ValueError("a block has a negative number of rows")
        block = cursor.take(cursor.read_number())
        if deflated:
            zlib.decompress(block, wbits=-15)
        if cursor.take(_SYNC_BYTES) != sync:
            raise ValueError("a block doesn't end where it says")


class _Cursor:
    """A place in the content; going past its end is a ValueError."""

    def __init__(self, content: bytes, place: int) -> None:
        self._content = content
        self._place = place

    def at_end(self) -> bool:
        return self._place == len(self._content)

    def take(self, size: int) -> bytes:
        end = self._place + size
        if size < 0 or end > len(self._content):
            raise ValueError("it breaks off")
        taken = self._content[self._place : end]
        self._place = end
        return taken

    def read_number(self) -> int:
        """Avro's integers: seven bits a byte, the sign in the lowest bit."""
        value = 0
        for index in range(_MAX_VARINT_BYTES):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise ValueError("a number has no end")
