"""The commands: in which order the help lists them, and in which module each is.

A module is imported, and its commands are made, when one of them is first asked for: the others would take
longer than many a command does.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

MODULES = {
    "demo": "demo",
    "init": "project",
    "plan": "project",
    "apply": "project",
    "status": "status",
    "history": "history",
    "graph": "graph",
    "groups": "groups",
    "cycles": "groups",
    "tables": "tables",
    "preview": "tables",
    "explain": "explain",
    "verify": "verify",
    "refresh": "refresh",
    "tick": "refresh",
    "run": "run",
    "serve": "serve",
    "sql": "sql",
    "suspend": "lifecycle",
    "resume": "lifecycle",
    "drop": "lifecycle",
    "fuse": "fuses",
    "gate": "gates",
    "ungate": "gates",
    "gates": "gates",
    "watermark": "watermarks",
    "settings": "settings",
    "set": "settings",
    "maintain": "maintain",
    "compact": "maintain",
    "doctor": "doctor",
}
"""Which module registers a command; in the order of the help."""


class Commands(TyperGroup):
    """The commands, in the order of the help."""

    def __init__(self, *, commands: Any = None, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands(commands or {})

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in order."""
        return list(self.commands)


class LazyCommands(MutableMapping[str, Any]):
    """The commands by name, each made when it is first asked for."""

    def __init__(self, made: dict[str, Any]) -> None:
        self._made = made

    def __getitem__(self, name: str) -> Any:
        if name not in self._made and name in MODULES:
            self._import_commands(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        if not MODULES.keys() <= self._made.keys():
            self._import_commands(*MODULES)
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def _import_commands(self, *names: str) -> None:
        from anabranch.cli.app import app

        for name in names:
            import_module(f"anabranch.cli.{MODULES[name]}")
        group: Any = typer.main.get_group(app)
        self._made.update(group.commands._made)
