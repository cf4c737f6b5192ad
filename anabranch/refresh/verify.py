"""Verifies a stream table: recomputes its query in full, and compares the rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from anabranch.connection.lake_context import LakeContext
from anabranch.engine.base import Frame
from anabranch.engine.row_plans import count_differences
from anabranch.names import TableName
from anabranch.read.scan_tables import scan_version
from anabranch.refresh.define import Definition, FullDefinition, recompute
from anabranch.refresh.inputs import Sources
from anabranch.refresh.recursive_definitions import CycleMemberDefinition, all_recursive_tables
from anabranch.refresh.run_fixpoint import compute_least_fixpoint
from anabranch.streams.versions import LakeVersion, TableVersion


@dataclass(frozen=True)
class Verified:
    """The outcome: how many rows the table lacks, and how many it has too many."""

    missing: int
    surplus: int

    @property
    def ok(self) -> bool:
        """Whether the table is right."""
        return not (self.missing or self.surplus)


def verify(
    context: LakeContext,
    definition: Definition | FullDefinition,
    stored: TableVersion,
    lake_version: LakeVersion,
) -> Verified:
    """Compare what is stored with the query's result over its sources as of a lake version."""
    with ExitStack() as held:
        computed: dict[TableName, Frame] = {}
        if isinstance(definition, Definition):
            for looped in definition.loops:
                sources = Sources(context, lake_version, lake_version, computed=computed)
                computed |= held.enter_context(compute_least_fixpoint(context, [looped], sources))
        expected = recompute(definition, Sources(context, lake_version, lake_version, computed=computed))
        return _compare_rows(context, expected, stored)


def verify_cycle_member(
    context: LakeContext,
    name: TableName,
    members: Sequence[CycleMemberDefinition],
    stored: TableVersion,
    lake_version: LakeVersion,
) -> Verified:
    """Compare the rows of a cycle's member with the least solution for all members, recomputed in full."""
    with compute_least_fixpoint(
        context, all_recursive_tables(members), Sources(context, lake_version, lake_version)
    ) as found:
        return _compare_rows(context, found[name], stored)


def _compare_rows(context: LakeContext, expected: Frame, stored: TableVersion) -> Verified:
    missing, surplus = count_differences(
        context.engine, expected, scan_version(context, stored), stored.schema.visible.columns
    )
    return Verified(missing, surplus)
