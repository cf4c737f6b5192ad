"""What the lake tells about itself while it works; progress bars, logs and tests hang on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = frozenset(
    {
        "spark_starting",
        "spark_started",
        "write_staged",
        "write_retried",
        "write_committed",
        "foreign_commit_adopted",
        "table_expired",
        "table_compacted",
        "files_swept",
        "tick_started",
        "refresh_started",
        "refresh_iterated",
        "refresh_finished",
        "group_committed",
        "group_rolled_back",
        "skipped",
        "tick_finished",
    }
)


@dataclass(frozen=True)
class Event:
    """One step: its `kind`, the tables it concerns, and what else is worth knowing."""

    kind: str
    stream_table: str | None = None
    tables: tuple[str, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"there is no event kind {self.kind!r}")


Observer = Callable[[Event], None]


def ignore_event(event: Event) -> None:
    """The observer of a lake that nobody watches."""
