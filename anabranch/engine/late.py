"""An engine that is made when something is first asked of it: importing pyspark takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.late import Late

if TYPE_CHECKING:
    from anabranch.engine.base import Engine


class LateEngine(Late[Any]):
    """Stands for the engine that `make` gives."""

    def stop(self) -> None:
        """End what was started; an engine that nobody needed is not made for that."""
        if (made := self._engine()) is not None:
            made.stop()

    @property
    def statements(self) -> int:
        """How many statements were run: none, as long as nothing was asked."""
        made = self._engine()
        return 0 if made is None else made.statements

    def _engine(self) -> Engine | None:
        with self._lock:
            return self._made
