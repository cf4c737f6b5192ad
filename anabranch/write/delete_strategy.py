"""Chooses between position deletes and rewriting files without the deleted rows.

A position delete costs little to write and something at every read; a rewrite costs the file's size, once.
So rows are deleted by position where they are few beside what would have to be rewritten, and a file is
rewritten, without all its deleted rows, as soon as those are many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from anabranch.iceberg.parquet_files import FileRef


@dataclass(frozen=True)
class Limits:
    """From when on a rewrite is worth it."""

    rewritten_bytes: int = 8 << 20
    """Files that lose rows are rewritten if they are no larger than this in all."""
    small_file_bytes: int = 1 << 20
    """A file up to this size is rewritten in any case."""
    small_files: int = 16
    """So many small files are rewritten into one by the way: position deletes would let them pile up."""
    passing_bytes: int = 8 << 20
    """How much is rewritten by the way at most."""
    marked_share: float = 0.05
    """The share of a file's rows that may be deleted by position."""
    marked_rows: int = 1_000_000
    """How many position deletes a table may have: its readers keep all of them in memory."""


LIMITS = Limits()


@dataclass(frozen=True)
class DeleteStrategy:
    """Files that get position deletes, and files that are rewritten."""

    marked: tuple[FileRef, ...]
    rewritten: tuple[FileRef, ...]


def choose_delete_strategy(
    live: Iterable[FileRef],
    going: Mapping[str, int],
    markable: Collection[str],
    limits: Limits = LIMITS,
) -> DeleteStrategy:
    """The strategy for the files of a table that lose `going` rows each."""
    files = sorted(live, key=lambda file: file.path)
    touched = [file for file in files if file.path in going]
    if sum(file.size for file in touched) <= limits.rewritten_bytes:
        return DeleteStrategy((), tuple(touched))
    marked = [
        file
        for file in touched
        if file.path in markable
        and file.size > limits.small_file_bytes
        and file.marked + going[file.path] <= limits.marked_share * (file.rows + file.marked)
    ]
    marks = sum(file.marked for file in files) + sum(going[file.path] for file in marked)
    if not marked or marks > limits.marked_rows:
        return DeleteStrategy((), tuple(touched))
    rewritten = [file for file in touched if file not in marked]
    rewritten += _small_files_to_compact([file for file in files if file.path not in going], limits)
    return DeleteStrategy(tuple(marked), tuple(rewritten))


def _small_files_to_compact(files: Sequence[FileRef], limits: Limits) -> list[FileRef]:
    """Small files to rewrite into one with the inserted rows: the smallest first, if there are many."""
    small = sorted(
        (file for file in files if file.size <= limits.small_file_bytes), key=lambda file: file.size
    )
    if len(small) < limits.small_files:
        return []
    sizes = accumulate(file.size for file in small)
    return [file for file, size in zip(small, sizes, strict=True) if size <= limits.passing_bytes]
