"""A project held against a lake: the changes that make the lake what the files say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from anabranch.errors import DifferentColumns, NameTaken, OwnedElsewhere
from anabranch.ledger.declared_groups import RefreshGroup
from anabranch.lifecycle.definition_changes import (
    AlteredStream,
    CurrentDefinitions,
    DefinitionChanges,
    NewSource,
    NewStream,
)
from anabranch.lifecycle.options import parse_options
from anabranch.lifecycle.refresh_groups import RefreshGroupRequest
from anabranch.names import TableName
from anabranch.project.definitions import StreamTableDefinition, TableDefinition, name_file_in_errors
from anabranch.schema import Column, Schema
from anabranch.settings import Settings
from anabranch.sql.lexer import lex
from anabranch.streams.source_readiness import WatermarkGroup
from anabranch.streams.stream_graph import declared_groups
from anabranch.streams.stream_table import Options

SOURCE = "source"


@dataclass(frozen=True)
class DesiredState:
    """What a project says there is to be."""

    project: str
    tables: tuple[TableDefinition, ...]
    stream_tables: tuple[StreamTableDefinition, ...]
    refresh_groups: tuple[RefreshGroupRequest, ...]
    watermark_groups: tuple[WatermarkGroup, ...]


def changes_to_apply(
    wanted: DesiredState, known: CurrentDefinitions, settings: Settings
) -> DefinitionChanges:
    """What is to change; an error if the lake can't become what the project says."""
    options = {}
    for definition in wanted.stream_tables:
        with name_file_in_errors(definition.place):
            _check_owner(wanted.project, known.owners.stream_tables, definition.name, "stream table")
            options[definition.name] = parse_options(definition.options, settings)
    named = {definition.name for definition in wanted.stream_tables}
    groups, groups_dropped = _refresh_group_changes(wanted, known)
    watermark_groups, watermarks_dropped = _watermark_group_changes(wanted, known)
    return DefinitionChanges(
        wanted.project,
        managed=frozenset(named),
        sources=tuple(_missing_sources(wanted, known)),
        created=tuple(
            NewStream(each.name, each.query, options[each.name], each.initialize)
            for each in wanted.stream_tables
            if not _is_in_lake(each, known)
        ),
        altered=tuple(_alterations(wanted, known, options)),
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


def is_same_query(one: str, other: str) -> bool:
    """Whether two texts differ in blanks and comments only.

    >>> is_same_query("SELECT a -- first\\nFROM t", "SELECT  a FROM t")
    True
    >>> is_same_query("SELECT 'a'", "SELECT 'A'")
    False
    """
    return one == other or [each.text for each in lex(one).lexemes] == [
        each.text for each in lex(other).lexemes
    ]


def option_changes(before: Options, after: Options) -> list[tuple[str, str | int | None, str | int | None]]:
    """The options that differ, each with both values."""
    pairs = [(each.name, getattr(before, each.name), getattr(after, each.name)) for each in fields(Options)]
    return [(name, old, new) for name, old, new in pairs if old != new]


# -- tables ---------------------------------------------------------------------------------------


def _missing_sources(wanted: DesiredState, known: CurrentDefinitions) -> Iterable[NewSource]:
    for table in wanted.tables:
        version = known.lake_version.versions.get(table.name)
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
    told = [
        f"{_format_column(column)} is missing in the lake" for name, column in said.items() if name not in has
    ]
    told += [
        f"{_format_column(column)} is not in the file" for name, column in has.items() if name not in said
    ]
    told += [
        f"{_format_column(has[name])} in the lake is {_format_column(column)} in the file"
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


def _format_column(column: Column) -> str:
    return str(column)


def _is_in_lake(definition: StreamTableDefinition, known: CurrentDefinitions) -> bool:
    if definition.name in known.streams:
        return True
    version = known.lake_version.versions.get(definition.name)
    if version is not None:
        raise NameTaken(
            f'"{definition.name}" is a {version.kind} in the lake, and a stream table in the project',
            detail=f"{definition.place}.",
            hint="give one of them another name.",
        )
    return False


def _alterations(
    wanted: DesiredState, known: CurrentDefinitions, options: Mapping[TableName, Options]
) -> Iterable[AlteredStream]:
    for definition in wanted.stream_tables:
        stream = known.streams.get(definition.name)
        if stream is None:
            continue
        same = is_same_query(definition.query, stream.query)
        if not same or options[definition.name] != stream.options:
            query = stream.query if same else definition.query
            yield AlteredStream(definition.name, query, options[definition.name])


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


def _refresh_group_changes(
    wanted: DesiredState, known: CurrentDefinitions
) -> tuple[tuple[RefreshGroupRequest, ...], tuple[str, ...]]:
    """Groups to declare, and groups to drop first."""
    members = declared_groups(known.streams)
    new, gone = [], []
    for group in wanted.refresh_groups:
        _check_owner(wanted.project, known.owners.refresh_groups, group.name, "group")
        stored = known.groups.get(group.name)
        if stored is None:
            new.append(group)
        elif not _is_same_group(group, stored, members.get(group.name, [])):
            new.append(group)
            gone.append(group.name)
    gone += _groups_to_drop(
        wanted.project, known.owners.refresh_groups, (g.name for g in wanted.refresh_groups)
    )
    return tuple(new), tuple(gone)


def _is_same_group(group: RefreshGroupRequest, stored: RefreshGroup, members: Iterable[TableName]) -> bool:
    return (
        set(group.members) == set(members)
        and group.isolation == stored.isolation
        and group.snapshot_timeout_ms == stored.snapshot_timeout_ms
    )


def _watermark_group_changes(
    wanted: DesiredState, known: CurrentDefinitions
) -> tuple[tuple[WatermarkGroup, ...], tuple[str, ...]]:
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
    gone += _groups_to_drop(wanted.project, known.owners.watermark_groups, named)
    return tuple(new), tuple(gone)


def _terms(group: WatermarkGroup) -> tuple[object, ...]:
    return (set(group.sources), group.tolerance, group.missing)


def _groups_to_drop(project: str, owners: Mapping[str, str], named: Iterable[str]) -> list[str]:
    kept = set(named)
    return [name for name, owner in owners.items() if owner == project and name not in kept]
