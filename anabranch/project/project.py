"""A project: a folder of files that say which tables there are to be, for a lake that is to have them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.errors import InputError, PlanOutdated
from anabranch.lifecycle.change import blueprint, change_together
from anabranch.lifecycle.changes import Changes, Known, look
from anabranch.project.compare import Wanted, changes_for
from anabranch.project.config import Config, read_config
from anabranch.project.connect import connect_to
from anabranch.project.definitions import Definition, StreamTableDefinition, TableDefinition, check_once
from anabranch.project.describe import describe
from anabranch.project.found import found_files, read_text
from anabranch.project.plan import ProjectPlan
from anabranch.project.python_files import read_python_file
from anabranch.project.sql_files import read_sql_file

if TYPE_CHECKING:
    from anabranch.lake import Lake


@dataclass(frozen=True)
class Project:
    """What the files of a folder say. Made by `load`."""

    name: str
    folder: Path
    environment: str | None
    tables: tuple[TableDefinition, ...]
    stream_tables: tuple[StreamTableDefinition, ...]
    config: Config = field(repr=False)

    @property
    def location(self) -> str:
        """Where the lake is."""
        return self.config.lake

    def connect(self, *, using: Callable[..., Lake] | None = None, **overrides: Any) -> Lake:
        """Open the project's lake; `overrides` are arguments of `connect`.

        For settings, the environment (`ANABRANCH_…`) comes before what the project file says.
        """
        return connect_to(self.config, using=using, **overrides)

    def plan(self, lake: Lake) -> ProjectPlan:
        """What `apply` would do. Reads definitions and columns, no rows, and changes nothing."""
        return self._planned(lake, look(lake._parts))[0]

    def apply(self, lake: Lake, plan: ProjectPlan | None = None, *, drop: bool = True) -> ProjectPlan:
        """Make the lake what the files say, in one commit: all of it, or nothing; what was done.

        With a plan, only what it says is done: if the lake or the project changed since, it is refused.
        Without `drop`, stream tables and groups that no file names any more stay.
        """
        if not isinstance(drop, bool):
            raise InputError("drop is True or False")
        done: list[ProjectPlan] = []

        def decide(known: Known) -> Changes | None:
            found, changes = self._planned(lake, known)
            if plan is not None and plan != found:
                raise PlanOutdated(
                    "the plan no longer fits",
                    detail="the lake or the project changed since it was made.",
                    hint="make another plan, and look at it.",
                )
            if not drop:
                found, changes = self._kept(lake, known, changes)
            done[:] = [found]
            return None if found.empty else changes

        change_together(lake._definitions, decide)
        return done[0]

    def _planned(self, lake: Lake, known: Known) -> tuple[ProjectPlan, Changes]:
        changes = changes_for(self._wanted, known, lake._parts.settings)
        return self._described(lake, known, changes), changes

    def _kept(self, lake: Lake, known: Known, changes: Changes) -> tuple[ProjectPlan, Changes]:
        """The changes without those that only drop."""
        again = {group.name for group in changes.groups}
        watermarks = {group.name for group in changes.watermark_groups}
        kept = replace(
            changes,
            dropped=(),
            groups_dropped=tuple(name for name in changes.groups_dropped if name in again),
            watermark_groups_dropped=tuple(
                name for name in changes.watermark_groups_dropped if name in watermarks
            ),
        )
        return self._described(lake, known, kept), kept

    def _described(self, lake: Lake, known: Known, changes: Changes) -> ProjectPlan:
        drawn = blueprint(lake._definitions, known, changes)
        definitions: tuple[Definition, ...] = (*self.tables, *self.stream_tables)
        places = {each.name: each.place for each in definitions}
        return describe(known, changes, drawn, places, self.environment, lake._parts.settings)

    @property
    def _wanted(self) -> Wanted:
        config = self.config
        return Wanted(
            self.name, self.tables, self.stream_tables, config.refresh_groups, config.watermark_groups
        )


def load(folder: str | Path, environment: str | None = None) -> Project:
    """Read the project in a folder. Its Python files are run."""
    place = Path(folder).resolve()
    config = read_config(place, environment)
    names = found_files(place, config.files, needed=config.files_given, outside=os.path.realpath(config.lake))
    definitions = list(_definitions(place, names))
    check_once(definitions)
    return Project(
        config.name,
        place,
        environment,
        tuple(each for each in definitions if isinstance(each, TableDefinition)),
        tuple(each for each in definitions if isinstance(each, StreamTableDefinition)),
        config,
    )


def _definitions(folder: Path, names: Iterable[str]) -> Iterable[Definition]:
    for name in names:
        text = read_text(folder, name)
        yield from read_python_file(folder, name, text) if name.endswith(".py") else read_sql_file(name, text)
