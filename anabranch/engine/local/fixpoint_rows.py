"""What the plans of a fixed point read in this process.

Those are tables outside of it, the stored rows of its members, and the rows that earlier plans gave. A few
rows of a large relation are looked up: in its files, or in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.algebra.plan import Delta, IntervalEnd, Materialised, Plan, Scan, StoredResult
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.local.collecting import collector_waits
from anabranch.engine.local.held import Held, united
from anabranch.engine.local.indexed_rows import IndexedRows
from anabranch.engine.local.interpret import Keyed, TooDear
from anabranch.engine.local.interpret_fixpoint import FixpointInterpreter
from anabranch.engine.local.nearby import Nearby
from anabranch.engine.local.reach import Leaf
from anabranch.engine.local.values import held_rows

if TYPE_CHECKING:
    from anabranch.refresh.inputs import Sources
    from anabranch.write.working_table import WorkingTable

READ_ROWS = 1_000
"""A relation of up to so many rows is read as a whole; rows of a larger one are looked up."""
FIRST_ROWS, ROWS_PER_PLAN = 200_000, 20_000
"""Plans may read and give so many rows together, and so many more for each plan: an engine computes those in
the time that it takes to plan its statements."""


class FixpointRows(Nearby):
    """The relations that plans read, by the names that leaves have for them."""

    def __init__(self, sources: Sources, members: Mapping[str, WorkingTable], most: int) -> None:
        super().__init__(sources, next(iter(members.values())), RelationFacts(), most)
        self._members = members
        self._computed: dict[str, IndexedRows] = {}
        self._read: dict[tuple[str, object, tuple[str, ...]], Held] = {}
        self._sizes: dict[tuple[str, IntervalEnd], int] = {}
        self._left = FIRST_ROWS

    def compute(self, plan: Plan) -> Held:
        """The rows of a plan; `TooDear` or `Elsewhere` if that is for an engine."""
        self._left += ROWS_PER_PLAN
        with collector_waits():
            found = FixpointInterpreter(self).of(plan)
        return self._spend(found)

    @property
    def is_spent(self) -> bool:
        """Whether more rows were read and computed than this process should."""
        return self._left < 0

    def receive(self, rows: Any, names: tuple[str, ...]) -> Held:
        """Rows that an engine computed, as Arrow data; `TooDear` or `Elsewhere` if it should keep them."""
        return self._spend(held_rows(rows, names))

    def keep(self, name: str, rows: Held) -> None:
        """Keep computed rows, which a `Materialised` of this name stands for."""
        self._computed[name] = IndexedRows(rows)

    def unite(self, names: Sequence[str]) -> Held:
        """The rows that are kept under some names, which have the same columns, together."""
        parts = [self._computed[name].held for name in names]
        return united(parts[0].names, parts)

    def kept(self, name: str) -> Held:
        """The rows that are kept under a name."""
        return self._computed[name].held

    # -- as the interpreter reads them ------------------------------------------------------------

    def is_large(self, leaf: Leaf) -> bool:
        """Whether a relation has more rows than are read as a whole."""
        return isinstance(leaf, Scan) and self.size(leaf) > self.most

    def is_looked_up(self, leaf: Leaf) -> bool:
        """Whether a few rows of a relation are found sooner than all of them are read."""
        return isinstance(leaf, Scan | Materialised) and self.size(leaf) > min(READ_ROWS, self.most)

    def size(self, leaf: Leaf) -> int:
        """How many rows a table or batch has."""
        if isinstance(leaf, Materialised):
            return len(self._computed[leaf.name].held)
        assert isinstance(leaf, Scan), "changes are read as a whole"
        known = leaf.table, leaf.at
        if known not in self._sizes:
            self._sizes[known] = self._sources.count_leaf_rows(*self._stored(leaf))
        return self._sizes[known]

    def rows(self, leaf: Leaf) -> Held:
        """The rows of a relation."""
        own = tuple(own for _, own in leaf.columns)
        if isinstance(leaf, Materialised):
            return _named(self._computed[leaf.name].held, own, leaf.names)
        assert isinstance(leaf, Scan | Delta), "the stored rows of members are scanned as tables"
        known = leaf.table, leaf.at if isinstance(leaf, Scan) else Delta, own
        if known not in self._read:
            found = (
                self._sources.read_arrow(leaf, self._table)
                if isinstance(leaf, Delta)
                else self._sources.read_arrow(*self._stored(leaf))
            )
            if found is None:
                raise TooDear("more than is read here")
            self._read[known] = self._spend(held_rows(found, own, weight=isinstance(leaf, Delta)))
        held = self._read[known]
        return Held(leaf.names, held.kinds, held.rows, held.weights)

    def find(self, leaf: Materialised, keys: Mapping[str, Keyed]) -> Held:
        """The rows of a batch that have one of the values in each of some columns."""
        rows = self._computed[leaf.name]
        places = {rows.held.names.index(name): keyed for name, keyed in keys.items()}
        return _named(self._spend(rows.find(places)), tuple(own for _, own in leaf.columns), leaf.names)

    def look_up(self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed]) -> Held | None:
        """The rows of a table that have one of the values in each of some columns."""
        assert isinstance(leaf, Scan), "the stored rows of members are scanned as tables"
        stored, table = self._stored(leaf)
        found = self._sources.look_up_rows(stored, keys, table, self._left)
        return None if found is None else self._spend(held_rows(found, leaf.names))

    def ask(self, plan: Plan, cuts: Mapping[str, Held]) -> Held:
        """No engine is asked."""
        raise TooDear("a question to the engine")

    def _stored(self, leaf: Scan) -> tuple[Scan | StoredResult, WorkingTable]:
        """What a leaf stands for; of a member, the rows that it stored before this refresh."""
        if leaf.table in self._members:
            return StoredResult(leaf.columns), self._members[leaf.table]
        return leaf, self._table

    def _spend(self, rows: Held) -> Held:
        self._left -= len(rows)
        if self._left < 0:
            raise TooDear("more rows than an engine computes in the same time")
        return rows


def _named(held: Held, own: tuple[str, ...], names: tuple[str, ...]) -> Held:
    """Some columns of some rows, under other names."""
    if own == held.names:
        return Held(names, held.kinds, held.rows)
    places = [held.names.index(name) for name in own]
    rows = [tuple(row[place] for place in places) for row in held.rows]
    return Held(names, tuple(held.kinds[place] for place in places), rows)
