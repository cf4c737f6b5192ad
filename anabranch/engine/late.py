"""An engine that is made when something is first asked of it: importing pyspark takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.late import Late

if TYPE_CHECKING:
    pass


class LateEngine(Late["Engine"]):
    """Stands for the engine that `make` gives."""

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
