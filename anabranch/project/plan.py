"""What applying a project would do to a lake, as a value that prints itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class NewTable:
    """A source that is missing, and is created empty."""

    name: str
    columns: str
    place: str


@dataclass(frozen=True)
class OptionChange:
    """An option of a stream table, before and after."""

    option: str
    before: str | int | None
    after: str | int | None

    def __str__(self) -> str:
        return f"{self.option} {_format_value(self.before)} → {_format_value(self.after)}"


@dataclass(frozen=True)
class Maintenance:
    """How a stream table will be kept, and what filling it costs."""

    incremental: bool
    why_not: str | None
    """Why it can only be computed from nothing."""
    source_rows: int = field(compare=False)
    """Rows of the sources that a fill reads."""


@dataclass(frozen=True)
class NewStreamTable:
    """A stream table that is missing."""

    name: str
    schedule: str | None
    fills: bool
    """Whether it is filled at once."""
    maintenance: Maintenance
    place: str


@dataclass(frozen=True)
class ChangedStreamTable:
    """A stream table whose options change, and nothing else."""

    name: str
    options: tuple[OptionChange, ...]
    place: str


@dataclass(frozen=True)
class RebuiltStreamTable:
    """A stream table that is filled from nothing; its old contents stay readable until then."""

    name: str
    why: str
    options: tuple[OptionChange, ...]
    columns_before: str
    columns_after: str
    maintenance: Maintenance
    place: str


@dataclass(frozen=True)
class GroupChange:
    """A declared group or a watermark group that comes, goes, or becomes another."""

    kind: str
    """`refresh_group` or `watermark_group`."""
    action: str
    """`create`, `drop` or `change`."""
    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class PublishedTogether:
    """Stream tables that will move as one: because data meets again, by declaration, or in a cycle."""

    kind: str
    """`diamond`, `group` or `cycle`."""
    members: tuple[str, ...]
    because: str


@dataclass(frozen=True)
class ProjectPlan:
    """What would happen. Two plans are equal if they would do the same."""

    project: str
    environment: str | None
    lsn: int = field(compare=False)
    """The lsn of the lake when it was made."""
    new_tables: tuple[NewTable, ...]
    created: tuple[NewStreamTable, ...]
    altered: tuple[ChangedStreamTable, ...]
    rebuilt: tuple[RebuiltStreamTable, ...]
    dropped: tuple[str, ...]
    """Stream tables that this project made, and that no file names any more."""
    groups: tuple[GroupChange, ...]
    together: tuple[PublishedTogether, ...]
    """Of which some stream table is the project's."""
    not_incremental: tuple[tuple[str, str], ...]
    """The project's stream tables that can only be computed from nothing, and why."""
    unnamed_sources: tuple[str, ...] = field(compare=False)
    """Sources that no file names: they are left alone."""
    reads: Mapping[str, tuple[str, ...]] = field(compare=False)
    """Who will read whom: all stream tables of the lake, in the order in which they refresh."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (
            self.new_tables or self.created or self.altered or self.rebuilt or self.dropped or self.groups
        )

    @property
    def source_rows(self) -> int:
        """Rows of sources that all fills together read."""
        fills = [new.maintenance for new in self.created if new.fills]
        return sum(each.source_rows for each in (*fills, *(each.maintenance for each in self.rebuilt)))

    def only(self, names: Collection[str]) -> ProjectPlan:
        """The part of the plan that is about some stream tables, and the sources that they read."""
        read = {source for name in names for source in self.reads.get(name, ())}
        return replace(
            self,
            new_tables=tuple(each for each in self.new_tables if each.name in read),
            created=tuple(each for each in self.created if each.name in names),
            altered=tuple(each for each in self.altered if each.name in names),
            rebuilt=tuple(each for each in self.rebuilt if each.name in names),
            dropped=tuple(name for name in self.dropped if name in names),
            groups=tuple(each for each in self.groups if not {*names, *read}.isdisjoint(each.members)),
            together=tuple(each for each in self.together if not set(names).isdisjoint(each.members)),
            not_incremental=tuple(each for each in self.not_incremental if each[0] in names),
        )

    def __str__(self) -> str:
        title = f"Project {self.project}"
        if self.environment is not None:
            title += f", environment {self.environment}"
        if self.empty:
            return "\n".join([f"{title}: nothing to change.", *self._format_remarks()])
        return "\n".join(
            [
                f"{title}, at lsn {self.lsn}:",
                "",
                *self._format_steps(),
                "",
                self._format_summary(),
                *self._format_remarks(),
            ]
        )

    def _format_steps(self) -> list[str]:
        rows: list[tuple[str, str, str, str]] = []
        rows += [("+", "table", new.name, new.columns) for new in self.new_tables]
        rows += [("+", "stream table", new.name, _format_new(new)) for new in self.created]
        rows += [("~", "stream table", one.name, _format_options(one.options)) for one in self.altered]
        rows += [("!", "stream table", one.name, _format_rebuilt(one)) for one in self.rebuilt]
        rows += [("-", "stream table", name, "no file names it any more") for name in self.dropped]
        rows += [
            (_SIGNS[each.action], each.kind.replace("_", " "), each.name, ", ".join(each.members))
            for each in self.groups
        ]
        kinds, names = max(len(row[1]) for row in rows), max(len(row[2]) for row in rows)
        return [
            f"  {sign} {kind:<{kinds}}  {name:<{names}}  {what}".rstrip() for sign, kind, name, what in rows
        ]

    def _format_summary(self) -> str:
        counts = (
            (len(self.new_tables) + len(self.created), "to create"),
            (len(self.altered), "to alter"),
            (len(self.rebuilt), "to rebuild"),
            (len(self.dropped), "to drop"),
            (len(self.groups), "groups to change" if len(self.groups) != 1 else "group to change"),
        )
        told = ", ".join(f"{count} {what}" for count, what in counts if count)
        return f"{told}; {self.source_rows:,} rows of sources to read."

    def _format_remarks(self) -> list[str]:
        lines = [f"{', '.join(each.members)} move together: {each.because}." for each in self.together]
        lines += [f"{name} is refreshed in full: {why}." for name, why in self.not_incremental]
        if self.unnamed_sources:
            lines.append(f"Sources that no file names stay as they are: {', '.join(self.unnamed_sources)}.")
        return ["", *lines] if lines else []


_SIGNS = {"create": "+", "change": "~", "drop": "-"}


def _format_new(new: NewStreamTable) -> str:
    filled = f"its fill reads {new.maintenance.source_rows:,} rows" if new.fills else "filled later"
    return f"schedule {_format_value(new.schedule)}, {_format_maintenance(new.maintenance)}, {filled}"


def _format_rebuilt(one: RebuiltStreamTable) -> str:
    told = [f"rebuilt, since {one.why}"]
    if one.columns_before != one.columns_after:
        told.append(f"columns {one.columns_before} → {one.columns_after}")
    if one.options:
        told.append(_format_options(one.options))
    told += [_format_maintenance(one.maintenance), f"its fill reads {one.maintenance.source_rows:,} rows"]
    return ", ".join(told)


def _format_maintenance(maintenance: Maintenance) -> str:
    return "incremental" if maintenance.incremental else "in full"


def _format_options(changes: Iterable[OptionChange]) -> str:
    return ", ".join(map(str, changes))


def _format_value(value: str | int | None) -> str:
    return "none" if value is None else str(value)
