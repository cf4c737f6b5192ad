"""What moves with a write: tables that are maintained in the same commit, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.storage.commit import Check, Entry
from anabranch.write.working import WorkingTable


@dataclass(frozen=True)
class Followed:
    """Tables with staged contents, what must not have changed when they are committed, and what to note."""

    tables: tuple[WorkingTable, ...] = ()
    checks: tuple[Check, ...] = ()
    entries: tuple[Entry, ...] = ()
