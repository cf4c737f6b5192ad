"""The stored rows that the incoming rows of an upsert may match.

Where the incoming rows are few beside the stored ones, their matches are looked up in the files by key. Where
that is too much for this process, the engine broadcasts the keys, so that it needn't shuffle all stored rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.connection.scan_files import scan_files
from anabranch.engine.base import Frame
from anabranch.engine.local.lookup import FEW, LOOKED_UP_ROWS, Limits
from anabranch.engine.local.matches import look_for_matches, sent_bytes
from anabranch.engine.row_plans import rows_with_keys
from anabranch.iceberg.parquet_files import check_files
from anabranch.names import FILE, POSITION
from anabranch.write.working_table import WorkingTable

FOUND_ROWS = 200_000
"""How many matching rows are looked up at most."""
SENT_BYTES = 32 << 20
"""How many bytes of keys are broadcast at most."""


def scan_match_candidates(
    context: LakeContext, table: WorkingTable, incoming: Any, source: Frame, keys: Sequence[str]
) -> Frame:
    """The stored rows that may match incoming ones, with file and position; possibly all of them.

    The incoming rows are given as Arrow data (`incoming`) and as a frame (`source`).
    """
    files = [file for _, file in sorted(table.live_files().items())]
    check_files(context.warehouse, files)
    stored = sum(file.rows for file in files)
    if stored > LOOKED_UP_ROWS and incoming.num_rows * FEW <= stored:
        limits = Limits(rows=FOUND_ROWS, size=context.lookup_bytes)
        found = look_for_matches(
            context.warehouse, context.columns, files, table.schema, incoming, keys, limits
        )
        if found is not None:
            return context.engine.from_arrow(found)
    rows = scan_files(context, files, table.schema, positions=True)
    if sent_bytes(incoming, keys) > SENT_BYTES:
        return rows
    columns = (*table.schema.names, FILE, POSITION)
    return rows_with_keys(context.engine, rows, source, columns, keys)
