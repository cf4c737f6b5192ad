"""The last step of a change, computed in this process: the engine has left a few rows, and few are stored.

Adding some groups to a small stored result takes an engine a statement of a tenth of a second and more,
whatever there is to add. Here it takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anabranch.algebra.plan import Delta, Materialised, Plan, Scan, StoredResult, subplans
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.local.held import Held, in_kinds
from anabranch.engine.local.interpret import Keyed, TooDear, interpret
from anabranch.engine.local.kinds import Elsewhere
from anabranch.engine.local.nearby import Nearby
from anabranch.engine.local.reach import Leaf
from anabranch.engine.local.values import held_rows, kinds_of
from anabranch.errors import AnabranchError
from anabranch.names import WEIGHT

if TYPE_CHECKING:
    from anabranch.refresh.inputs import Sources
    from anabranch.write.working_table import WorkingTable

FINISHED_ROWS = 50_000
"""Rows of all relations together up to which a last step is computed in this process."""


def finish_locally(
    plan: Plan, table: WorkingTable, sources: Sources, steps: Mapping[str, Any]
) -> Held | None:
    """The rows of a last step; `steps` are the earlier ones, as Arrow data. None if it is the engine's."""
    world = _LastStep(sources, table, steps)
    leaves = [part for part in subplans(plan) if isinstance(part, Leaf)]
    if not all(world.has(leaf) for leaf in leaves):
        return None
    if sum(world.count(leaf) for leaf in leaves if not isinstance(leaf, Delta)) > FINISHED_ROWS:
        return None
    try:
        return in_kinds(interpret(plan, world, questions=0), kinds_of(table.schema))
    except (TooDear, Elsewhere, RecursionError, AnabranchError):
        # An error may be due to the order in which parts were computed. If not, the engine says it again.
        return None


class _LastStep(Nearby):
    """Rows of earlier steps, stored rows, and tables as small as those."""

    def __init__(self, sources: Sources, table: WorkingTable, steps: Mapping[str, Any]) -> None:
        super().__init__(sources, table, RelationFacts(), FINISHED_ROWS)
        self._steps = steps

    def has(self, leaf: Leaf) -> bool:
        """Whether the rows of a leaf are at hand: of changes, those that the engine has left of others."""
        match leaf:
            case Materialised(name):
                return name in self._steps
            case Delta(table):
                return self._sources.has_few_state_changes(table, FINISHED_ROWS)
            case _:
                return True

    def is_large(self, leaf: Leaf) -> bool:
        return False

    def count(self, leaf: Scan | StoredResult | Materialised) -> int:
        if isinstance(leaf, Materialised):
            return int(self._steps[leaf.name].num_rows)
        return super().count(leaf)

    def rows(self, leaf: Leaf) -> Held:
        if not isinstance(leaf, Materialised):
            return super().rows(leaf)
        columns = [own for _, own in leaf.columns] + ([WEIGHT] if leaf.weighted else [])
        return held_rows(self._steps[leaf.name].select(columns), leaf.names, weight=leaf.weighted)

    def look_up(self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed]) -> Held | None:
        return None

    def ask(self, plan: Plan, cuts: Mapping[str, Held]) -> Held:
        raise TooDear("a question to the engine")
