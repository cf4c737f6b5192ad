"""A limited number of bytes of this machine's disk, mapped into memory; the oldest content makes room.

It stands in a few large files without a name: the system decides what of them stays in memory, and nothing is
left over when the process ends, in whatever way.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

import pyarrow as pa

SEGMENT_BYTES = 64 << 20
"""How much of the disk is taken at a time."""
SPARED = 16
"""So many times as much must be free: others need the disk, too."""
_FRAME_BYTES = 4096
"""More than what Arrow's stream format adds to a batch's own bytes."""
_ALIGNED = 64


@dataclass
class _Segment:
    memory: mmap.mmap
    used: int = 0
    kept: list[Hashable] = field(default_factory=list)


class Room:
    """Batches by their keys. Whoever uses it sees to it that one thread does at a time."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._segments: deque[_Segment] = deque()
        self._kept: dict[Hashable, pa.RecordBatch] = {}

    def get(self, key: Hashable) -> pa.RecordBatch | None:
        """A batch, if it is kept."""
        return self._kept.get(key)

    def keep(self, key: Hashable, batch: pa.RecordBatch) -> Iterable[Hashable]:
        """Keep a batch, unless there is no room for it at all; the keys of those that had to go for it."""
        size = pa.ipc.get_record_batch_size(batch) + _FRAME_BYTES
        segment, gone = self._segment(size)
        for old in gone:
            self._kept.pop(old, None)
        if segment is not None:
            target = pa.py_buffer(memoryview(segment.memory)[segment.used : segment.used + size])
            with pa.ipc.new_stream(pa.FixedSizeBufferWriter(target), batch.schema) as stream:
                stream.write_batch(batch)
            segment.used += -(-size // _ALIGNED) * _ALIGNED
            segment.kept.append(key)
            self._kept[key] = pa.ipc.open_stream(target).read_next_batch()
        return gone

    def clear(self) -> None:
        """Forget all."""
        self._segments.clear()
        self._kept.clear()

    def _segment(self, size: int) -> tuple[_Segment | None, list[Hashable]]:
        """Where so many bytes go, if anywhere, and what goes for them."""
        gone: list[Hashable] = []
        if self._segments and len(self._segments[-1].memory) - self._segments[-1].used >= size:
            return self._segments[-1], gone
        wanted, limit = max(size, SEGMENT_BYTES), self._limit()
        if wanted > limit:
            return None, gone
        while sum(len(segment.memory) for segment in self._segments) + wanted > limit:
            gone += self._segments.popleft().kept
        try:
            if shutil.disk_usage(tempfile.gettempdir()).free < SPARED * wanted:
                return None, gone
            self._segments.append(_Segment(_mapped(wanted)))
        except OSError:
            return None, gone
        return self._segments[-1], gone


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
