"""Queries that read themselves: members of a cycle, and the recursive parts of one query.

Both are recursive tables: a table, and a plan over it. Only the rows of the plan are stored, no hidden state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.algebra.monotone import non_linear_operator, non_monotone_operator
from anabranch.algebra.plan import Plan, Scan, tables
from anabranch.algebra.transform import transform_up
from anabranch.connection.lake_context import LakeContext
from anabranch.delta.recursion import RecursiveTable
from anabranch.engine.base import Frame
from anabranch.engine.run_plan import run_plan
from anabranch.errors import NotIncremental, NotMonotone
from anabranch.names import TableName
from anabranch.refresh.column_types import check_types
from anabranch.schema import Schema
from anabranch.sql.lower import LoweredQuery, Recursion, lower
from anabranch.sql.query import Query, parse_query
from anabranch.streams.versions import LakeVersion

RECURSION = "__recursion"


@dataclass(frozen=True)
class StoredRecursiveTable:
    """One recursive table of a definition."""

    table: TableName
    loop: RecursiveTable
    schema: Schema

    @property
    def reads(self) -> frozenset[TableName]:
        """The tables that it is computed from, but for itself."""
        return frozenset(map(TableName.parse, tables(self.loop.plan))) - {self.table}


@dataclass(frozen=True)
class CycleMemberDefinition:
    """A query of a cycle: it reads stream tables that are made from its own result."""

    name: TableName
    text: str
    query: Query
    lowered: LoweredQuery
    loops: tuple[StoredRecursiveTable, ...]
    """Recursions inside of the query first, then the query."""
    members: frozenset[TableName]
    """The stream tables of the cycle."""

    @property
    def tables(self) -> frozenset[TableName]:
        """What it reads, other members included."""
        return self.lowered.tables

    @property
    def schemas(self) -> dict[TableName, Schema]:
        """The tables that are stored, the one that people see last."""
        return {looped.table: looped.schema for looped in self.loops}

    @property
    def notices(self) -> tuple[str, ...]:
        """What its user should know."""
        return self.lowered.notices


def define_cycle_member(
    context: LakeContext, name: TableName, text: str, lake_version: LakeVersion, members: frozenset[TableName]
) -> CycleMemberDefinition:
    """The definition of a query of a cycle, over a lake version that has all members."""
    schemas = {known: version.schema.visible for known, version in lake_version.versions.items()}
    lowered = lower(text, schemas)
    empty = {str(table): context.engine.scan([], schemas[table]) for table in lowered.tables}
    lowered, loops = define_recursive_tables(context, name, lowered, empty)
    recursive = frozenset(map(str, members)) | {looped.loop.table for looped in loops}
    for looped in loops:
        check_monotone(looped.loop.plan, recursive, f'a recursion in "{name}"')
    check_monotone(lowered.plan, recursive, f'"{name}"')
    schema = context.engine.schema_of(run_plan(context.engine, lowered.plan, empty, lowered.columns))
    query = parse_query(text)
    if not loops:
        relations = {key: empty[str(table)] for key, table in query.tables}
        check_types(context.engine.schema_of(context.engine.run_query(query.template, relations)), schema)
    own = StoredRecursiveTable(name, RecursiveTable(str(name), lowered.plan, lowered.columns), schema)
    return CycleMemberDefinition(name, text, query, lowered, (*loops, own), members)


def check_monotone(plan: Plan, recursive: frozenset[str], what: str) -> None:
    """Refuse a recursion through an operator that may delete rows when others are inserted."""
    operator = non_monotone_operator(plan, recursive)
    if operator is not None:
        raise NotMonotone(
            f"{what} reads itself through {operator}",
            detail="rows that come may take others away, so there need not be a fixed point.",
            hint="compute it in a stream table outside of the cycle, which reads the result or feeds it.",
        )


def check_recursion(loop: RecursiveTable) -> None:
    """Refuse a recursion in a query whose fixed point isn't what SQL computes."""
    if (operator := non_monotone_operator(loop.plan, {loop.table})) is not None:
        raise NotIncremental(
            f"the recursion goes through {operator}",
            detail="rows that come may take others away, so there need not be a fixed point.",
            hint="compute it outside of the recursion, from its result or before it.",
        )
    if not loop.is_set and (operator := non_linear_operator(loop.plan, {loop.table})) is not None:
        raise NotIncremental(
            f"the recursion goes through {operator}, and keeps duplicates",
            detail="with UNION ALL, Spark hands a step only the rows of the pass before.",
            hint="use UNION, which keeps every row once.",
        )


def define_recursive_tables(
    context: LakeContext, name: TableName, lowered: LoweredQuery, empty: dict[str, Frame]
) -> tuple[LoweredQuery, tuple[StoredRecursiveTable, ...]]:
    """The recursions of a query as tables stored beside its result; they are added to `empty`."""
    if not lowered.recursions:
        return lowered, ()
    names = {
        recursion.table: f"{name}{RECURSION}{number}"
        for number, recursion in enumerate(lowered.recursions, start=1)
    }
    found: list[StoredRecursiveTable] = []
    for recursion in lowered.recursions:
        found.append(_define_recursive_table(context, _rename_recursion(recursion, names), empty))
        empty[found[-1].loop.table] = context.engine.scan([], found[-1].schema)
    return replace(lowered, plan=rename_tables(lowered.plan, names)), tuple(found)


def _define_recursive_table(
    context: LakeContext, recursion: Recursion, empty: Mapping[str, Frame]
) -> StoredRecursiveTable:
    begun = context.engine.schema_of(run_plan(context.engine, recursion.anchor, empty, recursion.columns))
    known = {**empty, recursion.table: context.engine.scan([], begun)}
    whole = context.engine.schema_of(run_plan(context.engine, recursion.plan, known, recursion.columns))
    _check_recursion_types(begun, whole)
    plan = RecursiveTable(recursion.table, recursion.plan, recursion.columns)
    return StoredRecursiveTable(TableName.parse(recursion.table), plan, whole)


def _check_recursion_types(begun: Schema, whole: Schema) -> None:
    wrong = [
        f"{one.name} begins as {one.type} and becomes {other.type}"
        for one, other in zip(begun, whole, strict=True)
        if one.type != other.type
    ]
    if wrong:
        raise NotIncremental(
            "a recursion changes the types of its columns",
            detail="; ".join(wrong)[:600] + ".",
            hint="cast the columns of its first part: CAST(… AS type).",
        )


def _rename_recursion(recursion: Recursion, names: Mapping[str, str]) -> Recursion:
    return replace(
        recursion,
        table=names[recursion.table],
        plan=rename_tables(recursion.plan, names),
        anchor=rename_tables(recursion.anchor, names),
    )


def rename_tables(plan: Plan, names: Mapping[str, str]) -> Plan:
    """The plan over tables of other names."""

    def rename_scan(part: Plan) -> Plan:
        return (
            replace(part, table=names[part.table]) if isinstance(part, Scan) and part.table in names else part
        )

    return transform_up(plan, rename_scan)


def all_recursive_tables(definitions: Sequence[CycleMemberDefinition]) -> tuple[StoredRecursiveTable, ...]:
    """All recursive tables of a cycle."""
    return tuple(looped for definition in definitions for looped in definition.loops)
