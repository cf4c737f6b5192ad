"""One call of the command line: its options, which lake it works on, and where its output goes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from anabranch.cli.output import Format, Output
from anabranch.errors import NoLakeGiven, NoSuchLake
from anabranch.events import Event, Observer

if TYPE_CHECKING:
    from anabranch.cli.progress import ProgressDisplay
    from anabranch.lake import Lake
    from anabranch.project import Project

PROJECT_FILE = "anabranch.yml"


class Connect(Protocol):
    """How a lake is opened; `anabranch.connect` is one."""

    def __call__(self, location: str, *, catalog: str | None, observer: Observer, **settings: Any) -> Lake:
        """Open it, or create it."""
        ...


def connect(location: str, *, catalog: str | None, observer: Observer, **settings: Any) -> Lake:
    """Open a lake on Spark, which starts when it is first needed."""
    # Here, because it takes longer than all that a command such as --help does.
    import anabranch as ab

    return ab.connect(location, catalog=catalog, observer=observer, **settings)


@dataclass(frozen=True)
class Options:
    """What can be said before or after every command; None where nothing was."""

    lake: str | None = None
    catalog: str | None = None
    project: Path | None = None
    env: str | None = None
    output: Format | None = None
    debug: bool | None = None
    quiet: bool | None = None
    no_color: bool | None = None


@dataclass(frozen=True)
class Session:
    """Handed to every command."""

    options: Options = Options()
    connect: Connect = connect
    watchers: list[Observer] = field(default_factory=list)
    """Who is told what the lake does."""

    @cached_property
    def out(self) -> Output:
        """Where results, notes and errors go."""
        return Output(
            form=self.options.output or Format.table,
            color=not self.options.no_color,
            quiet=bool(self.options.quiet),
        )

    @contextmanager
    def open_lake(self, *, create: bool = False) -> Iterator[Lake]:
        """The lake that is meant, open; with `create` it need not be there yet."""
        opened = self._open(create)
        try:
            yield opened
        finally:
            opened.close()

    @property
    def project_folder(self) -> Path | None:
        """Where the project file is: as it was said, else here; None if there is none here."""
        if self.options.project is not None:
            return self.options.project
        here = Path.cwd()
        return here if (here / PROJECT_FILE).is_file() else None

    def load_project(self) -> Project:
        """The project that is meant, read for the environment that is meant."""
        folder = self.project_folder
        if folder is None:
            raise NoLakeGiven(
                f"there is no {PROJECT_FILE} here", hint="go to the project's folder, or say --project DIR."
            )
        from anabranch.project import load

        return load(folder, self.options.env)

    @contextmanager
    def open_project_lake(self, project: Project, **overrides: Any) -> Iterator[Lake]:
        """A project's lake, open; --lake and --catalog say that it is another one."""
        said = {"location": self.options.lake, "catalog": self.options.catalog}
        given = {name: value for name, value in said.items() if value is not None}
        opened = project.connect(using=self.connect, observer=self.notify_watchers, **{**given, **overrides})
        try:
            yield opened
        finally:
            opened.close()

    @contextmanager
    def add_watcher(self, watcher: Observer) -> Iterator[None]:
        """Tell a watcher what the lake does meanwhile."""
        self.watchers.append(watcher)
        try:
            yield
        finally:
            self.watchers.remove(watcher)

    @contextmanager
    def show_progress(self, *, total: int | None = None, what: str = "") -> Iterator[ProgressDisplay]:
        """Show on a terminal what the lake does meanwhile; with `total`, how much of it is done."""
        from anabranch.cli.progress import ProgressDisplay

        with ProgressDisplay(self.out, total=total, what=what) as work, self.add_watcher(work.show_event):
            yield work

    def notify_watchers(self, event: Event) -> None:
        """The observer of the lake: passes on to those who watch."""
        for watcher in tuple(self.watchers):
            watcher(event)

    def _open(self, create: bool) -> Lake:
        options = self.options
        if options.lake is not None:
            if not create and options.catalog is None:
                _check_is_lake(options.lake, "is the path right? `anabranch sql` creates a lake.")
            return self.connect(options.lake, catalog=options.catalog, observer=self.notify_watchers)
        if self.project_folder is None:
            raise NoLakeGiven(
                "no lake is given",
                hint=f"say --lake PATH, set ANABRANCH_LAKE, or go to a folder with an {PROJECT_FILE}.",
            )
        # The project file alone: to look at a lake, no file of definitions need be right, or run.
        from anabranch.project.config import read_config
        from anabranch.project.connect import connect_to

        config = read_config(self.project_folder.resolve(), options.env)
        if not create and config.catalog is None and options.catalog is None:
            _check_is_lake(config.lake, "`anabranch apply` creates it.")
        given = {} if options.catalog is None else {"catalog": options.catalog}
        return connect_to(config, using=self.connect, observer=self.notify_watchers, **given)


def _check_is_lake(location: str, hint: str) -> None:
    """Few commands make a lake: a mistyped path should not."""
    from anabranch.connection.open_lake import CATALOG_FILE

    if "://" in location:
        return
    if not os.path.isfile(os.path.join(location, CATALOG_FILE)):
        raise NoSuchLake(
            f'there is no lake at "{location}"',
            hint=hint,
        )
