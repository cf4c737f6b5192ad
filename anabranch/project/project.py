"""A project: a folder of files that say which tables there are to be, for a lake that is to have them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.errors import InputError, PlanOutdated
from anabranch.lifecycle.apply_changes import apply_definition_changes, preview_target_streams
from anabranch.lifecycle.definition_changes import (
    CurrentDefinitions,
    DefinitionChanges,
    read_current_definitions,
)
from anabranch.project.build_plan import build_plan
from anabranch.project.compare import DesiredState, changes_to_apply
from anabranch.project.config import Config, read_config
from anabranch.project.connect import connect_to
from anabranch.project.definitions import (
    Definition,
    StreamTableDefinition,
    TableDefinition,
    check_names_unique,
)
from anabranch.project.plan import ProjectPlan
from anabranch.project.project_files import find_files, read_text
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
        return self._plan_changes(lake, read_current_definitions(lake._context))[0]

    def apply(self, lake: Lake, plan: ProjectPlan | None = None, *, drop: bool = True) -> ProjectPlan:
        """Make the lake what the files say, in one commit: all of it, or nothing; what was done.

        With a plan, only what it says is done: if the lake or the project changed since, it is refused.
        Without `drop`, stream tables and groups that no file names any more stay.
        """
        if not isinstance(drop, bool):
            raise InputError("drop is True or False")
        done: list[ProjectPlan] = []

        def decide(known: CurrentDefinitions) -> DefinitionChanges | None:
            found, changes = self._plan_changes(lake, known)
            if plan is not None and plan != found:
                raise PlanOutdated(
                    "the plan no longer fits",
                    detail="the lake or the project changed since it was made.",
                    hint="make another plan, and look at it.",
                )
            if not drop:
                found, changes = self._without_drops(lake, known, changes)
            done[:] = [found]
            return None if found.empty else changes

        apply_definition_changes(lake._definitions, decide)
        return done[0]

    def _plan_changes(self, lake: Lake, known: CurrentDefinitions) -> tuple[ProjectPlan, DefinitionChanges]:
        changes = changes_to_apply(self._desired_state, known, lake._context.settings)
        return self._describe_changes(lake, known, changes), changes

    def _without_drops(
        self, lake: Lake, known: CurrentDefinitions, changes: DefinitionChanges
    ) -> tuple[ProjectPlan, DefinitionChanges]:
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
        return self._describe_changes(lake, known, kept), kept

    def _describe_changes(
        self, lake: Lake, known: CurrentDefinitions, changes: DefinitionChanges
    ) -> ProjectPlan:
        drawn = preview_target_streams(lake._definitions, known, changes)
        definitions: tuple[Definition, ...] = (*self.tables, *self.stream_tables)
        places = {each.name: each.place for each in definitions}
        return build_plan(known, changes, drawn, places, self.environment, lake._context.settings)

    @property
    def _desired_state(self) -> DesiredState:
        config = self.config
        return DesiredState(
            self.name, self.tables, self.stream_tables, config.refresh_groups, config.watermark_groups
        )


def load(folder: str | Path, environment: str | None = None) -> Project:
    """Read the project in a folder. Its Python files are run."""
    place = Path(folder).resolve()
    config = read_config(place, environment)
    names = find_files(place, config.files, needed=config.files_given, outside=os.path.realpath(config.lake))
    definitions = list(_read_definitions(place, names))
    check_names_unique(definitions)
    return Project(
        config.name,
        place,
        environment,
        tuple(each for each in definitions if isinstance(each, TableDefinition)),
        tuple(each for each in definitions if isinstance(each, StreamTableDefinition)),
        config,
    )


def _read_definitions(folder: Path, names: Iterable[str]) -> Iterable[Definition]:
    for name in names:
        text = read_text(folder, name)
        yield from read_python_file(folder, name, text) if name.endswith(".py") else read_sql_file(name, text)
