"""What is committed with a write: tables that are maintained in the same commit, and its preconditions."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.commit.group_commit import Check, Entry
from anabranch.write.working_table import WorkingTable


@dataclass(frozen=True)
class ImmediateUpdates:
    """Tables with staged contents, what must not have changed when they are committed, and what to note."""

    tables: tuple[WorkingTable, ...] = ()
    checks: tuple[Check, ...] = ()
    entries: tuple[Entry, ...] = ()
