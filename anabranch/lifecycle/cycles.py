"""Closing a cycle: the columns of stream tables that read each other, found from where the cycle begins.

A query that reads another member can't be understood before that one's columns are known, and the other way
round. But one member or another has a branch of its UNION that reads none: its columns begin the cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.errors import CircularDefinition
from anabranch.ledger.records import Moment, Version
from anabranch.names import TableName
from anabranch.refresh.define import CHECKED_ROWS, hold_against_text
from anabranch.refresh.member import STREAM
from anabranch.refresh.passes import Pass
from anabranch.refresh.publish import Results
from anabranch.refresh.recursive import MemberDefinition, recursive_parts
from anabranch.refresh.sources import Sources
from anabranch.refresh.typing import over
from anabranch.schema import Schema
from anabranch.sql.lower import lower_anchor

ROUNDS = 8
"""How often types may widen along a cycle before they are said not to settle."""


def define_cycle(
    a_pass: Pass, queries: Mapping[TableName, str], moment: Moment, members: frozenset[TableName]
) -> dict[TableName, MemberDefinition]:
    """The definitions of queries of one cycle, in a moment that has all members but these."""
    moment = _begun(a_pass, queries, moment)
    for _ in range(ROUNDS):
        found: dict[TableName, MemberDefinition] = {}
        for name, text in queries.items():
            made = a_pass.definitions.get(name, text, "differential", moment, members)
            assert isinstance(made, MemberDefinition)
            found[name] = made
        schemas = {name: made.schemas[name] for name, made in found.items()}
        if all(moment.version(name).schema.visible == schema.visible for name, schema in schemas.items()):
            return found
        moment = _with(moment, schemas)
    names = ", ".join(f'"{name}"' for name in sorted(queries))
    raise CircularDefinition(
        f"the types of a cycle don't settle: {names}",
        detail="the type of a column depends on itself, and grows each time it is worked out.",
        hint="cast the columns that are computed: CAST(… AS type).",
    )


def check_members(a_pass: Pass, results: Results) -> None:
    """Hold what new members of cycles hold against their texts, where there isn't too much of it.

    A fixed point is what its query makes of it: so Spark is asked whether it does.
    """
    staged = {name: result.table for name, result in results.items()}
    for name, result in results.items():
        definition, moment = result.definition, result.seen.moment
        if not isinstance(definition, MemberDefinition) or len(definition.loops) > 1:
            continue
        moment = replace(moment, versions={**moment.versions, **result.inputs})
        sources = Sources(a_pass.parts, moment, moment, staged)
        if sum(map(sources.count, definition.tables)) <= CHECKED_ROWS and definition.lowered.settled:
            schema = definition.schemas[name].visible
            hold_against_text(a_pass.parts, definition, sources.rows(name), sources, schema)


def _begun(a_pass: Pass, queries: Mapping[TableName, str], moment: Moment) -> Moment:
    """The moment with the columns of all members, as far as the branches that begin the cycle tell them."""
    unknown = {name for name in queries if name not in moment.versions}
    while unknown:
        schemas = {name: version.schema.visible for name, version in moment.versions.items()}
        known: dict[TableName, Schema] = {}
        for name in sorted(unknown):
            lowered = lower_anchor(queries[name], schemas, frozenset(unknown))
            if lowered is not None:
                engine = a_pass.parts.engine
                empty = {str(table): engine.scan([], schemas[table]) for table in lowered.tables}
                lowered, _ = recursive_parts(a_pass.parts, name, lowered, empty)
                frame = over(a_pass.parts, lowered.plan, lowered.columns, empty)
                known[name] = engine.schema_of(frame)
        if not known:
            names = ", ".join(f'"{name}"' for name in sorted(unknown))
            raise CircularDefinition(
                f"nothing begins the cycle of {names}",
                detail="every one of them reads another one in each branch of its query.",
                hint="give one a branch that reads none of them: SELECT … FROM source UNION SELECT …",
            )
        moment = _with(moment, known)
        unknown -= known.keys()
    return moment


def _with(moment: Moment, schemas: Mapping[TableName, Schema]) -> Moment:
    versions = {
        name: replace(moment.versions[name], schema=schema)
        if name in moment.versions
        else Version("", name, STREAM, schema, 0, None, 0, "")
        for name, schema in schemas.items()
    }
    return replace(moment, versions={**moment.versions, **versions})
