"""Named places where a test may stop, fail or kill the process. Off unless asked for.

`ANABRANCH_FAILPOINTS="commit.before_commit=kill"` kills at the first hit; `name=kill@3` at the
third. Several are separated by commas. In one process, `arm` takes any callable.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping

COMMIT_POINTS = (
    "write.before_stage",
    "write.after_stage",
    "commit.before_metadata",
    "commit.after_metadata",
    "commit.before_transaction",
    "commit.in_transaction",
    "commit.after_pointer",
    "commit.before_commit",
    "commit.after_commit",
)
REFRESH_POINTS = (
    "refresh.before_member",
    "refresh.after_iteration",
    "refresh.after_member",
    "refresh.before_publish",
    "refresh.after_publish",
    "refresh.before_failure",
    "refresh.after_failure",
    "refresh.before_blown",
    "refresh.after_blown",
)
MAINTENANCE_POINTS = (
    "expire.before_commit",
    "expire.after_commit",
    "compact.before_commit",
    "sweep.after_mark",
    "sweep.before_delete",
    "sweep.after_delete",
)
MIGRATION_POINTS = ("migrate.before", "migrate.inside", "migrate.after")

EVERY_POINT = frozenset(COMMIT_POINTS + REFRESH_POINTS + MAINTENANCE_POINTS + MIGRATION_POINTS)


class FailpointReached(Exception):
    """What an armed failpoint with the action `raise` raises."""


class Failpoints:
    """The armed failpoints of one lake."""

    def __init__(self, armed: Mapping[str, Callable[[], None]] | None = None) -> None:
        self._armed = dict(armed or {})
        for name in self._armed:
            _check_name(name)

    @classmethod
    def from_text(cls, text: str) -> Failpoints:
        """Read `name=kill`, `name=raise`, `name=kill@3`, separated by commas."""
        return cls(dict(map(_parse_failpoint, filter(None, text.split(",")))))

    @classmethod
    def from_environment(cls) -> Failpoints:
        """What `ANABRANCH_FAILPOINTS` asks for; usually nothing."""
        return cls.from_text(os.environ.get("ANABRANCH_FAILPOINTS", ""))

    def arm(self, name: str, action: Callable[[], None]) -> None:
        """Call `action` whenever `name` is hit."""
        _check_name(name)
        self._armed[name] = action

    def disarm(self, name: str) -> None:
        """Make `name` do nothing when it is hit again."""
        self._armed.pop(name, None)

    def hit(self, name: str) -> None:
        """Run the action armed for the failpoint `name`, if there is one."""
        if self._armed and (action := self._armed.get(name)) is not None:
            action()


def _check_name(name: str) -> None:
    if name not in EVERY_POINT:
        raise ValueError(f"there is no failpoint {name!r}")


def _parse_failpoint(item: str) -> tuple[str, Callable[[], None]]:
    name, _, rest = item.strip().partition("=")
    word, _, count = rest.partition("@")
    actions: dict[str, Callable[[], None]] = {"kill": _kill, "raise": _raise}
    if word not in actions:
        raise ValueError(f"a failpoint can kill or raise, not {word!r}")
    return name, _on_nth_hit(int(count or 1), actions[word])


def _on_nth_hit(nth: int, action: Callable[[], None]) -> Callable[[], None]:
    lock = threading.Lock()
    hits = 0

    def count_hit() -> None:
        nonlocal hits
        with lock:
            hits += 1
            reached = hits == nth
        if reached:
            action()

    return count_hit


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise() -> None:
    raise FailpointReached
