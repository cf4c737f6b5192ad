"""A column in as few bytes as hold its values: `pack(v).values() == v`.

Whole numbers, dates, times and decimals of up to 18 digits are whole numbers of one to eight bytes, as
their lowest and highest value ask for; texts of which there are few are numbers of a list. A column that is
looked into is large, and what is asked of it are a few places: those are unpacked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = 18
"""Digits of a decimal that one word holds."""
_WORDS = 1 << 15
"""Up to so many different texts are numbered."""
_TRIED = 4096
"""So many values tell whether that may be worth it."""


@dataclass(frozen=True)
class Packed:
    """A column: its type, what is stored for it, and the texts that the stored numbers stand for, if so."""

    kind: pa.DataType
    stored: pa.Array
    words: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def is_small(self) -> bool:
        """Whether its values are stored as numbers."""
        return self.words is not None or has_numbers(self.kind)

    def values(self) -> pa.Array:
        """All values."""
        return self._unpacked(self.stored)

    def take(self, places: np.ndarray) -> pa.Array:
        """The values at some places."""
        return self._unpacked(self.stored.take(pa.array(places)))

    def numbers(self) -> np.ndarray | None:
        """The values but NULL as whole numbers in the same order; None if their type has no such."""
        if self.words is not None or not has_numbers(self.kind):
            return None
        found: np.ndarray = self.stored.drop_null().to_numpy()
        return found

    def has(self, wanted: pa.Array, places: np.ndarray | None = None) -> np.ndarray:
        """Whether one of some values (in the column's type) stands at some places, or at each."""
        stored = self.stored if places is None else self.stored.take(pa.array(places))
        if self.words is None and (wanted.null_count or not has_numbers(self.kind)):
            return _mask(pc.is_in(self._unpacked(stored), value_set=wanted))
        if self.words is not None:
            numbers = np.flatnonzero(_mask(pc.is_in(self.words, value_set=wanted)))
        else:
            numbers = as_numbers(wanted)
        found = pc.is_in(stored, value_set=_within(numbers, stored.type))
        if wanted.null_count:
            found = pc.or_(found, pc.is_null(stored))
        return _mask(found)

    def _unpacked(self, stored: pa.Array) -> pa.Array:
        if self.words is not None:
            return self.words.take(stored)
        return _as_kind(stored, self.kind) if has_numbers(self.kind) else stored


def pack(values: pa.Array) -> Packed:
    """A column as it is kept."""
    kind = values.type
    if has_numbers(kind):
        return Packed(kind, _as_few_bytes(values))
    if pa.types.is_string(kind) and len(values) > _TRIED and _has_few(values[:_TRIED]):
        encoded = values.dictionary_encode()
        if len(encoded.dictionary) <= _WORDS:
            return Packed(kind, _smallest(encoded.indices), encoded.dictionary)
    return Packed(kind, values)


def has_numbers(kind: pa.DataType) -> bool:
    """Whether values of a type are whole numbers in the same order."""
    if pa.types.is_decimal128(kind):
        return bool(kind.precision <= _DIGITS)
    return bool(pa.types.is_date32(kind) or pa.types.is_timestamp(kind) or pa.types.is_signed_integer(kind))


def as_numbers(values: pa.Array) -> np.ndarray:
    """Values of such a type as those numbers; NULL as 0."""
    kind = values.type
    if pa.types.is_decimal128(kind):
        words = np.frombuffer(values.buffers()[1] or b"", dtype=np.int64)
        words = words[2 * values.offset : 2 * (values.offset + len(values)) : 2]
        return np.where(_mask(values.is_valid()), words, 0) if values.null_count else words
    if pa.types.is_date32(kind):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.view(pa.int64())
    found: np.ndarray = values.fill_null(0).to_numpy()
    return found


def _as_few_bytes(values: pa.Array) -> pa.Array:
    missing = _mask(values.is_null()) if values.null_count else None
    return _smallest(pa.array(as_numbers(values), mask=missing))


def _smallest(numbers: pa.Array) -> pa.Array:
    """Whole numbers in the type of the fewest bytes that holds them."""
    ends = pc.min_max(numbers)
    low, high = ends["min"].as_py() or 0, ends["max"].as_py() or 0
    for kind in (pa.int8(), pa.int16(), pa.int32()):
        most = np.iinfo(kind.to_pandas_dtype()).max
        if -most <= low and high <= most:
            return numbers.cast(kind)
    return numbers.cast(pa.int64())


def _as_kind(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal128(kind):
        wide = numbers.fill_null(0).cast(pa.int64()).to_numpy()
        words = np.empty((len(wide), 2), dtype=np.int64)
        words[:, 0], words[:, 1] = wide, wide >> 63
        valid = None
        if numbers.null_count:
            valid = pa.array(np.packbits(_mask(numbers.is_valid()), bitorder="little")).buffers()[1]
        return pa.Array.from_buffers(kind, len(wide), [valid, pa.py_buffer(words)])
    if pa.types.is_date32(kind):
        return numbers.cast(pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return numbers.cast(pa.int64()).cast(kind)
    return numbers.cast(kind)


def _has_few(values: pa.Array) -> bool:
    """Whether values repeat so much that their number may stay small."""
    return bool(pc.count_distinct(values).as_py() <= len(values) // 4)


def _within(numbers: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Those of some numbers that a type holds; no others can stand in a column of it."""
    ends = np.iinfo(kind.to_pandas_dtype())
    return pa.array(numbers[(numbers >= ends.min) & (numbers <= ends.max)]).cast(kind)


def _mask(found: pa.Array) -> np.ndarray:
    mask: np.ndarray = found.to_numpy(zero_copy_only=False)
    return mask
