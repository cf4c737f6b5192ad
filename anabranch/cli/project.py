"""`init`, `plan` and `apply`: tables defined in files, and a lake that is made to have them."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.app import command, quiet_exit
from anabranch.cli.exit_codes import ExitCode
from anabranch.cli.output import escaped_text
from anabranch.cli.selectors import DependencyMap, select
from anabranch.cli.session import Session
from anabranch.errors import CommandError

if TYPE_CHECKING:
    from anabranch.lake import Lake
    from anabranch.project import Project, ProjectPlan


@command("init", panel="Begin")
def init(
    session: Session,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the project goes; it may be new.")],
    example: Annotated[
        bool, typer.Option("--example", help="A shop that runs: sources, rows to load, stream tables.")
    ] = False,
) -> None:
    """Begin a project: a folder of files that define tables.

    No file is ever overwritten.
    """
    from anabranch.project.create_project import create_project

    written = create_project(folder, example=example)
    steps = ["anabranch apply", "anabranch sql -f load.sql", "anabranch tick", "anabranch status"]
    then = "\n".join(f"  {step}" for step in [f"cd {folder}", *(steps if example else ["anabranch plan"])])
    session.out.print_done(
        {"folder": str(folder), "files": written}, f"wrote {', '.join(written)}\nWhat comes next:\n{then}"
    )


@command("plan", panel="Project")
def plan(
    session: Session,
    check: Annotated[
        bool, typer.Option("--check", help="End with exit code 4 if there is anything to change.")
    ] = False,
    selectors: Annotated[
        list[str] | None,
        typer.Option(
            "--select", "-s", metavar="NAME", help="Only about these: name, +name, name+, patterns."
        ),
    ] = None,
) -> None:
    """What `apply` would do to the lake.

    Reads no rows and changes nothing.
    """
    project = session.load_project()
    with _open_lake_or_empty(session, project) as lake, session.show_progress():
        found = project.plan(lake)
    if selectors:
        found = _restrict_plan(found, selectors)
    session.out.print_result(found, lambda: escaped_text(str(found)))
    if check and not found.empty:
        raise quiet_exit(ExitCode.CHANGES)


@command("apply", panel="Project")
def apply(
    session: Session,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the stream tables and groups that no file names any more.")
    ] = False,
) -> None:
    """Make the lake what the project's files say.

    All of it happens in one commit, or nothing. It shows the plan and asks first, unless --yes is said.
    """
    project = session.load_project()
    if not yes and not sys.stdin.isatty():
        raise CommandError("nobody can be asked whether the plan is right", hint="say --yes.")
    with session.open_project_lake(project) as lake:
        with session.show_progress():
            found = project.plan(lake)
        if not session.out.is_json and (not session.out.quiet or not yes):
            session.out.console.print(escaped_text(str(found)))
        if not found.empty and not yes and not typer.confirm("Apply it?", err=True):
            session.out.print_note("nothing was changed")
            raise quiet_exit(ExitCode.FAILED)
        with session.show_progress():
            done = project.apply(lake, found, drop=not keep)
        said = "" if done.empty else f"\napplied, at lsn {lake.lsn}"
        if session.out.is_json or said:
            session.out.print_done({"applied": not done.empty, "lsn": lake.lsn, "plan": done}, said)


@contextmanager
def _open_lake_or_empty(session: Session, project: Project) -> Iterator[Lake]:
    """The lake; one that isn't there yet is not made for a look: an empty one stands for it."""
    from anabranch.connection.open_lake import CATALOG_FILE

    location = session.options.lake or project.location
    elsewhere = "://" in location or project.config.catalog is not None or session.options.catalog is not None
    if elsewhere or os.path.isfile(os.path.join(location, CATALOG_FILE)):
        with session.open_project_lake(project) as lake:
            yield lake
        return
    with (
        tempfile.TemporaryDirectory(prefix="anabranch-plan-") as empty,
        session.open_project_lake(project, location=empty) as lake,
    ):
        yield lake


def _restrict_plan(found: ProjectPlan, selectors: list[str]) -> ProjectPlan:
    gone: dict[str, tuple[str, ...]] = dict.fromkeys(found.dropped, ())
    return found.only(select(selectors, DependencyMap({**gone, **found.reads})))
