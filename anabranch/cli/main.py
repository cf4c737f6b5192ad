"""The command line's entry point."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.cli import (
    demo,
    doctor,
    explain,
    fuses,
    gates,
    graph,
    groups,
    history,
    lifecycle,
    project,
    refreshing,
    run,
    serve,
    settings,
    sql,
    status,
    tables,
    upkeep,
    verify,
    watermarks,
)
from anabranch.cli.app import app
from anabranch.cli.session import Session

COMMANDS = (
    *(demo, project, status, history, graph, groups, explain, verify, tables),
    *(refreshing, run, serve, sql, lifecycle, fuses, gates, watermarks, upkeep, settings, doctor),
)
"""Modules that register commands when they are imported; what these need of the lake comes when they run."""

__all__ = ["COMMANDS", "app", "main"]


def main(arguments: Sequence[str] | None = None, *, session: Session | None = None) -> None:
    """Run one command, by default the process's own arguments, and exit with its code."""
    app(args=None if arguments is None else list(arguments), prog_name="anabranch", obj=session)
