"""When rows that go are marked in their files, and when the files are rewritten without them.

A mark costs little to write and something at every read; a file that is rewritten costs its size, once.
So rows are marked where they are few beside what would have to be rewritten, and a file is rewritten,
without all that was marked, as soon as that is much.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from anabranch.storage.files import FileRef


@dataclass(frozen=True)
class Limits:
    """Where it begins to be worth it."""

    rewritten_bytes: int = 8 << 20
    """Files that lose rows are rewritten if they are no larger than this in all."""
    small_file_bytes: int = 1 << 20
    """A file up to this size is rewritten in any case."""
    small_files: int = 16
    """So many small files are rewritten into one in passing: those that marks leave behind stay few."""
    passing_bytes: int = 8 << 20
    """How much is rewritten in passing at most."""
    marked_share: float = 0.05
    """The part of a file's rows that may be marked."""
    marked_rows: int = 1_000_000
    """How many rows of a table may be marked: whoever reads it has to hold all marks."""


LIMITS = Limits()


@dataclass(frozen=True)
class Choice:
    """Files whose rows that go are marked, and files that are rewritten."""

    marked: tuple[FileRef, ...]
    rewritten: tuple[FileRef, ...]


def choose(
    live: Iterable[FileRef],
    going: Mapping[str, int],
    markable: Collection[str],
    limits: Limits = LIMITS,
) -> Choice:
    """What becomes of the files of a table that lose `going` rows each."""
    files = sorted(live, key=lambda file: file.path)
    touched = [file for file in files if file.path in going]
    if sum(file.size for file in touched) <= limits.rewritten_bytes:
        return Choice((), tuple(touched))
    marked = [
        file
        for file in touched
        if file.path in markable
        and file.size > limits.small_file_bytes
        and file.marked + going[file.path] <= limits.marked_share * (file.rows + file.marked)
    ]
    marks = sum(file.marked for file in files) + sum(going[file.path] for file in marked)
    if not marked or marks > limits.marked_rows:
        return Choice((), tuple(touched))
    rewritten = [file for file in touched if file not in marked]
    rewritten += _in_passing([file for file in files if file.path not in going], limits)
    return Choice(tuple(marked), tuple(rewritten))


def _in_passing(files: Sequence[FileRef], limits: Limits) -> list[FileRef]:
    """Small files to rewrite into one with the rows that come: the smallest first, if there are many."""
    small = sorted(
        (file for file in files if file.size <= limits.small_file_bytes), key=lambda file: file.size
    )
    if len(small) < limits.small_files:
        return []
    sizes = accumulate(file.size for file in small)
    return [file for file, size in zip(small, sizes, strict=True) if size <= limits.passing_bytes]
