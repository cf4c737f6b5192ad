"""The protocol of an engine, which computes rows.

A `Frame` is the engine's own lazy table (for Spark, a DataFrame), opaque to everybody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from anabranch.engine.render.dialect import Dialect
from anabranch.schema import Schema

Frame = Any


@dataclass(frozen=True)
class Checksum:
    """A checksum of a frame's rows, whatever their order."""

    rows: int
    sum: str | None


class FileWithDeletes(Protocol):
    """A Parquet file and its position delete files: deleted rows are not read."""

    @property
    def path(self) -> str:
        """The path of the file."""
        ...

    @property
    def deletes(self) -> tuple[str, ...]:
        """The paths of its delete files; none, if all rows count."""
        ...


ReadPositions = Callable[[FileWithDeletes], Any]
"""Reads the deleted positions of a file, as a numpy array."""


class Engine(Protocol):
    """Reads Parquet files, runs queries over them, writes Parquet files."""

    @property
    def dialect(self) -> Dialect:
        """The SQL in which it is handed plans; people's own texts are always Spark's."""
        ...

    @property
    def statements(self) -> int:
        """How many statements it has run so far; each computed rows, and stored or returned them."""
        ...

    def is_own_frame(self, value: object) -> bool:
        """Whether a value is one of this engine's frames."""
        ...

    def schema_of(self, frame: Frame, *, hidden: bool = False) -> Schema:
        """The schema of a frame; `hidden`: it may have hidden columns."""
        ...

    def types_of(self, frame: Frame) -> Mapping[str, str]:
        """The types of a frame's columns, as Spark names them."""
        ...

    def compute_checksum(self, frame: Frame, schema: Schema) -> Checksum:
        """How many rows a frame has, and a number that is the same for the same rows in any order."""
        ...

    def count_differences(self, left: Frame, right: Frame, schema: Schema) -> tuple[int, int]:
        """How many rows, as bags, are only in the left frame, and how many only in the right."""
        ...

    def scan(
        self,
        files: Sequence[FileWithDeletes],
        schema: Schema,
        *,
        positions: bool = False,
        deleted: ReadPositions | None = None,
    ) -> Frame:
        """The rows of files; with `positions` also `__file` and `__position`.

        `deleted` reads the position deletes of a file, where the engine needn't do that itself.
        """
        ...

    def net_change(
        self,
        plus: Sequence[FileWithDeletes],
        minus: Sequence[FileWithDeletes],
        weighted: Sequence[str],
        schema: Schema,
    ) -> Frame:
        """Rows with their net weight in `_weight`, none of it zero: equal rows are added up."""
        ...

    def change_rows(
        self,
        plus: Sequence[FileWithDeletes],
        minus: Sequence[FileWithDeletes],
        weighted: Sequence[str],
        schema: Schema,
        *,
        net: bool,
    ) -> Frame:
        """The same rows with their weight in `__weight`; equal rows are added up only if `net`."""
        ...

    def change_from_query(self, frame: Frame, schema: Schema, table: str) -> Frame:
        """A query's weighted rows (`__weight`; without it, each counts one) in a table's columns."""
        ...

    def locate_rows(self, changes: Sequence[str], live: Sequence[FileWithDeletes], schema: Schema) -> Frame:
        """File and position of the stored rows that change files delete."""
        ...

    def rows_with_keys(self, stored: Frame, incoming: Frame, keys: Sequence[str]) -> Frame:
        """The stored rows that agree in all keys with a row of a small frame."""
        ...

    def with_change_type(self, weighted: Frame) -> Frame:
        """The same for people: `_change_type` says insert or delete, a row per occurrence."""
        ...

    def run_query(self, template: str, relations: Mapping[str, Frame]) -> Frame:
        """Run a statement in which `{placeholder}` stands for a relation."""
        ...

    def from_arrow(self, table: Any, like: Frame | None = None) -> Frame:
        """Arrow data as a frame; `like`: in the types of another one, which it was collected from."""
        ...

    def collect(self, frame: Frame) -> Any | None:
        """The rows of a frame as Arrow data, computed now; None if they are too many, or Arrow would
        change their types."""
        ...

    def conform(self, frame: Frame, schema: Schema, table: str, *, by_position: bool = False) -> Frame:
        """A frame in a table's columns, under the rules of INSERT; NULLs in NOT NULL columns fail."""
        ...

    def rename_columns(self, frame: Frame, columns: Sequence[str], table: str) -> Frame:
        """A frame whose columns get these names, in order."""
        ...

    def change_from_actions(self, frame: Frame, schema: Schema, table: str) -> Frame:
        """From actions per row (see `sql.row_changes`) to weighted rows with file and position."""
        ...

    def rows_after_rewrite(
        self,
        touched: Sequence[FileWithDeletes],
        changes: Sequence[str],
        schema: Schema,
        deleted: ReadPositions,
    ) -> Frame:
        """The rows of touched files but those at deleted positions, and those that changes add."""
        ...

    def materialise(self, frame: Frame, folder: str) -> Frame:
        """The rows of a frame, computed once: written to a new folder."""
        ...

    def write(self, frame: Frame, folder: str, schema: Schema | None, field_ids: Mapping[str, int]) -> None:
        """Write a frame as Parquet files into a new folder (`schema` None: as it is)."""
        ...

    def stop(self) -> None:
        """Stop what this engine started itself."""
        ...
