"""`run`: the scheduler, with a line for everything it does."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rich.text import Text

from anabranch.cli.app import command
from anabranch.cli.escape_text import escape_to_one_line
from anabranch.cli.human_readable import format_duration
from anabranch.cli.session import Session
from anabranch.clock import SystemClock

if TYPE_CHECKING:
    from anabranch.cli.output import Output
    from anabranch.events import Event

TOLD = frozenset(
    {"spark_started", "refresh_finished", "group_committed", "group_rolled_back", "skipped", "tick_finished"}
)


@command("run", panel="Refresh")
def run(session: Session) -> None:
    """Schedule: refresh what is due, again and again.

    Until Ctrl-C or SIGTERM: what is under way then is finished first, and the exit code is 0. With
    --output json, events come as JSON, one on a line. Several schedulers on one lake do no harm: one
    leads, the others wait.
    """
    with session.open_lake() as lake:
        session.out.print_note("scheduling; Ctrl-C ends it when what is under way is done")
        with session.show_progress(), session.add_watcher(EventPrinter(session.out).print_event):
            lake.run()
    session.out.print_note("stopped")


class EventPrinter:
    """A line for every event that says something."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._held: dict[str, str] = {}
        """What was said of those that wait; said once, until it changes."""

    def print_event(self, event: Event) -> None:
        """One more event."""
        with self._lock:
            if event.kind not in TOLD or self._is_repetition(event):
                return
            now = SystemClock().now()
            if self._out.is_json:
                self._out.print_json_line(
                    {"at": now, "event": event.kind, "stream_table": event.stream_table, **event.detail}
                )
            elif (line := _format_event(event)) is not None:
                self._out.console.print(Text.assemble((f"{now:%H:%M:%S}  ", "dim"), line), soft_wrap=True)

    def _is_repetition(self, event: Event) -> bool:
        name = event.stream_table or ""
        if event.kind == "skipped":
            reason = str(event.detail.get("reason"))
            if self._held.get(name) == reason:
                return True
            self._held[name] = reason
        elif event.kind == "refresh_finished":
            self._held.pop(name, None)
        # A tick with nothing to do comes all the time.
        elif event.kind == "tick_finished":
            return not (event.detail.get("refreshed") or event.detail.get("failed"))
        return False


def _format_event(event: Event) -> Text | None:
    name, detail = f"{event.stream_table or '':<28} ", event.detail
    match event.kind:
        case "spark_started":
            return Text("Spark has started", style="dim")
        case "refresh_finished":
            changed = f"+{detail.get('inserted', 0):,} -{detail.get('deleted', 0):,}"
            return Text.assemble(
                name, ("refreshed  ", "green"), f"{changed:<16} {format_duration(detail.get('seconds'))}"
            )
        case "group_rolled_back":
            said = escape_to_one_line(str(detail.get("error", "")))
            return Text.assemble(name, ("failed     ", "bold red"), said)
        case "skipped":
            return Text.assemble(
                name, ("held       ", "yellow"), escape_to_one_line(str(detail.get("reason", "")))
            )
        case "group_committed":
            members = [str(member) for member in detail.get("members", ())]
            if len(members) > 1:
                return Text.assemble(
                    name, ("published  ", "cyan"), f"lsn {detail.get('lsn')}: {', '.join(members)}"
                )
    return None
