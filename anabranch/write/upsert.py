"""What an upsert reads of the table that it changes: the rows that its incoming rows may match.

Where they are few beside what is stored, they are looked up in the files by their keys. Where that is too
much to be done here, the engine is sent the keys, so that it needn't bring all stored rows together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.engine.base import Frame
from anabranch.parts import Parts
from anabranch.storage.files import check_files
from anabranch.storage.lookup import Limits
from anabranch.storage.matches import look_for_matches, sent_bytes
from anabranch.write.merge import FEW, LOOKED_UP_ROWS
from anabranch.write.working import WorkingTable

FOUND_ROWS = 200_000
"""Rows that are looked up at most."""
SENT_BYTES = 32 << 20
"""How much the keys may be that are sent to where the rows are."""


def matchable(parts: Parts, table: WorkingTable, incoming: Any, source: Frame, keys: Sequence[str]) -> Frame:
    """The stored rows, with their places, or as many as some incoming rows (as Arrow data and as a frame)
    may match."""
    files = [file for _, file in sorted(table.live().items())]
    check_files(parts.warehouse, files)
    stored = sum(file.rows for file in files)
    if stored > LOOKED_UP_ROWS and incoming.num_rows * FEW <= stored:
        limits = Limits(rows=FOUND_ROWS, size=parts.lookup_bytes)
        found = look_for_matches(parts.warehouse, parts.columns, files, table.schema, incoming, keys, limits)
        if found is not None:
            return parts.engine.from_arrow(found)
    rows = parts.engine.scan(files, table.schema, positions=True)
    if sent_bytes(incoming, keys) > SENT_BYTES:
        return rows
    return parts.engine.matchable(rows, source, keys)
