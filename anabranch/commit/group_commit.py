"""A group commit as values: what is to happen to each table, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from anabranch.ledger.records import Fence
from anabranch.names import TableName
from anabranch.schema import Schema

if TYPE_CHECKING:
    from anabranch.commit.stage_metadata import Staged


@dataclass(frozen=True)
class CreateTable:
    """Enter a new table; the name must be free."""

    table_id: str
    name: TableName
    kind: str
    schema: Schema
    staged: Staged


@dataclass(frozen=True)
class NewVersion:
    """Point a table at new metadata, if it still points at `expected`."""

    table_id: str
    name: TableName
    schema: Schema
    expected: str
    staged: Staged


@dataclass(frozen=True)
class NewMetadata:
    """Like `NewVersion`, but the contents and versions stay what they are (expiry)."""

    table_id: str
    name: TableName
    expected: str
    staged: Staged


@dataclass(frozen=True)
class DropTable:
    """Remove a table, if it still points at `expected`."""

    table_id: str
    name: TableName
    expected: str


@dataclass(frozen=True)
class Unchanged:
    """Go on only if a table's newest version is still the one that was read."""

    table_id: str
    name: TableName
    lsn: int


@dataclass(frozen=True)
class SameImmediateTables:
    """Go on only if these are still the immediate stream tables."""

    table_ids: frozenset[str]


Step = CreateTable | NewVersion | NewMetadata | DropTable
Check = Unchanged | SameImmediateTables
"""Preconditions of a commit."""
Entry = Callable[[Connection, int], None]
"""Something else to write into the ledger in the same transaction, given the lsn."""


@dataclass(frozen=True)
class GroupCommit:
    """Several steps that happen together, or not at all."""

    attempt: str
    kind: str
    steps: tuple[Step, ...] = ()
    entries: tuple[Entry, ...] = ()
    fence: Fence | None = None
    checks: tuple[Check, ...] = ()
    numbered: bool = True
    """Whether this gets an lsn: maintenance of metadata alone doesn't."""


@dataclass(frozen=True)
class Committed:
    """It happened, under this lsn."""

    lsn: int


@dataclass(frozen=True)
class Conflict:
    """It didn't: somebody else changed (or created, or dropped) this table first.

    None: the conflict isn't about one table, but about which immediate tables there are.
    """

    table: TableName | None


@dataclass(frozen=True)
class Fenced:
    """It didn't: the lease passed to somebody else."""

    fence: Fence


@dataclass(frozen=True)
class Unknown:
    """The database didn't say. The attempt can be looked up; its files must be left alone."""

    attempt: str
    why: str


Outcome = Committed | Conflict | Fenced | Unknown
