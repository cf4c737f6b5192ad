"""The protocol of an engine, which computes rows.

A `Frame` is the engine's own lazy table (for Spark, a DataFrame), opaque to everybody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from anabranch.engine.render.dialect import Dialect
from anabranch.errors import InvalidQuery
from anabranch.schema import Schema

Frame = Any


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

    def scan(
        self,
        files: Sequence[FileWithDeletes],
        schema: Schema,
        *,
        positions: bool = False,
        deleted: ReadPositions | None = None,
        all_deleted: ReadPositions | None = None,
        keep_as: str | None = None,
    ) -> Frame:
        """The rows of files; with `positions` also `__file` and `__position`.

        `deleted` reads the position deletes of a file, where the engine needn't do that itself. `all_deleted`
        says which positions are left out instead, whatever delete files a file has. With `keep_as`, it may be
        the frame that was made of these files under that name before: one statement must not read two frames
        under one name.
        """
        ...

    def scan_changes(
        self,
        plus: Sequence[FileWithDeletes],
        minus: Sequence[FileWithDeletes],
        weighted: Sequence[str],
        schema: Schema,
    ) -> Frame:
        """The rows of files with their weight in `__weight`: +1, -1, or what change files say."""
        ...

    def change_from_query(self, frame: Frame, schema: Schema, table: str) -> Frame:
        """A query's weighted rows (`__weight`; without it, each counts one) in a table's columns."""
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

    def conform(
        self, frame: Frame, schema: Schema, table: str, *, columns: Sequence[str] | None = None
    ) -> Frame:
        """A frame in a table's columns, under the rules of INSERT; NULLs in NOT NULL columns fail.

        `columns`: which columns its own are, in order (None: those of the same names).
        """
        ...

    def change_from_actions(self, frame: Frame, schema: Schema, table: str) -> Frame:
        """From actions per row (see `sql.row_changes`) to weighted rows with file and position."""
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


def check_column_count(given: int, columns: Sequence[str], schema: Schema, table: str) -> None:
    """Refuse a query that gives more or fewer columns than are named, or than a table has."""
    if given == len(columns):
        return
    if len(columns) == len(schema):
        raise InvalidQuery(f'"{table}" has {len(schema)} columns, the query gives {given}')
    raise InvalidQuery(f'{len(columns)} columns of "{table}" are named, the query gives {given}')
