"""Whether a stream table holds what its query gives: recomputed from nothing, and compared."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.ledger.records import Moment, Version
from anabranch.parts import Parts
from anabranch.read.view import frame_of
from anabranch.refresh.define import recomputed
from anabranch.refresh.definitions import Defined
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


def verify(parts: Parts, definition: Defined, stored: Version, sources: Moment) -> Verified:
    """Compare what is stored with the query's result over its sources as of a moment."""
    expected = recomputed(definition, Sources(parts, sources, sources))
    missing, surplus = parts.engine.difference(expected, frame_of(parts, stored), stored.schema.visible)
    return Verified(missing, surplus)
