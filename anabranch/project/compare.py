"""A project held against a lake: the changes that make the lake what the files say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from anabranch.errors import DifferentColumns, NameTaken, OwnedElsewhere
from anabranch.gates.readiness import WatermarkGroup
from anabranch.ledger.declared import RefreshGroup
from anabranch.ledger.streams import Options
from anabranch.lifecycle.changes import Altered, Changes, Known, NewSource, NewStream
from anabranch.lifecycle.declare import GroupWanted
from anabranch.lifecycle.options import checked_options
from anabranch.names import TableName
from anabranch.project.definitions import StreamTableDefinition, TableDefinition, in_file
from anabranch.refresh.graphs import declared_in
from anabranch.schema import Column, Schema
from anabranch.settings import Settings
from anabranch.sql.lexical import read

SOURCE = "source"


@dataclass(frozen=True)
class Wanted:
    """What a project says there is to be."""

    project: str
    tables: tuple[TableDefinition, ...]
    stream_tables: tuple[StreamTableDefinition, ...]
    refresh_groups: tuple[GroupWanted, ...]
    watermark_groups: tuple[WatermarkGroup, ...]


def changes_for(wanted: Wanted, known: Known, settings: Settings) -> Changes:
    """What is to change; an error if the lake can't become what the project says."""
    options = {}
    for definition in wanted.stream_tables:
        with in_file(definition.place):
            _check_owner(wanted.project, known.owners.stream_tables, definition.name, "stream table")
            options[definition.name] = checked_options(definition.options, settings)
    named = {definition.name for definition in wanted.stream_tables}
    groups, groups_dropped = _groups(wanted, known)
    watermark_groups, watermarks_dropped = _watermark_groups(wanted, known)
    return Changes(
        wanted.project,
        managed=frozenset(named),
        sources=tuple(_sources(wanted, known)),
        created=tuple(
            NewStream(each.name, each.query, options[each.name], each.initialize)
            for each in wanted.stream_tables
            if not _is_there(each, known)
        ),
        altered=tuple(_altered(wanted, known, options)),
        dropped=tuple(
            name
            for name, project in known.owners.stream_tables.items()
            if project == wanted.project and name not in named
        ),
        groups=groups,
        groups_dropped=groups_dropped,
        watermark_groups=watermark_groups,
        watermark_groups_dropped=watermarks_dropped,
    )


def same_query(one: str, other: str) -> bool:
    """Whether two texts differ in blanks and comments only.

    >>> same_query("SELECT a -- first\\nFROM t", "SELECT  a FROM t"), same_query("SELECT 'a'", "SELECT 'A'")
    (True, False)
    """
    return one == other or [each.text for each in read(one).lexemes] == [
        each.text for each in read(other).lexemes
    ]


def option_changes(before: Options, after: Options) -> list[tuple[str, str | int | None, str | int | None]]:
    """The options that differ, each with both values."""
    pairs = [(each.name, getattr(before, each.name), getattr(after, each.name)) for each in fields(Options)]
    return [(name, old, new) for name, old, new in pairs if old != new]


# -- tables ---------------------------------------------------------------------------------------


def _sources(wanted: Wanted, known: Known) -> Iterable[NewSource]:
    for table in wanted.tables:
        version = known.moment.versions.get(table.name)
        if version is None:
            yield NewSource(table.name, table.schema)
        elif version.kind != SOURCE:
            raise NameTaken(
                f'"{table.name}" is a stream table in the lake, and a source in the project',
                detail=f"{table.place}.",
                hint="give one of them another name, or drop the stream table first.",
            )
        else:
            _check_columns(table, version.schema.visible)


def _check_columns(table: TableDefinition, stored: Schema) -> None:
    said = {column.name.lower(): column for column in table.schema}
    has = {column.name.lower(): column for column in stored}
    told = [f"{_shown(column)} is missing in the lake" for name, column in said.items() if name not in has]
    told += [f"{_shown(column)} is not in the file" for name, column in has.items() if name not in said]
    told += [
        f"{_shown(has[name])} in the lake is {_shown(column)} in the file"
        for name, column in said.items()
        if name in has and (has[name].type, has[name].nullable) != (column.type, column.nullable)
    ]
    if not told and list(said) != list(has):
        told.append("the columns stand in another order")
    if told:
        raise DifferentColumns(
            f'the source "{table.name}" has other columns than the project says',
            detail=f"{table.place}: {'; '.join(told)}.",
            hint="correct the file; a source keeps its columns. For others, create another source.",
        )


def _shown(column: Column) -> str:
    return str(column)


def _is_there(definition: StreamTableDefinition, known: Known) -> bool:
    if definition.name in known.streams:
        return True
    version = known.moment.versions.get(definition.name)
    if version is not None:
        raise NameTaken(
            f'"{definition.name}" is a {version.kind} in the lake, and a stream table in the project',
            detail=f"{definition.place}.",
            hint="give one of them another name.",
        )
    return False


def _altered(wanted: Wanted, known: Known, options: Mapping[TableName, Options]) -> Iterable[Altered]:
    for definition in wanted.stream_tables:
        stream = known.streams.get(definition.name)
        if stream is None:
            continue
        same = same_query(definition.query, stream.query)
        if not same or options[definition.name] != stream.options:
            query = stream.query if same else definition.query
            yield Altered(definition.name, query, options[definition.name])


def _check_owner(
    project: str, owners: Mapping[TableName, str] | Mapping[str, str], name: object, what: str
) -> None:
    owner = owners.get(name)  # type: ignore[call-overload]
    if owner is not None and owner != project:
        raise OwnedElsewhere(
            f'the {what} "{name}" was made by the project "{owner}"',
            hint="take it out of one of the two projects.",
        )


# -- groups ---------------------------------------------------------------------------------------


def _groups(wanted: Wanted, known: Known) -> tuple[tuple[GroupWanted, ...], tuple[str, ...]]:
    """Groups to declare, and groups to drop first."""
    members = declared_in(known.streams)
    new, gone = [], []
    for group in wanted.refresh_groups:
        _check_owner(wanted.project, known.owners.refresh_groups, group.name, "group")
        stored = known.groups.get(group.name)
        if stored is None:
            new.append(group)
        elif not _same_group(group, stored, members.get(group.name, [])):
            new.append(group)
            gone.append(group.name)
    gone += _no_longer(wanted.project, known.owners.refresh_groups, (g.name for g in wanted.refresh_groups))
    return tuple(new), tuple(gone)


def _same_group(group: GroupWanted, stored: RefreshGroup, members: Iterable[TableName]) -> bool:
    return (
        set(group.members) == set(members)
        and group.isolation == stored.isolation
        and group.snapshot_timeout_ms == stored.snapshot_timeout_ms
    )


def _watermark_groups(wanted: Wanted, known: Known) -> tuple[tuple[WatermarkGroup, ...], tuple[str, ...]]:
    new, gone = [], []
    for group in wanted.watermark_groups:
        _check_owner(wanted.project, known.owners.watermark_groups, group.name, "watermark group")
        stored = known.watermark_groups.get(group.name)
        if stored is not None and _terms(stored) == _terms(group):
            continue
        new.append(group)
        if stored is not None:
            gone.append(group.name)
    named = (group.name for group in wanted.watermark_groups)
    gone += _no_longer(wanted.project, known.owners.watermark_groups, named)
    return tuple(new), tuple(gone)


def _terms(group: WatermarkGroup) -> tuple[object, ...]:
    return (set(group.sources), group.tolerance, group.missing)


def _no_longer(project: str, owners: Mapping[str, str], named: Iterable[str]) -> list[str]:
    kept = set(named)
    return [name for name, owner in owners.items() if owner == project and name not in kept]
