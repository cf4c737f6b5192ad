"""What goes on, while it does: lines on a terminal that vanish with the work.

They hang on the events of the lake. Where standard error is no terminal, nothing is drawn.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from anabranch.cli.escape_text import escape_to_one_line

if TYPE_CHECKING:
    from rich.progress import TaskID

    from anabranch.cli.output import Output
    from anabranch.events import Event


class CountedBar(BarColumn):
    """A bar, where it is known how much there is to do."""

    def render(self, task: Task) -> Any:
        """The bar, or nothing."""
        return Text() if task.total is None else super().render(task)


class Count(MofNCompleteColumn):
    """How much of it is done."""

    def render(self, task: Task) -> Text:
        """The numbers, or nothing."""
        return Text() if task.total is None else super().render(task)


class ProgressDisplay:
    """A bar for what is counted, and a line for each thing under way."""

    def __init__(self, out: Output, *, total: int | None = None, what: str = "") -> None:
        self._drawn = not out.quiet and out.side.is_terminal
        self._what = what
        self._lock = threading.Lock()
        self._lines: dict[str, TaskID] = {}
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            CountedBar(bar_width=30),
            Count(),
            TimeElapsedColumn(),
            console=out.side,
            transient=True,
            disable=not self._drawn,
        )
        self._bar = None if total is None else self._progress.add_task(what, total=total)

    def __enter__(self) -> ProgressDisplay:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show_current(self, name: str) -> None:
        """Say what is being counted now."""
        if self._bar is not None:
            self._progress.update(self._bar, description=f"{self._what} {escape_to_one_line(name)}")

    def advance(self) -> None:
        """One more is done."""
        if self._bar is not None:
            self._progress.advance(self._bar)

    def show_event(self, event: Event) -> None:
        """Follow the lake's events: a line comes and goes with every refresh, and with the start of Spark."""
        match event.kind:
            case "spark_starting":
                self._add_line("starting Spark")
            case "spark_started":
                self._remove_lines("starting Spark")
            case "refresh_started":
                self._add_line(
                    f"refreshing {event.stream_table} ({str(event.detail.get('action', '')).lower()})"
                )
            case "refresh_iterated":
                self._update_lines(
                    f"refreshing {event.stream_table} (", f", pass {event.detail.get('iteration')}"
                )
            case "refresh_finished" | "group_committed" | "group_rolled_back" | "skipped":
                names = [event.stream_table, *event.detail.get("members", ())]
                for name in names:
                    self._remove_lines(f"refreshing {name} (")

    def _add_line(self, line: str) -> None:
        with self._lock:
            if line not in self._lines:
                self._lines[line] = self._progress.add_task(escape_to_one_line(line), total=None)

    def _update_lines(self, start: str, more: str) -> None:
        with self._lock:
            for line, task in self._lines.items():
                if line.startswith(start):
                    self._progress.update(task, description=escape_to_one_line(line + more))

    def _remove_lines(self, start: str) -> None:
        with self._lock:
            for line in [line for line in self._lines if line.startswith(start)]:
                self._progress.remove_task(self._lines.pop(line))
