"""Deleted positions as bits, for a filter that Spark computes row by row.

Position p of a file is bit p % 64 of word p // 64, as in `getbit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

WORD = 64
MAX_WORDS = 1_000_000
"""Eight megabytes: Spark hands them to every task."""


@dataclass(frozen=True)
class DeletedBits:
    """The deleted positions of some files: a word list for each, in order, and one for all of them."""

    each: tuple[np.ndarray, ...]
    any: np.ndarray

    @property
    def words(self) -> int:
        """How many words they are in all."""
        return sum(map(len, self.each)) + len(self.any)


def pack_deletes(places: Sequence[Any]) -> DeletedBits:
    """The bits of each file's deleted positions, which are ascending; up to the last of them.

    >>> packed = pack_deletes([np.array([0, 65]), np.array([1])])
    >>> [list(map(int, words)) for words in (*packed.each, packed.any)]
    [[1, 2], [2], [3, 2]]
    """
    each = tuple(_pack(np.asarray(found, dtype=np.int64)) for found in places)
    together = np.zeros(max(map(len, each), default=0), np.int64)
    for words in each:
        together[: len(words)] |= words
    return DeletedBits(each, together)


def count_words(places: Sequence[Any]) -> int:
    """About how many words that takes: one for each file, and more up to its last deleted position."""
    return 2 * sum(int(found[-1]) // WORD + 1 for found in places if len(found))


def _pack(positions: np.ndarray) -> np.ndarray:
    if not len(positions):
        return np.empty(0, np.int64)
    words = np.zeros(int(positions[-1]) // WORD + 1, np.uint64)
    np.bitwise_or.at(words, positions // WORD, np.uint64(1) << (positions % WORD).astype(np.uint64))
    return words.view(np.int64)
