"""Which parts of a change plan stand in one partition, given how large the relations are that it reads.

There, grouping and joining need no rows from elsewhere: no exchange between tasks, each of which is a job of
its own on an engine, whatever it carries. Where a change has met a large table, its rows are spread over the
tasks that read it; they are gathered by the first operator that needs them so. Groups that are computed anew
aren't gathered before: there may be many rows in few groups, and tasks add their own up first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Distinct,
    Filter,
    Generate,
    Join,
    Materialised,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    SetOp,
    StoredResult,
    Support,
    Tally,
    Top,
    UnionAll,
    Values,
    Window,
)
from anabranch.algebra.plan_predicate import PlanPredicate
from anabranch.delta.small_subplans import IsSmall


@dataclass(frozen=True)
class RelationFacts:
    """What is known of the relations that a statement reads, when it is about to run."""

    few: bool = True
    """Whether the changes are so small that joins may broadcast what comes from them."""
    changes: bool = True
    """Whether the changes are so small that one task computes with them."""
    stored: bool = False
    """Whether the stored result is so small."""
    tables: frozenset[str] = frozenset()
    """The tables that are so small."""
    exact: frozenset[tuple[str, str]] = frozenset()
    """Columns of tables whose values are equal only if they are the same in all respects."""
    scans: bool = False
    """Whether finding rows takes reading a table from end to end, as an engine does, not a look-up."""
    lookups: frozenset[str] = frozenset()
    """Tables of which rows with known keys are looked up first, and handed to the engine."""
    readable: frozenset[str] = frozenset()
    """Tables of which whole columns can be read without an engine, being no larger than the changes."""

    def without_look_ups(self) -> RelationFacts:
        """The same where the engine finds all rows."""
        return replace(self, lookups=frozenset(), readable=frozenset())


NOTHING = RelationFacts(few=False, changes=False)


class InSinglePartition(PlanPredicate):
    """Whether a part's rows stand in one partition, once what needs it has gathered its input."""

    def __init__(self, known: RelationFacts, small: IsSmall) -> None:
        super().__init__()
        self._given, self._small = known, small

    def broadcast_side(self, join: Join) -> Plan | None:
        """The side of a join that is broadcast: the small one, if the kind of join lets it be."""
        may = {
            "left": join.kind == "inner" and self._small(join.left),
            "right": join.kind != "full" and self._small(join.right),
        }
        if may["left"] and may["right"]:
            # Both are small: the side that stays should be in one partition.
            return join.left if self(join.right) else join.right
        if may["right"]:
            return join.right
        return join.left if may["left"] else None

    def _decide(self, plan: Plan) -> bool:
        match plan:
            case Delta():
                return self._given.changes
            case Materialised():
                return self._given.changes and plan.few
            case StoredResult():
                return self._given.stored
            case Scan(table):
                return table in self._given.tables
            case Values():
                return True
            case Aggregate(_, keys) | Tally(_, keys) if not keys:
                return True
            case Top(_, _, limit) if limit is not None:
                return True
            case Net() | Support() | Tally():
                return self(plan.input) or (self._given.changes and self._small(plan.input))
            case Filter() | Project() | Generate() | Negate() | Rows() | Distinct():
                return self(plan.input)
            case Aggregate() | Window() | Top():
                return self(plan.input)
            case UnionAll() | SetOp():
                return all(self(part) for part in plan.inputs)
            case Join(left, right):
                if self(left) and self(right):
                    return True
                sent = self.broadcast_side(plan)
                return sent is not None and self(right if sent is left else left)
