"""An engine that is created when it is first used: importing pyspark takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.lazy import Lazy

if TYPE_CHECKING:
    from anabranch.engine.base import Engine


class LazyEngine(Lazy[Any]):
    """Stands for the engine that `make` creates."""

    def stop(self) -> None:
        """Stop the engine, if it was created."""
        if (made := self._engine_if_created()) is not None:
            made.stop()

    @property
    def statements(self) -> int:
        """How many statements were run: none before the engine is created."""
        made = self._engine_if_created()
        return 0 if made is None else made.statements

    def _engine_if_created(self) -> Engine | None:
        with self._lock:
            return self._value
