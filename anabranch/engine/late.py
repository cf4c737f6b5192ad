"""An engine that is made when something is first asked of it.

To look at a lake needs no engine, and importing pyspark takes longer than most looks do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from anabranch.engine.base import Engine


class LateEngine:
    """Stands for the engine that `make` gives."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Engine | None = None

    def stop(self) -> None:
        """End what was started; an engine that nobody needed is not made for that."""
        with self._lock:
            made = self._made
        if made is not None:
            made.stop()

    @property
    def statements(self) -> int:
        """How many statements were run: none, as long as nothing was asked."""
        with self._lock:
            made = self._made
        return 0 if made is None else made.statements

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return getattr(self._made, name)
