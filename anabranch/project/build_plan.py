"""Changes and what follows from them, told as a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anabranch.lifecycle.definition_changes import CurrentDefinitions, DefinitionChanges
from anabranch.lifecycle.target_streams import TargetStreams
from anabranch.names import TableName
from anabranch.project.compare import option_changes
from anabranch.project.plan import (
    ChangedStreamTable,
    GroupChange,
    Maintenance,
    NewStreamTable,
    NewTable,
    OptionChange,
    ProjectPlan,
    PublishedTogether,
    RebuiltStreamTable,
)
from anabranch.settings import Settings
from anabranch.streams.diamonds import diamonds_closed_by
from anabranch.streams.stream_graph import declared_groups, groups_of, scheduled_graph


def build_plan(
    known: CurrentDefinitions,
    changes: DefinitionChanges,
    drawn: TargetStreams,
    places: Mapping[TableName, str],
    environment: str | None,
    settings: Settings,
) -> ProjectPlan:
    """The plan that tells of these changes."""
    altered = {one.name for one in changes.altered}
    return ProjectPlan(
        project=changes.project,
        environment=environment,
        lsn=known.lake_version.lsn,
        new_tables=tuple(
            NewTable(str(new.name), str(new.schema), places[new.name]) for new in changes.sources
        ),
        created=tuple(
            NewStreamTable(
                str(new.name),
                new.options.schedule,
                new.initialize,
                _maintenance(known, drawn, new.name),
                places[new.name],
            )
            for new in changes.created
        ),
        altered=tuple(
            ChangedStreamTable(str(name), _changed_options(known, drawn, name), places[name])
            for name in sorted(altered - drawn.redefined.keys())
        ),
        rebuilt=tuple(_rebuilt_stream_table(known, drawn, name, places) for name in sorted(drawn.redefined)),
        dropped=tuple(str(name) for name in changes.dropped),
        groups=tuple(_group_changes(known, changes)),
        together=tuple(_atomic_groups(changes, drawn, settings)),
        not_incremental=tuple(
            (str(name), str(drawn.after[name].refusal))
            for name in sorted(changes.managed)
            if drawn.after[name].refusal is not None
        ),
        unnamed_sources=tuple(
            sorted(
                str(name)
                for name, version in known.lake_version.versions.items()
                if version.kind == "source" and name not in places
            )
        ),
        reads={str(name): _names(sorted(drawn.graph.inputs[name])) for name in drawn.graph.order()},
    )


def _maintenance(known: CurrentDefinitions, drawn: TargetStreams, name: TableName) -> Maintenance:
    refusal = drawn.after[name].refusal
    sources = drawn.graph.upstream(name) & drawn.graph.sources
    versions = known.lake_version.versions
    return Maintenance(
        refusal is None, refusal, sum(versions[source].rows for source in sources if source in versions)
    )


def _changed_options(
    known: CurrentDefinitions, drawn: TargetStreams, name: TableName
) -> tuple[OptionChange, ...]:
    changed = option_changes(known.streams[name].options, drawn.after[name].options)
    return tuple(OptionChange(*change) for change in changed)


def _rebuilt_stream_table(
    known: CurrentDefinitions, drawn: TargetStreams, name: TableName, places: Mapping[TableName, str]
) -> RebuiltStreamTable:
    return RebuiltStreamTable(
        name=str(name),
        why=drawn.redefined[name],
        options=_changed_options(known, drawn, name),
        columns_before=str(known.lake_version.version(name).schema.visible),
        columns_after=str(drawn.defined[name].schemas[name].visible),
        maintenance=_maintenance(known, drawn, name),
        place=places[name],
    )


def _group_changes(known: CurrentDefinitions, changes: DefinitionChanges) -> Iterable[GroupChange]:
    members = declared_groups(known.streams)
    for group in changes.groups:
        action = "change" if group.name in changes.groups_dropped else "create"
        yield GroupChange("refresh_group", action, group.name, _names(group.members))
    for name in changes.groups_dropped:
        if all(group.name != name for group in changes.groups):
            yield GroupChange("refresh_group", "drop", name, _names(members.get(name, ())))
    for watermarks in changes.watermark_groups:
        action = "change" if watermarks.name in changes.watermark_groups_dropped else "create"
        yield GroupChange("watermark_group", action, watermarks.name, _names(watermarks.sources))
    for name in changes.watermark_groups_dropped:
        if all(group.name != name for group in changes.watermark_groups):
            yield GroupChange("watermark_group", "drop", name, _names(known.watermark_groups[name].sources))


def _atomic_groups(
    changes: DefinitionChanges, drawn: TargetStreams, settings: Settings
) -> Iterable[PublishedTogether]:
    for cycle in drawn.graph.cycles:
        if not changes.managed.isdisjoint(cycle):
            yield PublishedTogether(
                "cycle", _names(cycle), "they read each other, to their least fixed point"
            )
    declared = declared_groups(drawn.after)
    for group in groups_of(drawn.after, settings):
        if changes.managed.isdisjoint(group.members) or not group.atomic:
            continue
        told = [
            f'at "{name}", {diamond}'
            for name in group.convergence
            for diamond in diamonds_closed_by(scheduled_graph(drawn.after), name)
        ]
        named = [name for name, members in declared.items() if not set(members).isdisjoint(group.members)]
        told += [f'they are declared as the group "{name}"' for name in sorted(named)]
        kind = "diamond" if group.convergence else "group"
        yield PublishedTogether(kind, _names(group.members), "; ".join(told))


def _names(names: Iterable[TableName]) -> tuple[str, ...]:
    return tuple(map(str, names))
