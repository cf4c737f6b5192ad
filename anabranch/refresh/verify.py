"""Whether a stream table holds what its query gives: recomputed from nothing, and compared."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from anabranch.engine.base import Frame
from anabranch.ledger.records import Moment, Version
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.read.view import frame_of
from anabranch.refresh.define import Definition, FullDefinition, recomputed
from anabranch.refresh.loops import least
from anabranch.refresh.recursive import MemberDefinition, fellows
from anabranch.refresh.sources import Sources


@dataclass(frozen=True)
class Verified:
    """The outcome: how many rows the table lacks, and how many it has too much."""

    missing: int
    surplus: int

    @property
    def ok(self) -> bool:
        """Whether the table is right."""
        return not (self.missing or self.surplus)


def verify(
    parts: Parts, definition: Definition | FullDefinition, stored: Version, moment: Moment
) -> Verified:
    """Compare what is stored with the query's result over its sources as of a moment."""
    with ExitStack() as held:
        computed: dict[TableName, Frame] = {}
        if isinstance(definition, Definition):
            for looped in definition.loops:
                sources = Sources(parts, moment, moment, computed=computed)
                computed |= held.enter_context(least(parts, [looped], sources))
        expected = recomputed(definition, Sources(parts, moment, moment, computed=computed))
        return _compared(parts, expected, stored)


def verify_member(
    parts: Parts, name: TableName, members: Sequence[MemberDefinition], stored: Version, moment: Moment
) -> Verified:
    """Compare what a member of a cycle holds with the least solution for all members, found from nothing."""
    with least(parts, fellows(members), Sources(parts, moment, moment)) as found:
        return _compared(parts, found[name], stored)


def _compared(parts: Parts, expected: Frame, stored: Version) -> Verified:
    missing, surplus = parts.engine.difference(expected, frame_of(parts, stored), stored.schema.visible)
    return Verified(missing, surplus)
