"""Closing a cycle: the columns of stream tables that read each other, found from where the cycle begins.

A query that reads another member can't be understood before that one's columns are known, and the other way
round. But one member or another has a branch of its UNION that reads none: its columns begin the cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.engine.run_plan import run_plan
from anabranch.errors import CircularDefinition
from anabranch.names import TableName
from anabranch.refresh.define import CHECKED_ROWS, check_rows_against_text
from anabranch.refresh.inputs import Sources
from anabranch.refresh.publish import Results
from anabranch.refresh.recursive_definitions import CycleMemberDefinition, define_recursive_tables
from anabranch.refresh.run_context import RefreshRun
from anabranch.schema import Schema
from anabranch.sql.lower import lower_anchor
from anabranch.streams.versions import STREAM, LakeVersion, TableVersion

ROUNDS = 8
"""How often types may widen along a cycle before they are said not to settle."""


def define_cycle(
    refresh_run: RefreshRun,
    queries: Mapping[TableName, str],
    lake_version: LakeVersion,
    members: frozenset[TableName],
) -> dict[TableName, CycleMemberDefinition]:
    """The definitions of queries of one cycle, over a lake version that has all members but these."""
    lake_version = _infer_anchor_schemas(refresh_run, queries, lake_version)
    for _ in range(ROUNDS):
        found: dict[TableName, CycleMemberDefinition] = {}
        for name, text in queries.items():
            made = refresh_run.definitions.get(name, text, "differential", lake_version, members)
            assert isinstance(made, CycleMemberDefinition)
            found[name] = made
        schemas = {name: made.schemas[name] for name, made in found.items()}
        if all(
            lake_version.version(name).schema.visible == schema.visible for name, schema in schemas.items()
        ):
            return found
        lake_version = _replace_schemas(lake_version, schemas)
    names = ", ".join(f'"{name}"' for name in sorted(queries))
    raise CircularDefinition(
        f"the types of a cycle don't settle: {names}",
        detail="the type of a column depends on itself, and grows each time it is worked out.",
        hint="cast the columns that are computed: CAST(… AS type).",
    )


def check_cycle_members(refresh_run: RefreshRun, results: Results) -> None:
    """Compare the rows of new members of cycles with what their texts give, where there aren't too many.

    A fixed point is what its query gives over it: so Spark runs the text and compares.
    """
    staged = {name: result.table for name, result in results.items()}
    for name, result in results.items():
        definition, lake_version = result.definition, result.seen.lake_version
        if not isinstance(definition, CycleMemberDefinition) or len(definition.loops) > 1:
            continue
        lake_version = replace(lake_version, versions={**lake_version.versions, **result.inputs})
        sources = Sources(refresh_run.context, lake_version, lake_version, staged)
        if sum(map(sources.count_rows, definition.tables)) <= CHECKED_ROWS and definition.lowered.settled:
            schema = definition.schemas[name].visible
            check_rows_against_text(
                refresh_run.context, definition, sources.scan_visible_rows(name), sources, schema
            )


def _infer_anchor_schemas(
    refresh_run: RefreshRun, queries: Mapping[TableName, str], lake_version: LakeVersion
) -> LakeVersion:
    """The lake version with the columns of all members that the branches that begin the cycle tell."""
    unknown = {name for name in queries if name not in lake_version.versions}
    while unknown:
        schemas = {name: version.schema.visible for name, version in lake_version.versions.items()}
        known: dict[TableName, Schema] = {}
        for name in sorted(unknown):
            lowered = lower_anchor(queries[name], schemas, frozenset(unknown))
            if lowered is not None:
                engine = refresh_run.context.engine
                empty = {str(table): engine.scan([], schemas[table]) for table in lowered.tables}
                lowered, _ = define_recursive_tables(refresh_run.context, name, lowered, empty)
                frame = run_plan(engine, lowered.plan, empty, lowered.columns)
                known[name] = engine.schema_of(frame)
        if not known:
            names = ", ".join(f'"{name}"' for name in sorted(unknown))
            raise CircularDefinition(
                f"nothing begins the cycle of {names}",
                detail="every one of them reads another one in each branch of its query.",
                hint="give one a branch that reads none of them: SELECT … FROM source UNION SELECT …",
            )
        lake_version = _replace_schemas(lake_version, known)
        unknown -= known.keys()
    return lake_version


def _replace_schemas(lake_version: LakeVersion, schemas: Mapping[TableName, Schema]) -> LakeVersion:
    versions = {
        name: replace(lake_version.versions[name], schema=schema)
        if name in lake_version.versions
        else TableVersion("", name, STREAM, schema, 0, None, 0, "")
        for name, schema in schemas.items()
    }
    return replace(lake_version, versions={**lake_version.versions, **versions})
