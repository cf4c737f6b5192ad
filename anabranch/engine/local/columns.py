"""Columns of data files as memory has them, kept on this machine's disk.

Who looks up a few rows of a row group has to decode whole columns of it. Data files never change, so what
was decoded once serves the next look-up, too; and an order of its values makes a search of what was a pass.
It is a cache: what doesn't fit, or is dropped, is read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.engine.local.packed import Packed, pack
from anabranch.engine.local.room import Room
from anabranch.iceberg.position_deletes import delete_file_cache

FOOTERS = 256
"""How many files' footers are remembered."""


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


class Columns:
    """A limited number of bytes of columns; the oldest make room.

    What can't be made small, such as comments, has half of it to itself: a write that looks at all columns of
    a table would throw out what every refresh needs.
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        self.marks = delete_file_cache()
        """What delete files say of the same data files."""
        self._lock = Lock()
        self._small, self._large = Room(lambda: limit() // 2), Room(lambda: limit() // 2)
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
            found = pack(_in_one_piece(read()))
            room = self._small if found.is_small else self._large
            batch = self._keep(room, part, pa.record_batch([found.stored], names=["values"]))
            if batch is not None:
                found = replace(found, stored=batch.column(0))
                with self._lock:
                    if room.get(part) is not None:  # or it went already
                        self._packed[part] = found
        return found

    def order(self, part: Part) -> Order | None:
        """An order of a column; None if it isn't kept, or its values aren't numbers."""
        found = self._small.get((part, Order))
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
        ordered = pa.record_batch([pa.array(numbers), pa.array(places)], names=["value", "at"])
        self._keep(self._small, (part, Order), ordered)
        return Order(numbers, places)

    def close(self) -> None:
        """Forget all."""
        with self._lock:
            self._small.clear()
            self._large.clear()
            self._packed.clear()
            self._footers.clear()

    def _keep(self, room: Room, key: Hashable, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """A batch as it is kept; None if it isn't."""
        with self._lock:
            for gone in room.keep(key, batch):
                self._packed.pop(gone, None)  # type: ignore[call-overload]
            return room.get(key)


def _in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
