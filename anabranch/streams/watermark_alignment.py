"""Whether sources that belong together are loaded up to the same time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from anabranch.names import TableName
from anabranch.streams.source_readiness import Watermark, WatermarkGroup


@dataclass(frozen=True)
class WatermarkSpread:
    """The two sources that are furthest apart."""

    ahead: Watermark
    behind: Watermark

    @property
    def lag(self) -> timedelta:
        """max - min."""
        return self.ahead.timestamp - self.behind.timestamp


@dataclass(frozen=True)
class MissingWatermarks:
    """Sources that have no watermark yet."""

    sources: tuple[TableName, ...]


def watermark_spread(
    sources: Iterable[TableName], watermarks: Mapping[TableName, Watermark]
) -> WatermarkSpread | None:
    """How far apart those are that have a watermark, if any has; of equals, the first by name counts."""
    known = [watermarks[name] for name in sorted(sources) if name in watermarks]
    if not known:
        return None
    by_time = [each.timestamp for each in known]
    return WatermarkSpread(known[by_time.index(max(by_time))], known[by_time.index(min(by_time))])


def misalignment(
    group: WatermarkGroup, sources: Iterable[TableName], watermarks: Mapping[TableName, Watermark]
) -> MissingWatermarks | WatermarkSpread | None:
    """Why some sources of a group can't be read together, if they can't; apart by the tolerance they can."""
    names = sorted(sources)
    missing = tuple(name for name in names if name not in watermarks)
    if missing and group.missing == "gated":
        return MissingWatermarks(missing)
    found = watermark_spread(names, watermarks)
    return found if found is not None and found.lag > group.tolerance else None
