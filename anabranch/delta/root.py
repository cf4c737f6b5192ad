"""The top of a query: what is stored serves as the old result.

Below the root, an operator that isn't linear is computed at both ends of the interval. At the root the
old end stands in the table already, so only the new end is computed, and what it replaces is read:

    Δ(f(R)) = f(R₁ ⋉ K) - (stored ⋉ K)

Counts, sums and averages of exact types need not even that: the change says what to add.

    Δ(γ(R)) = (stored + tally(ΔR)) - stored,  over the groups that ΔR touches

Columns that this needs and that the query doesn't show are stored beside the others, hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.algebra.plan import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    SetOp,
    Stored,
    Top,
    UnionAll,
    Window,
)
from anabranch.algebra.scalar import Ref, Scalar, all_of, same
from anabranch.delta import differentiate
from anabranch.delta.affected import KEY, restricted, touched_keys, touched_rows
from anabranch.delta.ends import until
from anabranch.delta.state import State, exact_state, new_groups

HIDDEN = "__h"
OLD = "__o"

Types = Callable[[Plan], Mapping[str, str]]
"""The types of a plan's columns, in Spark's words: only the engine knows them."""


@dataclass(frozen=True)
class Maintained:
    """How a query's rows are stored, and how they change."""

    stored: Plan
    """The query's columns, then the hidden ones."""
    columns: tuple[str, ...]
    """The stored names, in the same order."""
    change: Plan
    """What becomes of the stored rows, over changes, both ends, and the rows stored so far."""
    strategy: str
    reason: str

    @property
    def hidden(self) -> tuple[str, ...]:
        """The stored columns that the query doesn't show."""
        return tuple(name for name in self.columns if name.startswith(HIDDEN))


def maintained(plan: Plan, columns: Sequence[str], types: Types) -> Maintained:
    """Choose what to store and how to maintain it; `columns` are the names of the query's columns."""
    top = _peeled(plan)
    names = tuple(columns)

    def changed(part: Plan) -> Plan:
        return differentiate(part, lambda aggregate: exact_state(aggregate, types))

    match top.core:
        case Aggregate() as core if not top.filtered and (state := exact_state(core, types)):
            return _from_state(top, state, names, changed(state.aggregate.input))
        case Aggregate() as core:
            keys = [Ref(name) for name, _ in core.keys]
            if not keys:
                return _anew(top, names, "the one group there is")
            grouped = [key for _, key in core.keys]
            touched = touched_keys(changed(core.input), grouped)
            new: Plan = replace(core, input=restricted(until(core.input), grouped, touched))
            return _from_rows(top, names, keys, touched, new, "groups that the change touches")
        case Distinct() as core:
            keys = [Ref(name) for name in core.names]
            touched = touched_keys(changed(core.input), keys)
            new = Distinct(restricted(until(core.input), keys, touched))
            return _from_rows(top, names, keys, touched, new, "rows that the change touches")
        case SetOp() as core:
            keys = [Ref(name) for name in core.names]
            touched = touched_rows(core, changed)
            new = replace(
                core,
                left=restricted(until(core.left), keys, touched),
                right=restricted(until(core.right), [Ref(name) for name in core.right.names], touched),
            )
            return _from_rows(top, names, keys, touched, new, "rows that the change touches")
        case Window() as core if all(isinstance(key, Ref) for key in core.calls[0][1].partition):
            keys = [key for key in core.calls[0][1].partition if isinstance(key, Ref)]
            if not keys:
                return _anew(top, names, "the one partition there is")
            touched = touched_keys(changed(core.input), keys)
            new = replace(core, input=restricted(until(core.input), keys, touched))
            return _from_rows(top, names, keys, touched, new, "partitions that the change touches")
        case Top():
            return _anew(top, names, "the first rows")
        case _:
            reason = "the change of the inputs says it all"
            return Maintained(plan, names, Net(changed(plan)), "change", reason)


# -- the plan's top -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Top:
    """What decides how a query is stored, and the projections and filters above it, lowest first."""

    core: Plan
    above: tuple[Project | Filter, ...]

    @property
    def filtered(self) -> bool:
        return any(isinstance(node, Filter) for node in self.above)

    def over(self, core: Plan, carried: Sequence[str] = ()) -> Plan:
        """The same top over another core; `carried` columns of it are kept to the end."""
        result = core
        for node in self.above:
            match node:
                case Filter(_, condition):
                    result = Filter(result, condition)
                case Project(_, items):
                    result = Project(result, (*items, *((name, Ref(name)) for name in carried)))
        return result

    def shown(self, name: str) -> str | None:
        """Under which name the query shows a column of the core, if it does."""
        for node in self.above:
            if isinstance(node, Project):
                found = next((new for new, scalar in node.items if scalar == Ref(name)), None)
                if found is None:
                    return None
                name = found
        return name


def _peeled(plan: Plan) -> _Top:
    # The query's own columns are named even where nothing chooses among them: hidden ones may join them.
    above: list[Project | Filter] = [Project(plan, tuple((name, Ref(name)) for name in plan.names))]
    while isinstance(plan, Project | Filter):
        above.append(plan)
        plan = plan.input
    return _Top(plan, tuple(reversed(above)))


@dataclass(frozen=True)
class _Storage:
    """The stored columns: their plan, their names, and where the core's columns are among them."""

    plan: Plan
    columns: tuple[str, ...]
    places: Mapping[str, str]

    @property
    def carried(self) -> tuple[str, ...]:
        """The core's columns that are stored hidden."""
        return tuple(name for name, place in self.places.items() if place.startswith(HIDDEN))

    @property
    def rows(self) -> Stored:
        """What is stored, under names that nothing else has."""
        return Stored(tuple((f"{OLD}{place}", name) for place, name in enumerate(self.columns)))

    def old(self, name: str) -> Ref:
        """A column of the core, as it is stored."""
        return Ref(f"{OLD}{self.columns.index(self.places[name])}")


def _storage(top: _Top, core: Plan, names: tuple[str, ...], needed: Sequence[str]) -> _Storage:
    """Store a query so that some columns of its core can be read back."""
    plain = top.over(core)
    shown = dict(zip(plain.names, names, strict=True))
    places: dict[str, str] = {}
    carried: list[str] = []
    for name in needed:
        visible = top.shown(name)
        if visible is not None:
            places[name] = shown[visible]
        else:
            places[name] = f"{HIDDEN}{len(carried)}"
            carried.append(name)
    hidden = tuple(f"{HIDDEN}{place}" for place in range(len(carried)))
    return _Storage(top.over(core, carried), names + hidden, places)


# -- the two ways ---------------------------------------------------------------------------------


def _from_rows(
    top: _Top, names: tuple[str, ...], keys: Sequence[Ref], touched: Plan, new: Plan, what: str
) -> Maintained:
    """Compute the touched keys anew, and take back what is stored under them."""
    needed = list(dict.fromkeys(key.name for key in keys))
    storage = _storage(top, top.core, names, needed)
    old = Join(storage.rows, touched, "semi", _same([storage.old(key.name) for key in keys]))
    change = Net(UnionAll((top.over(new, storage.carried), Negate(old))))
    return Maintained(storage.plan, storage.columns, change, "affected keys", f"recomputes the {what}")


def _anew(top: _Top, names: tuple[str, ...], what: str) -> Maintained:
    """Without keys: compute all of it, and take back all that is stored."""
    storage = _storage(top, top.core, names, ())
    change = Net(UnionAll((until(storage.plan), Negate(storage.rows))))
    return Maintained(storage.plan, storage.columns, change, "recompute", f"computes {what} anew")


def _from_state(top: _Top, state: State, names: tuple[str, ...], change: Plan) -> Maintained:
    """Add what the change says to what is stored."""
    storage = _storage(top, state.aggregate, names, state.needed)
    groups = new_groups(state, change, storage.rows, storage.old)
    keys = [storage.old(name) for name, _ in state.aggregate.keys]
    old: Plan = Join(storage.rows, groups.touched, "semi", _same(keys)) if keys else storage.rows
    change = Net(UnionAll((top.over(groups.new, storage.carried), Negate(old))))
    return Maintained(
        storage.plan, storage.columns, change, "stored state", "adds the change to stored counts and sums"
    )


def _same(old: Sequence[Scalar]) -> Scalar:
    return all_of(same(key, Ref(f"{KEY}{place}")) for place, key in enumerate(old))
