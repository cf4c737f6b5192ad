"""Runs the plans of a fixed point: in this process as long as their rows are few, else on an engine.

A plan is computed when its rows are asked for. Rows that were computed here are in memory, and become a frame
when the engine first needs them. So a plan that isn't for this process is the engine's, over the same rows;
once they are too many for this process, all plans are. The engine's rows stay in memory while they are few,
and are in files until the end if they are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from anabranch.algebra.plan import (
    Columns,
    Delta,
    Materialised,
    Plan,
    Project,
    Scan,
    StoredResult,
    UnionAll,
    empty,
    subplans,
)
from anabranch.algebra.scalar import Ref
from anabranch.algebra.transform import transform_up
from anabranch.connection.lake_context import LakeContext
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.base import Frame
from anabranch.engine.local.arrow_rows import concatenated, signed
from anabranch.engine.local.fixpoint_rows import FixpointRows
from anabranch.engine.local.held import Held, in_kinds
from anabranch.engine.local.interpret import TooDear
from anabranch.engine.local.kinds import Elsewhere
from anabranch.engine.local.values import arrow_rows, kinds_of
from anabranch.engine.render.dialect import Dialect
from anabranch.engine.render.statement import RenderedStatement, render
from anabranch.errors import AnabranchError, EngineMemory
from anabranch.iceberg.parquet_files import list_written_changes, read_row_count
from anabranch.names import WEIGHT
from anabranch.refresh.fixpoint import Batch, Bind, Leaf
from anabranch.refresh.inputs import Sources
from anabranch.schema import Schema
from anabranch.write.working_table import WorkingTable

Bound = Mapping[Leaf, "Rows"]
"""What the leaves of a plan stand for."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows under some column names: a frame, and a plan that this process can compute."""

    columns: tuple[str, ...]
    make_frame: Callable[[], Frame]
    local: Plan | None = None
    """Its columns are those, by position. None: the rows are the engine's alone."""
    parts: tuple[str, ...] = ()
    """The names of the batches in memory that they consist of; none if they are computed or in files."""

    @cached_property
    def frame(self) -> Frame:
        """The rows as a frame, which is made once."""
        return self.make_frame()


class FixpointEngine:
    """The `PlanRunner` of one fixed point. Rows that don't fit into memory go to `folder`.

    `local`: what this process computes with; None if everything is computed by the engine.
    """

    def __init__(
        self,
        context: LakeContext,
        sources: Sources,
        schemas: Mapping[str, Schema],
        folder: str,
        local: FixpointRows | None = None,
    ) -> None:
        self._context, self._sources, self._schemas, self._folder = context, sources, schemas, folder
        self._local, self._is_local = local, local is not None
        self._known: dict[Scan | Delta, Rows] = {}
        self._collected: dict[str, tuple[Any, Frame]] = {}
        self._frames: dict[str, Frame] = {}
        self._united: dict[tuple[str, ...], str] = {}
        self._count = 0
        self._written = False

    # -- what is read -----------------------------------------------------------------------------

    def read_source(self, leaf: Scan | Delta) -> Rows:
        """A table outside of the recursion, at either end of the interval, or its change."""
        if leaf not in self._known:
            own = tuple(dict.fromkeys(name for _, name in leaf.columns))
            local = replace(leaf, columns=tuple((name, name) for name in own))
            self._known[leaf] = Rows(own, lambda: self._sources.scan_leaf(leaf, net=True), local)
        return self._known[leaf]

    def read_stored(self, name: str, table: WorkingTable) -> Rows:
        """The rows that a member stored before this refresh: read them before its change is applied."""
        columns = table.schema.names
        local = Scan(name, tuple((column, column) for column in columns))
        return Rows(columns, lambda: self._sources.scan_stored_rows(table), local)

    def empty_rows(self, table: str) -> Rows:
        """No rows, in the columns of a member."""
        schema = self._schemas[table]
        return Rows(schema.names, lambda: self._context.engine.scan([], schema), empty(schema.names))

    # -- what is computed -------------------------------------------------------------------------

    def define_view(self, plan: Plan, columns: Sequence[str], bind: Bind[Rows]) -> Rows:
        """The rows of a plan under these column names; computed whenever they are read."""
        names = tuple(columns)
        bound = {leaf: bind(leaf) for leaf in subplans(plan) if isinstance(leaf, Leaf)}
        return Rows(names, lambda: self._run(plan, names, bound), _inline(plan, bound))

    def _run(self, plan: Plan, columns: tuple[str, ...], bound: Bound) -> Frame:
        changed = frozenset(leaf.table for leaf in bound if isinstance(leaf, Delta))
        # Batches know whether they are few; for outer tables the size of the change is estimated.
        known = self._sources.estimate_sizes(changed, frozenset())
        rendered = _render_plan(plan, self._context.engine.dialect, columns, known=known)
        # A statement may read fewer columns than the plan says; frames have all of them.
        inside = {_relation(leaf): rows for leaf, rows in bound.items()}

        def resolve_leaf(leaf: Leaf) -> Frame:
            if isinstance(leaf, Materialised) or leaf.table in self._schemas:
                return inside[_relation(leaf)].frame
            return self.read_source(leaf).frame

        frames = {
            placeholder: resolve_leaf(leaf)
            for placeholder, leaf in rendered.leaves
            if not isinstance(leaf, StoredResult)
        }
        return self._context.engine.run_query(rendered.template, frames)

    def materialise(self, rows: Rows, *, few: bool) -> Batch[Rows]:
        """Rows, computed once and counted; `few`: so few that they fit into memory."""
        if (found := self._compute_locally(rows)) is not None:
            return self._keep_local(found)
        if few and (collected := self._context.engine.collect(rows.frame)) is not None:
            return self._keep_collected(rows.columns, collected, rows.frame)
        return self._write(rows.columns, rows.frame)

    def _write(self, columns: tuple[str, ...], frame: Frame) -> Batch[Rows]:
        """The rows of a frame, computed once and written to files."""
        folder = f"{self._folder}/{self._context.clock.new_id()}"
        self._written = True
        written = self._context.engine.materialise(frame, folder)
        files = list_written_changes(self._context.warehouse, folder)
        count = sum(read_row_count(self._context.warehouse, path) for path in files)
        return Batch(Rows(columns, lambda: written), count)

    def compute_change(self, rows: Rows, schema: Schema) -> Held | None:
        """A change in the columns and types of the table that it changes; None if it is the engine's."""
        found = self._compute_locally(rows)
        try:
            return None if found is None else in_kinds(found, kinds_of(schema))
        except Elsewhere:
            return None

    def _compute_locally(self, rows: Rows) -> Held | None:
        """The rows as this process computes them; None if that is for the engine."""
        if not self._is_local or self._local is None or rows.local is None:
            return None
        try:
            found = self._local.compute(rows.local)
        except EngineMemory:
            raise
        except (TooDear, Elsewhere, RecursionError, AnabranchError):
            # An error may be due to the order in which parts were computed. If not, the engine says it again.
            self._is_local = not self._local.is_spent
            return None
        return Held(rows.columns, found.kinds, found.rows, found.weights)

    def split_by_sign(self, change: Rows) -> tuple[Batch[Rows], Batch[Rows]]:
        """The inserted and the deleted rows of a change, without their weights."""
        if (found := self._compute_locally(change)) is not None:
            signs = ([row for row, w in found.net.items() if w * sign > 0] for sign in (1, -1))
            plus, minus = (self._keep_local(Held(found.names, found.kinds, rows)) for rows in signs)
            return plus, minus
        engine = self._context.engine
        names = ", ".join(name for name in engine.types_of(change.frame) if name != WEIGHT)
        # The names are ours: c0, c1, …
        text = f"SELECT {names} FROM {{rows}} WHERE {WEIGHT}"  # noqa: S608
        collected = engine.collect(change.frame) if self._sources.few_rows else None
        whole = change if collected is not None else self._write(change.columns, change.frame).rows
        came, went = (engine.run_query(f"{text} {sign} 0", {"rows": whole.frame}) for sign in "><")
        if collected is None:
            return self._write(change.columns, came), self._write(change.columns, went)
        inserted, deleted = signed(collected, WEIGHT)
        return (
            self._keep_collected(change.columns, inserted, came),
            self._keep_collected(change.columns, deleted, went),
        )

    # -- what is kept -----------------------------------------------------------------------------

    def union_batches(self, batches: Sequence[Batch[Rows]]) -> Batch[Rows]:
        """The rows of several batches, which have the same columns."""
        if len(batches) == 1:
            return batches[0]
        columns = batches[0].rows.columns
        names = [name for batch in batches for name in batch.rows.parts]
        rows = [batch.rows for batch in batches if not batch.rows.parts]
        rows += [self._named_rows(columns, name) for name in self._unite(names)]
        count = sum(batch.count for batch in batches)
        if len(rows) == 1:
            return Batch(replace(rows[0], parts=tuple(names)), count)
        local = [part.local for part in rows if part.local is not None]
        together = UnionAll(tuple(local)) if len(local) == len(rows) else None
        parts = tuple(names) if all(part.parts for part in rows) else ()
        return Batch(Rows(columns, lambda: self._union_frames(rows), together, parts), count)

    def _union_frames(self, rows: Sequence[Rows]) -> Frame:
        text = " UNION ALL ".join(f"SELECT * FROM {{part{place}}}" for place in range(len(rows)))  # noqa: S608
        frames = {f"part{place}": part.frame for place, part in enumerate(rows)}
        return self._context.engine.run_query(text, frames)

    def _unite(self, names: Sequence[str]) -> Iterator[str]:
        """The names of larger batches that have the rows of some, in as many pieces as a binary number of
        them has ones: so each batch is copied a few times, however many are added one by one."""
        for _, run in groupby(names, key=lambda name: name in self._collected):
            left = list(run)
            while left:
                size = 1 << (len(left).bit_length() - 1)
                yield self._united_batch(tuple(left[:size]))
                left = left[size:]

    def _united_batch(self, names: tuple[str, ...]) -> str:
        if len(names) == 1:
            return names[0]
        if names not in self._united:
            if names[0] in self._collected:
                frame = self._collected[names[0]][1]
                together = concatenated([self._collected[name][0] for name in names])
                self._united[names] = self._new_name()
                self._collected[self._united[names]] = together, frame
            else:
                assert self._local is not None, "what isn't the engine's was computed here"
                self._united[names] = self._new_name()
                self._local.keep(self._united[names], self._local.unite(names))
        return self._united[names]

    def _keep_local(self, found: Held) -> Batch[Rows]:
        assert self._local is not None, "it was computed here"
        name = self._new_name()
        self._local.keep(name, found)
        return Batch(self._named_rows(found.names, name), len(found))

    def _keep_collected(self, columns: tuple[str, ...], rows: Any, like: Frame) -> Batch[Rows]:
        """Keep rows that the engine computed: for plans of both, as long as this process computes any."""
        if self._is_local and self._local is not None:
            try:
                return self._keep_local(self._local.receive(rows, columns))
            except (TooDear, Elsewhere):
                self._is_local = not self._local.is_spent
        name = self._new_name()
        self._collected[name] = rows, like
        return Batch(self._named_rows(columns, name), rows.num_rows)

    def _named_rows(self, columns: tuple[str, ...], name: str) -> Rows:
        """The rows of a batch in memory."""
        local = None
        if name not in self._collected:
            local = Materialised(name, tuple((column, column) for column in columns), weighted=False)
        return Rows(columns, lambda: self._frame_of(name), local, (name,))

    def _frame_of(self, name: str) -> Frame:
        if name not in self._frames:
            engine = self._context.engine
            if name in self._collected:
                self._frames[name] = engine.from_arrow(*self._collected[name])
            else:
                assert self._local is not None, "what isn't the engine's was computed here"
                held = self._local.kept(name)
                self._frames[name] = engine.from_arrow(arrow_rows(held, held.names))
        return self._frames[name]

    def _new_name(self) -> str:
        self._count += 1
        return f"batch {self._count}"

    def clear(self) -> None:
        """Remove the files of intermediate rows."""
        if self._written:
            self._context.warehouse.delete_folder(self._folder)


def _relation(leaf: Leaf) -> Leaf:
    """A leaf without its columns."""
    return replace(leaf, columns=())


def _inline(plan: Plan, bound: Bound) -> Plan | None:
    """A plan in which its leaves are what they stand for; None if one of them is the engine's alone."""
    if any(rows.local is None for rows in bound.values()):
        return None

    def replace_leaf(part: Plan) -> Plan:
        rows = bound.get(part) if isinstance(part, Leaf) else None
        if rows is None or rows.local is None or isinstance(part, Delta):
            return part
        assert isinstance(part, Scan | Materialised)
        places = {name: place for place, name in enumerate(rows.columns)}
        return _select(rows.local, [(name, places[own]) for name, own in part.columns])

    return transform_up(plan, replace_leaf)


def _select(plan: Plan, columns: Sequence[tuple[str, int]]) -> Plan:
    """Some columns of a plan, given by place, under other names."""
    if isinstance(plan, Scan | Materialised):
        chosen: Columns = tuple((name, plan.columns[place][1]) for name, place in columns)
        return replace(plan, columns=chosen)
    if isinstance(plan, UnionAll):
        return UnionAll(tuple(_select(part, columns) for part in plan.parts))
    return Project(plan, tuple((name, Ref(plan.names[place])) for name, place in columns))


@lru_cache(maxsize=1024)
def _render_plan(
    plan: Plan, dialect: Dialect, columns: tuple[str, ...], *, known: RelationFacts
) -> RenderedStatement:
    return render(plan, dialect, columns, known=known)
