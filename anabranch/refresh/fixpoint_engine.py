"""Runs the plans of a fixed point on an engine. Few rows stay in memory, many in files until the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from anabranch.algebra.plan import Delta, Plan, Scan, StoredResult, subplans
from anabranch.connection.lake_context import LakeContext
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.base import Frame
from anabranch.engine.local.arrow_rows import concatenated, signed
from anabranch.engine.render.dialect import Dialect
from anabranch.engine.render.statement import RenderedStatement, render
from anabranch.iceberg.parquet_files import list_written_changes, read_row_count
from anabranch.names import WEIGHT
from anabranch.refresh.fixpoint import Batch, Bind
from anabranch.refresh.inputs import Sources
from anabranch.schema import Schema


@dataclass(frozen=True)
class Rows:
    """A frame; and its rows, if they are in memory."""

    frame: Frame
    held: Any | None = None


class FixpointEngine:
    """The `PlanRunner` of one fixed point. Rows that don't fit into memory go to `folder`."""

    def __init__(
        self, context: LakeContext, sources: Sources, schemas: Mapping[str, Schema], folder: str
    ) -> None:
        self._context, self._sources, self._schemas, self._folder = context, sources, schemas, folder
        self._known: dict[Scan | Delta, Rows] = {}
        self._written = False

    def read_source(self, leaf: Scan | Delta) -> Rows:
        """A table outside of the recursion, at either end of the interval, or its change."""
        if leaf not in self._known:
            self._known[leaf] = Rows(self._sources.scan_leaf(leaf, net=True))
        return self._known[leaf]

    def empty_rows(self, table: str) -> Rows:
        """No rows, in the columns of a member."""
        return Rows(self._context.engine.scan([], self._schemas[table]))

    def define_view(self, plan: Plan, columns: Sequence[str], bind: Bind[Rows]) -> Rows:
        """The rows of a plan under these column names; computed whenever they are read."""
        changed = frozenset(leaf.table for leaf in subplans(plan) if isinstance(leaf, Delta))
        # Batches know whether they are few; for outer tables the size of the change is estimated.
        known = self._sources.estimate_sizes(changed, frozenset())
        rendered = _render_plan(plan, self._context.engine.dialect, tuple(columns), known=known)
        frames = {
            placeholder: bind(leaf).frame
            for placeholder, leaf in rendered.leaves
            if not isinstance(leaf, StoredResult)
        }
        return Rows(self._context.engine.run_query(rendered.template, frames))

    def materialise(self, rows: Rows, *, few: bool) -> Batch[Rows]:
        """Rows, computed once and counted; `few`: so few that they fit into memory."""
        engine = self._context.engine
        if few and (held := engine.collect(rows.frame)) is not None:
            return self._batch_from_arrow(held, rows.frame)
        folder = f"{self._folder}/{self._context.clock.new_id()}"
        self._written = True
        frame = engine.materialise(rows.frame, folder)
        files = list_written_changes(self._context.warehouse, folder)
        return Batch(Rows(frame), sum(read_row_count(self._context.warehouse, path) for path in files))

    def _batch_from_arrow(self, held: Any, like: Frame) -> Batch[Rows]:
        return Batch(Rows(self._context.engine.from_arrow(held, like), held), held.num_rows)

    def split_by_sign(self, change: Rows) -> tuple[Batch[Rows], Batch[Rows]]:
        """The inserted and the deleted rows of a change, without their weights."""
        engine = self._context.engine
        kept = self.materialise(change, few=self._sources.few_rows).rows
        names = ", ".join(name for name in engine.types_of(kept.frame) if name != WEIGHT)
        # The names are ours: c0, c1, …
        text = f"SELECT {names} FROM {{rows}} WHERE {WEIGHT}"  # noqa: S608
        came, went = (engine.run_query(f"{text} {sign} 0", {"rows": kept.frame}) for sign in "><")
        if kept.held is None:
            return self.materialise(Rows(came), few=False), self.materialise(Rows(went), few=False)
        plus, minus = signed(kept.held, WEIGHT)
        return self._batch_from_arrow(plus, came), self._batch_from_arrow(minus, went)

    def union_batches(self, batches: Sequence[Batch[Rows]]) -> Batch[Rows]:
        """The rows of several batches, which have the same columns."""
        if len(batches) == 1:
            return batches[0]
        count = sum(batch.count for batch in batches)
        held = [batch for batch in batches if batch.rows.held is not None]
        rows = [batch.rows for batch in batches if batch.rows.held is None]
        if held:
            together = concatenated([batch.rows.held for batch in held])
            rows.append(self._batch_from_arrow(together, held[0].rows.frame).rows)
        if len(rows) == 1:
            return Batch(rows[0], count)
        text = " UNION ALL ".join(f"SELECT * FROM {{part{place}}}" for place in range(len(rows)))  # noqa: S608
        frames = {f"part{place}": part.frame for place, part in enumerate(rows)}
        return Batch(Rows(self._context.engine.run_query(text, frames)), count)

    def clear(self) -> None:
        """Remove the files of intermediate rows."""
        if self._written:
            self._context.warehouse.delete_folder(self._folder)


@lru_cache(maxsize=1024)
def _render_plan(
    plan: Plan, dialect: Dialect, columns: tuple[str, ...], *, known: RelationFacts
) -> RenderedStatement:
    return render(plan, dialect, columns, known=known)
