"""Columns of data files as memory has them, kept on this machine's disk.

Who looks up a few rows of a row group has to decode whole columns of it. Data files never change, so what
was decoded once serves the next look-up, too; and an order of its values makes a search of what was a pass.
It is a cache: what doesn't fit, or is dropped, is read again.

Everything stands in a few large files without a name, mapped into memory: the system decides what of them
stays there, and nothing is left over when the process ends, in whatever way.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.storage.deletes import kept_marks
from anabranch.storage.packed import Packed, pack

SEGMENT_BYTES = 64 << 20
"""How much of the disk is taken at a time."""
SPARED = 16
"""So many times as much must be free: others need the disk, too."""
FOOTERS = 256
"""How many files' footers are remembered."""
_FRAME_BYTES = 4096
"""More than what Arrow's stream format adds to a batch's own bytes."""
_ALIGNED = 64


@dataclass(frozen=True)
class Part:
    """One column of one row group of a file."""

    path: str
    group: int
    column: str


@dataclass(frozen=True)
class Order:
    """A column's values but NULL, ascending, and where each stands; without places, they stand in order."""

    values: np.ndarray
    places: np.ndarray | None

    def runs(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the wanted values (ascending) begin in the order, and how often each is there."""
        if not len(self.values):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        first, last = (
            np.searchsorted(wanted, self.values[0]),
            np.searchsorted(wanted, self.values[-1], "right"),
        )
        # In the type of the values: else numpy would copy all of those into the wider one.
        inside = wanted[first:last].astype(self.values.dtype)
        starts = np.searchsorted(self.values, inside, side="left")
        return starts, np.searchsorted(self.values, inside, side="right") - starts

    def find(self, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The places of some runs of values, ascending."""
        before = np.cumsum(counts) - counts
        found = np.repeat(starts - before, counts) + np.arange(counts.sum())
        return np.sort(found if self.places is None else self.places[found].astype(np.int64))


@dataclass
class _Segment:
    memory: mmap.mmap
    used: int = 0
    kept: list[Hashable] = field(default_factory=list)


class Columns:
    """A limited number of bytes of columns; the oldest make room."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self.marks = kept_marks()
        """What delete files say of the same data files."""
        self._lock = Lock()
        self._segments: deque[_Segment] = deque()
        self._kept: dict[Hashable, pa.RecordBatch] = {}
        self._packed: dict[Part, Packed] = {}
        self._footers: OrderedDict[str, pq.FileMetaData] = OrderedDict()

    def has(self, part: Part) -> bool:
        """Whether a column is kept."""
        return part in self._packed

    def footer(self, path: str, read: Callable[[], pq.FileMetaData]) -> pq.FileMetaData:
        """What a file's footer says."""
        with self._lock:
            found = self._footers.pop(path, None)
        found = read() if found is None else found
        with self._lock:
            self._footers[path] = found
            while len(self._footers) > FOOTERS:
                self._footers.popitem(last=False)
        return found

    def column(self, part: Part, read: Callable[[], pa.ChunkedArray]) -> Packed:
        """A column; it is read if it isn't kept."""
        found = self._packed.get(part)
        if found is None:
            packed = pack(_in_one_piece(read()))
            batch = self._keep(part, pa.record_batch([packed.stored], names=["values"]))
            found = replace(packed, stored=batch.column(0))
            with self._lock:
                if part in self._kept:
                    self._packed[part] = found
        return found

    def order(self, part: Part) -> Order | None:
        """An order of a column; None if it isn't kept, or its values aren't numbers."""
        found = self._kept.get((part, Order))
        if found is not None:
            return Order(found.column(0).to_numpy(), found.column(1).to_numpy())
        packed = self._packed.get(part)
        if packed is None or (numbers := packed.numbers()) is None:
            return None
        if not packed.stored.null_count and bool(np.all(numbers[1:] >= numbers[:-1])):
            return Order(numbers, None)
        places = np.argsort(numbers, kind="stable")
        numbers = numbers[places]
        if packed.stored.null_count:
            places = np.flatnonzero(packed.stored.is_valid().to_numpy(zero_copy_only=False))[places]
        places = places.astype(np.uint32)
        self._keep(
            (part, Order), pa.record_batch([pa.array(numbers), pa.array(places)], names=["value", "at"])
        )
        return Order(numbers, places)

    def close(self) -> None:
        """Forget all."""
        with self._lock:
            self._segments.clear()
            self._kept.clear()
            self._packed.clear()
            self._footers.clear()

    def _keep(self, key: Hashable, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch, moved to the disk if it has room."""
        size = pa.ipc.get_record_batch_size(batch) + _FRAME_BYTES
        with self._lock:
            segment = self._segment(size)
            if segment is None:
                return batch
            target = pa.py_buffer(memoryview(segment.memory)[segment.used : segment.used + size])
            with pa.ipc.new_stream(pa.FixedSizeBufferWriter(target), batch.schema) as stream:
                stream.write_batch(batch)
            kept = pa.ipc.open_stream(target).read_next_batch()
            segment.used += -(-size // _ALIGNED) * _ALIGNED
            segment.kept.append(key)
            self._kept[key] = kept
        return kept

    def _segment(self, size: int) -> _Segment | None:
        """Where so many bytes go; None if there is no room for them at all."""
        if self._segments and len(self._segments[-1].memory) - self._segments[-1].used >= size:
            return self._segments[-1]
        wanted, limit = max(size, SEGMENT_BYTES), self._limit()
        if wanted > limit:
            return None
        while sum(len(segment.memory) for segment in self._segments) + wanted > limit:
            for key in self._segments.popleft().kept:
                self._kept.pop(key, None)
                self._packed.pop(key, None)  # type: ignore[call-overload]
        try:
            if shutil.disk_usage(tempfile.gettempdir()).free < SPARED * wanted:
                return None
            self._segments.append(_Segment(_mapped(wanted)))
        except OSError:
            return None
        return self._segments[-1]


def _mapped(size: int) -> mmap.mmap:
    """Memory whose pages stand in a file without a name."""
    with tempfile.TemporaryFile(prefix="anabranch-") as file:
        # Taken now: a disk that turns out to be full when a page is written ends the process.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            for _ in range(0, size, 1 << 20):
                file.write(bytes(1 << 20))
            file.truncate(size)
            file.flush()
        return mmap.mmap(file.fileno(), size)


def _in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
