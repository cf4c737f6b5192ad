"""Queries that read themselves: members of a cycle, and the recursive parts of one query.

Both are loops: a table, and a plan over it. What is stored of a loop is what its plan shows, nothing beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.algebra.monotone import not_linear, not_monotone
from anabranch.algebra.plan import Plan, Scan, tables
from anabranch.algebra.rebuild import rebuild
from anabranch.delta.recurse import Loop
from anabranch.engine.base import Frame
from anabranch.errors import NotIncremental, NotMonotone
from anabranch.ledger.records import Moment
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.typing import check_types, over
from anabranch.schema import Schema
from anabranch.sql.lower import Lowered, Recursion, lower
from anabranch.sql.query import Query, parse_query

RECURSION = "__recursion"


@dataclass(frozen=True)
class Looped:
    """One recursive table of a definition."""

    table: TableName
    loop: Loop
    schema: Schema

    @property
    def reads(self) -> frozenset[TableName]:
        """The tables that it is computed from, but for itself."""
        return frozenset(map(TableName.parse, tables(self.loop.plan))) - {self.table}


@dataclass(frozen=True)
class MemberDefinition:
    """A query of a cycle: it reads stream tables that are made from its own result."""

    name: TableName
    text: str
    query: Query
    lowered: Lowered
    loops: tuple[Looped, ...]
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


def define_member(
    parts: Parts, name: TableName, text: str, moment: Moment, members: frozenset[TableName]
) -> MemberDefinition:
    """The definition of a query of a cycle, over tables of a moment that has all members."""
    schemas = {known: version.schema.visible for known, version in moment.versions.items()}
    lowered = lower(text, schemas)
    empty = {str(table): parts.engine.scan([], schemas[table]) for table in lowered.tables}
    lowered, loops = recursive_parts(parts, name, lowered, empty)
    recursive = frozenset(map(str, members)) | {looped.loop.table for looped in loops}
    for looped in loops:
        check_monotone(looped.loop.plan, recursive, f'a recursion in "{name}"')
    check_monotone(lowered.plan, recursive, f'"{name}"')
    schema = parts.engine.schema_of(over(parts, lowered.plan, lowered.columns, empty))
    query = parse_query(text)
    if not loops:
        relations = {key: empty[str(table)] for key, table in query.tables}
        check_types(parts.engine.schema_of(parts.engine.query(query.template, relations)), schema)
    own = Looped(name, Loop(str(name), lowered.plan, lowered.columns), schema)
    return MemberDefinition(name, text, query, lowered, (*loops, own), members)


def check_monotone(plan: Plan, recursive: frozenset[str], what: str) -> None:
    """Refuse a recursion through an operator that may take rows away when others come."""
    operator = not_monotone(plan, recursive)
    if operator is not None:
        raise NotMonotone(
            f"{what} reads itself through {operator}",
            detail="rows that come may take others away, so there need not be a fixed point.",
            hint="compute it in a stream table outside of the cycle, which reads the result or feeds it.",
        )


def check_recursion(loop: Loop) -> None:
    """Refuse a recursion in a query whose fixed point isn't what SQL makes of it."""
    if (operator := not_monotone(loop.plan, {loop.table})) is not None:
        raise NotIncremental(
            f"the recursion goes through {operator}",
            detail="rows that come may take others away, so there need not be a fixed point.",
            hint="compute it outside of the recursion, from its result or before it.",
        )
    if not loop.is_set and (operator := not_linear(loop.plan, {loop.table})) is not None:
        raise NotIncremental(
            f"the recursion goes through {operator}, and keeps duplicates",
            detail="with UNION ALL, Spark hands a step only the rows of the pass before.",
            hint="use UNION, which keeps every row once.",
        )


def recursive_parts(
    parts: Parts, name: TableName, lowered: Lowered, empty: dict[str, Frame]
) -> tuple[Lowered, tuple[Looped, ...]]:
    """The recursions of a query as tables that are stored beside its result; `empty` comes to know them."""
    if not lowered.recursions:
        return lowered, ()
    names = {
        recursion.table: f"{name}{RECURSION}{number}"
        for number, recursion in enumerate(lowered.recursions, start=1)
    }
    found: list[Looped] = []
    for recursion in lowered.recursions:
        found.append(_looped(parts, _renamed(recursion, names), empty))
        empty[found[-1].loop.table] = parts.engine.scan([], found[-1].schema)
    return replace(lowered, plan=renamed_tables(lowered.plan, names)), tuple(found)


def _looped(parts: Parts, recursion: Recursion, empty: Mapping[str, Frame]) -> Looped:
    begun = parts.engine.schema_of(over(parts, recursion.anchor, recursion.columns, empty))
    known = {**empty, recursion.table: parts.engine.scan([], begun)}
    whole = parts.engine.schema_of(over(parts, recursion.plan, recursion.columns, known))
    _check_recursion(begun, whole)
    plan = Loop(recursion.table, recursion.plan, recursion.columns)
    return Looped(TableName.parse(recursion.table), plan, whole)


def _check_recursion(begun: Schema, whole: Schema) -> None:
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


def _renamed(recursion: Recursion, names: Mapping[str, str]) -> Recursion:
    return replace(
        recursion,
        table=names[recursion.table],
        plan=renamed_tables(recursion.plan, names),
        anchor=renamed_tables(recursion.anchor, names),
    )


def renamed_tables(plan: Plan, names: Mapping[str, str]) -> Plan:
    """The plan over tables of other names."""

    def renamed(part: Plan) -> Plan:
        return (
            replace(part, table=names[part.table]) if isinstance(part, Scan) and part.table in names else part
        )

    return rebuild(plan, renamed)


def fellows(definitions: Sequence[MemberDefinition]) -> tuple[Looped, ...]:
    """All loops of a cycle."""
    return tuple(looped for definition in definitions for looped in definition.loops)
