"""The engine as a machine for fixed points: few rows are held here, many in files until the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from anabranch.algebra.plan import Delta, Plan, Scan, Stored, subplans
from anabranch.delta.together import Known
from anabranch.engine.base import Frame
from anabranch.parts import Parts
from anabranch.refresh.fixpoint import Batch, Bind
from anabranch.refresh.sources import Sources
from anabranch.render.dialect import Dialect
from anabranch.render.statement import WEIGHT, Rendered, render
from anabranch.schema import Schema
from anabranch.storage.files import rows_in, written_changes
from anabranch.storage.held import concatenated, signed


@dataclass(frozen=True)
class Rows:
    """A frame; and its rows, if they are held here."""

    frame: Frame
    held: Any | None = None


class Rounds:
    """One fixed point on an engine. `folder` is for rows that are too many to be held."""

    def __init__(self, parts: Parts, sources: Sources, schemas: Mapping[str, Schema], folder: str) -> None:
        self._parts, self._sources, self._schemas, self._folder = parts, sources, schemas, folder
        self._known: dict[Scan | Delta, Rows] = {}
        self._written = False

    def source(self, leaf: Scan | Delta) -> Rows:
        """A table outside of the recursion, at either end of the interval, or its change."""
        if leaf not in self._known:
            self._known[leaf] = Rows(self._sources.frame(leaf))
        return self._known[leaf]

    def nothing(self, table: str) -> Rows:
        """No rows, in the columns of a member."""
        return Rows(self._parts.engine.scan([], self._schemas[table]))

    def view(self, plan: Plan, columns: Sequence[str], bind: Bind[Rows]) -> Rows:
        """What a plan gives, under these names; computed whenever it is read."""
        changed = frozenset(leaf.table for leaf in subplans(plan) if isinstance(leaf, Delta))
        # Batches say themselves whether they are few; changes of tables outside are asked.
        known = self._sources.known(changed, frozenset())
        rendered = _rendered(plan, self._parts.engine.dialect, tuple(columns), known=known)
        frames = {
            placeholder: bind(leaf).frame
            for placeholder, leaf in rendered.leaves
            if not isinstance(leaf, Stored)
        }
        return Rows(self._parts.engine.query(rendered.template, frames))

    def keep(self, rows: Rows, *, few: bool) -> Batch[Rows]:
        """Rows, computed once and counted; `few`: so few that they can be held here."""
        engine = self._parts.engine
        if few and (held := engine.collected(rows.frame)) is not None:
            return self._batch(held, rows.frame)
        folder = f"{self._folder}/{self._parts.clock.new_id()}"
        self._written = True
        frame = engine.kept(rows.frame, folder, few=False)
        files = written_changes(self._parts.warehouse, folder)
        return Batch(Rows(frame), sum(rows_in(self._parts.warehouse, path) for path in files))

    def _batch(self, held: Any, like: Frame) -> Batch[Rows]:
        return Batch(Rows(self._parts.engine.from_arrow(held, like), held), held.num_rows)

    def signed(self, change: Rows) -> tuple[Batch[Rows], Batch[Rows]]:
        """Of weighted rows those that come, and those that go, without their weights."""
        engine = self._parts.engine
        kept = self.keep(change, few=self._sources.few_rows).rows
        names = ", ".join(name for name in engine.types_of(kept.frame) if name != WEIGHT)
        # The names are ours: c0, c1, …
        text = f"SELECT {names} FROM {{rows}} WHERE {WEIGHT}"  # noqa: S608
        came, went = (engine.query(f"{text} {sign} 0", {"rows": kept.frame}) for sign in "><")
        if kept.held is None:
            return self.keep(Rows(came), few=False), self.keep(Rows(went), few=False)
        plus, minus = signed(kept.held, WEIGHT)
        return self._batch(plus, came), self._batch(minus, went)

    def united(self, batches: Sequence[Batch[Rows]]) -> Batch[Rows]:
        """The rows of several batches, which have the same columns."""
        if len(batches) == 1:
            return batches[0]
        count = sum(batch.count for batch in batches)
        held = [batch for batch in batches if batch.rows.held is not None]
        rows = [batch.rows for batch in batches if batch.rows.held is None]
        if held:
            together = concatenated([batch.rows.held for batch in held])
            rows.append(self._batch(together, held[0].rows.frame).rows)
        if len(rows) == 1:
            return Batch(rows[0], count)
        text = " UNION ALL ".join(f"SELECT * FROM {{part{place}}}" for place in range(len(rows)))  # noqa: S608
        frames = {f"part{place}": part.frame for place, part in enumerate(rows)}
        return Batch(Rows(self._parts.engine.query(text, frames)), count)

    def clear(self) -> None:
        """Remove what was written on the way."""
        if self._written:
            self._parts.warehouse.clear(self._folder)


@lru_cache(maxsize=1024)
def _rendered(plan: Plan, dialect: Dialect, columns: tuple[str, ...], *, known: Known | None) -> Rendered:
    return render(plan, dialect, columns, known=known)
