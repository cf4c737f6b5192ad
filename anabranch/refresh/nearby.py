"""A refresh whose change is few rows, computed in this process: see `here`.

What it reads are files, read by Arrow as long as they are small, and what it has to ask the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from anabranch.algebra.plan import Cut, Delta, Plan, Project, Scan, Stored, Values, subplans
from anabranch.algebra.rebuild import rebuild
from anabranch.algebra.scalar import Literal, Scalar
from anabranch.algebra.weights import Weighted
from anabranch.delta.together import Known
from anabranch.engine.base import Engine, Frame
from anabranch.errors import AnabranchError, EngineMemory
from anabranch.here.held import Held, in_kinds
from anabranch.here.interpret import Keyed, TooDear, interpret
from anabranch.here.kinds import Elsewhere, Kind
from anabranch.here.reach import Leaf
from anabranch.refresh.sources import Sources
from anabranch.render.dialect import Dialect
from anabranch.render.statement import WEIGHT, Rendered, render
from anabranch.storage.values import arrow_rows, held_rows, kinds_of
from anabranch.write.working import WorkingTable

FETCHED = 200_000
"""Rows that an answer of the engine's may have."""
FOUND = 4_000_000
"""Values that may be found by looking into files here."""
_CONSTANTS: WeakKeyDictionary[Engine, dict[Scalar, tuple[Kind, Any]]] = WeakKeyDictionary()


def computed_here(
    plan: Plan, table: WorkingTable, sources: Sources, known: Known, *, questions: int
) -> Held | None:
    """A change of what a table stores, in its columns and types; None if that isn't for here."""
    most = sources.parts.settings["driver_rows"]
    if most == 0:
        return None
    try:
        wanted = kinds_of(table.schema)
        held = interpret(plan, _Nearby(sources, table, known, most), questions=questions)
        return in_kinds(held, wanted)
    except EngineMemory:
        raise
    except (TooDear, Elsewhere, RecursionError, AnabranchError):
        # An error may be due to the order in which parts were computed. If not, the engine says it again.
        return None


class _Nearby:
    """What a refresh reads, as `here` asks for it."""

    def __init__(self, sources: Sources, table: WorkingTable, known: Known, most: int) -> None:
        self._sources, self._table, self._known = sources, table, known
        self._engine = sources.parts.engine
        self.most = most

    def is_large(self, leaf: Leaf) -> bool:
        match leaf:
            case Stored():
                return sum(file.rows for file in self._table.live().values()) > self.most
            case Scan():
                return self._sources.has_many(leaf, self.most)
            case _:
                return False

    def count(self, leaf: Scan | Stored) -> int:
        return self._sources.rows_of(leaf, self._table)

    def rows(self, leaf: Scan | Delta | Stored) -> Held:
        found = self._sources.arrow(leaf, self._table)
        if found is None:
            raise TooDear("more than is read here")
        return held_rows(found, leaf.names, weight=isinstance(leaf, Delta))

    def look_up(self, leaf: Scan | Stored, keys: Mapping[str, Keyed]) -> Held | None:
        found = self._sources.looked_up(leaf, keys, self._table, FOUND // max(len(leaf.columns), 2))
        return None if found is None else held_rows(found, leaf.names)

    def ask(self, plan: Plan, cuts: Mapping[str, Held]) -> Held:
        named, handed = _numbered(plan)
        rendered = _rendered(named, self._engine.dialect, self._known)
        frames = {key: self._frame(leaf, cuts, handed) for key, leaf in rendered.leaves}
        found = self._engine.collected(self._engine.query(rendered.template, frames))
        if found is None or found.num_rows > FETCHED:
            raise TooDear("a long answer")
        return held_rows(found, plan.names, weight=Weighted()(plan))

    def _frame(self, leaf: Leaf, cuts: Mapping[str, Held], handed: Mapping[str, str]) -> Frame:
        match leaf:
            case Cut(name):
                held = cuts[handed[name]]
                weight = None if held.weights is None else WEIGHT
                return self._engine.from_arrow(arrow_rows(held, held.names, weight))
            case Stored():
                return self._sources.stored(self._table)
            case Scan() | Delta():
                return self._sources.frame(leaf)

    def value(self, scalar: Scalar) -> tuple[Kind, Any]:
        known = _CONSTANTS.setdefault(self._engine, {})
        if scalar not in known:
            known[scalar] = self._asked(scalar)
        return known[scalar]

    def _asked(self, scalar: Scalar) -> tuple[Kind, Any]:
        one = Project(Values(("one",), ((Literal(1),),)), (("value", scalar),))
        rendered = render(one, self._engine.dialect)
        try:
            found = self._engine.collected(self._engine.query(rendered.template, {}))
        except AnabranchError as error:
            # An interval by itself, say. Where it matters, the engine says it again.
            raise Elsewhere(str(error)) from error
        if found is None:
            raise Elsewhere("a constant that can't be held here")
        held = held_rows(found, ("value",))
        return held.kinds[0], held.rows[0][0]


def _numbered(plan: Plan) -> tuple[Plan, Mapping[str, str]]:
    """A question whose cuts are numbered as they stand in it: asked again, it is the same text."""
    names = [part.name for part in subplans(plan) if isinstance(part, Cut)]
    numbers = {name: f"held_{number}" for number, name in enumerate(dict.fromkeys(names))}

    def renamed(part: Plan) -> Plan:
        return replace(part, name=numbers[part.name]) if isinstance(part, Cut) else part

    return rebuild(plan, renamed), {number: name for name, number in numbers.items()}


@lru_cache(maxsize=1024)
def _rendered(plan: Plan, dialect: Dialect, known: Known) -> Rendered:
    return render(plan, dialect, known=known)
