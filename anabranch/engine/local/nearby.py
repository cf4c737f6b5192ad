"""A refresh whose change is few rows, computed in this process: see `here`.

What it reads are files, read by Arrow as long as they are small, and what it has to ask the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from anabranch.algebra.plan import Delta, Materialised, Plan, Project, Scan, StoredResult, Values, subplans
from anabranch.algebra.scalar import Literal, Scalar
from anabranch.algebra.transform import transform_up
from anabranch.algebra.weights import HasWeightColumn
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.base import Engine, Frame
from anabranch.engine.local.held import Held, in_kinds
from anabranch.engine.local.interpret import Keyed, TooDear, interpret
from anabranch.engine.local.kinds import Elsewhere, Kind
from anabranch.engine.local.reach import Leaf
from anabranch.engine.local.values import arrow_rows, held_rows, kinds_of
from anabranch.engine.render.dialect import Dialect
from anabranch.engine.render.statement import RenderedStatement, render
from anabranch.errors import AnabranchError, EngineMemory
from anabranch.names import WEIGHT

if TYPE_CHECKING:
    from anabranch.refresh.inputs import Sources
    from anabranch.write.working_table import WorkingTable

FETCHED = 200_000
"""Rows that an answer of the engine's may have."""
FOUND = 4_000_000
"""Values that may be found by looking into files here."""
_CONSTANTS: WeakKeyDictionary[Engine, dict[Scalar, tuple[Kind, Any]]] = WeakKeyDictionary()


def computed_here(
    plan: Plan, table: WorkingTable, sources: Sources, known: RelationFacts, *, questions: int
) -> Held | None:
    """A change of what a table stores, in its columns and types; None if that isn't for here."""
    most = sources.context.settings["driver_rows"]
    if most == 0:
        return None
    try:
        wanted = kinds_of(table.schema)
        held = interpret(plan, Nearby(sources, table, known, most), questions=questions)
        return in_kinds(held, wanted)
    except EngineMemory:
        raise
    except (TooDear, Elsewhere, RecursionError, AnabranchError):
        # An error may be due to the order in which parts were computed. If not, the engine says it again.
        return None


class Nearby:
    """What a refresh reads, as `here` asks for it."""

    def __init__(self, sources: Sources, table: WorkingTable, known: RelationFacts, most: int) -> None:
        self._sources, self._table, self._known = sources, table, known
        self._engine = sources.context.engine
        self.most = most

    def is_large(self, leaf: Leaf) -> bool:
        """Whether a relation has more rows than are held here."""
        match leaf:
            case StoredResult():
                return sum(file.rows for file in self._table.live_files().values()) > self.most
            case Scan():
                return self._sources.has_many(leaf, self.most)
            case _:
                return False

    def count(self, leaf: Scan | StoredResult) -> int:
        """How many rows a relation has."""
        return self._sources.count_leaf_rows(leaf, self._table)

    def rows(self, leaf: Leaf) -> Held:
        """The rows of a relation that isn't large."""
        if isinstance(leaf, Materialised):
            raise TooDear("rows of another statement")
        found = self._sources.read_arrow(leaf, self._table)
        if found is None:
            raise TooDear("more than is read here")
        return held_rows(found, leaf.names, weight=isinstance(leaf, Delta))

    def look_up(self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed]) -> Held | None:
        """The rows of a large relation that have one of the values in each of some columns."""
        found = self._sources.look_up_rows(leaf, keys, self._table, FOUND // max(len(leaf.columns), 2))
        return None if found is None else held_rows(found, leaf.names)

    def ask(self, plan: Plan, cuts: Mapping[str, Held]) -> Held:
        """The rows of a plan, computed by the engine."""
        named, handed = _numbered(plan)
        rendered = _rendered(named, self._engine.dialect, self._known)
        frames = {key: self._frame(leaf, cuts, handed) for key, leaf in rendered.leaves}
        found = self._engine.collect(self._engine.run_query(rendered.template, frames))
        if found is None or found.num_rows > FETCHED:
            raise TooDear("a long answer")
        return held_rows(found, plan.names, weight=HasWeightColumn()(plan))

    def _frame(self, leaf: Leaf, cuts: Mapping[str, Held], handed: Mapping[str, str]) -> Frame:
        match leaf:
            case Materialised(name):
                held = cuts[handed[name]]
                weight = None if held.weights is None else WEIGHT
                return self._engine.from_arrow(arrow_rows(held, held.names, weight))
            case StoredResult():
                return self._sources.scan_stored_rows(self._table)
            case Scan() | Delta():
                return self._sources.scan_leaf(leaf)

    @property
    def divides_decimals(self) -> bool:
        """Whether the engine's quotient of two decimals is a decimal, as here."""
        return self._engine.dialect.divides_decimals

    def value(self, scalar: Scalar) -> tuple[Kind, Any]:
        """The value of a constant, and its type, as the engine says."""
        known = _CONSTANTS.setdefault(self._engine, {})
        if scalar not in known:
            known[scalar] = self._asked(scalar)
        return known[scalar]

    def _asked(self, scalar: Scalar) -> tuple[Kind, Any]:
        one = Project(Values(("one",), ((Literal(1),),)), (("value", scalar),))
        rendered = render(one, self._engine.dialect)
        try:
            found = self._engine.collect(self._engine.run_query(rendered.template, {}))
        except AnabranchError as error:
            # An interval by itself, say. Where it matters, the engine says it again.
            raise Elsewhere(str(error)) from error
        if found is None:
            raise Elsewhere("a constant that can't be held here")
        held = held_rows(found, ("value",))
        return held.kinds[0], held.rows[0][0]


def _numbered(plan: Plan) -> tuple[Plan, Mapping[str, str]]:
    """A question whose cuts are numbered as they stand in it: asked again, it is the same text."""
    names = [part.name for part in subplans(plan) if isinstance(part, Materialised)]
    numbers = {name: f"held_{number}" for number, name in enumerate(dict.fromkeys(names))}

    def renamed(part: Plan) -> Plan:
        return replace(part, name=numbers[part.name]) if isinstance(part, Materialised) else part

    return transform_up(plan, renamed), {number: name for name, number in numbers.items()}


@lru_cache(maxsize=1024)
def _rendered(plan: Plan, dialect: Dialect, known: RelationFacts) -> RenderedStatement:
    return render(plan, dialect, known=known)
