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
    StoredResult,
    Top,
    UnionAll,
    Window,
)
from anabranch.algebra.scalar import Ref, Scalar, all_of, null_safe_equal
from anabranch.delta import differentiate
from anabranch.delta.affected_keys import KEY, affected_keys, affected_rows, restrict_to_keys
from anabranch.delta.aggregate_state import AggregateState, add_change_to_groups, exact_state
from anabranch.delta.both_ends import Origins
from anabranch.delta.interval_ends import Change, at_until
from anabranch.delta.restrict_groups import restrict_groups

HIDDEN = "__h"
OLD = "__o"

Types = Callable[[Plan], Mapping[str, str]]
"""The types of a plan's columns, in Spark's words: only the engine knows them."""


@dataclass(frozen=True)
class MaintenancePlan:
    """How a query's rows are stored, and how they change."""

    stored: Plan
    """The query's columns, then the hidden ones."""
    columns: tuple[str, ...]
    """The stored names, in the same order."""
    change: Plan
    """What becomes of the stored rows, over changes, both ends, and the rows stored so far."""
    strategy: str
    reason: str
    origins: Origins = ()
    """Of which subplans parts of the change are the change."""

    @property
    def hidden_columns(self) -> tuple[str, ...]:
        """The stored columns that the query doesn't show."""
        return tuple(name for name in self.columns if name.startswith(HIDDEN))


def plan_maintenance(plan: Plan, columns: Sequence[str], types: Types) -> MaintenancePlan:
    """Choose what to store and how to maintain it; `columns` are the names of the query's columns."""
    origins: dict[Plan, Plan] = {}

    def differentiate_part(part: Plan) -> Plan:
        return differentiate(part, lambda aggregate: exact_state(aggregate, types), origins)

    chosen = _choose_strategy(restrict_groups(plan), tuple(columns), types, differentiate_part)
    return replace(chosen, origins=tuple(origins.items()))


def _choose_strategy(
    plan: Plan, names: tuple[str, ...], types: Types, differentiate_part: Change
) -> MaintenancePlan:
    top = _split_root(plan)
    match top.core:
        case Aggregate() as core if not top.has_filter and (state := exact_state(core, types)):
            return _maintain_stored_state(top, state, names, differentiate_part(state.aggregate.input))
        case Aggregate() as core:
            keys = [Ref(name) for name, _ in core.keys]
            if not keys:
                return _maintain_by_recompute(top, names, "the one group there is")
            grouped = [key for _, key in core.keys]
            touched = affected_keys(differentiate_part(core.input), grouped)
            new: Plan = replace(core, input=restrict_to_keys(at_until(core.input), grouped, touched))
            return _maintain_affected_keys(top, names, keys, touched, new, "groups that the change touches")
        case Distinct() as core:
            keys = [Ref(name) for name in core.names]
            touched = affected_keys(differentiate_part(core.input), keys)
            new = Distinct(restrict_to_keys(at_until(core.input), keys, touched))
            return _maintain_affected_keys(top, names, keys, touched, new, "rows that the change touches")
        case SetOp() as core:
            keys = [Ref(name) for name in core.names]
            touched = affected_rows(core, differentiate_part)
            new = replace(
                core,
                left=restrict_to_keys(at_until(core.left), keys, touched),
                right=restrict_to_keys(
                    at_until(core.right), [Ref(name) for name in core.right.names], touched
                ),
            )
            return _maintain_affected_keys(top, names, keys, touched, new, "rows that the change touches")
        case Window() as core if all(isinstance(key, Ref) for key in core.calls[0][1].partition):
            keys = [key for key in core.calls[0][1].partition if isinstance(key, Ref)]
            if not keys:
                return _maintain_by_recompute(top, names, "the one partition there is")
            touched = affected_keys(differentiate_part(core.input), keys)
            new = replace(core, input=restrict_to_keys(at_until(core.input), keys, touched))
            return _maintain_affected_keys(
                top, names, keys, touched, new, "partitions that the change touches"
            )
        case Top():
            return _maintain_by_recompute(top, names, "the first rows")
        case _:
            reason = "the change of the inputs says it all"
            return MaintenancePlan(plan, names, Net(differentiate_part(plan)), "change", reason)


# -- the plan's top -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RootOperator:
    """What decides how a query is stored, and the projections and filters above it, lowest first."""

    core: Plan
    above: tuple[Project | Filter, ...]

    @property
    def has_filter(self) -> bool:
        return any(isinstance(node, Filter) for node in self.above)

    def apply_to(self, core: Plan, carried: Sequence[str] = ()) -> Plan:
        """The same top over another core; `carried` columns of it are kept to the end."""
        result = core
        for node in self.above:
            match node:
                case Filter(_, condition):
                    result = Filter(result, condition)
                case Project(_, items):
                    result = Project(result, (*items, *((name, Ref(name)) for name in carried)))
        return result

    def output_name(self, name: str) -> str | None:
        """Under which name the query shows a column of the core, if it does."""
        for node in self.above:
            if isinstance(node, Project):
                found = next((new for new, scalar in node.items if scalar == Ref(name)), None)
                if found is None:
                    return None
                name = found
        return name


def _split_root(plan: Plan) -> _RootOperator:
    # The query's own columns are named even where nothing chooses among them: hidden ones may join them.
    above: list[Project | Filter] = [Project(plan, tuple((name, Ref(name)) for name in plan.names))]
    while isinstance(plan, Project | Filter):
        above.append(plan)
        plan = plan.input
    return _RootOperator(plan, tuple(reversed(above)))


@dataclass(frozen=True)
class _StoredColumns:
    """The stored columns: their plan, their names, and where the core's columns are among them."""

    plan: Plan
    columns: tuple[str, ...]
    places: Mapping[str, str]

    @property
    def hidden_core_columns(self) -> tuple[str, ...]:
        """The core's columns that are stored hidden."""
        return tuple(name for name, place in self.places.items() if place.startswith(HIDDEN))

    @property
    def stored_result(self) -> StoredResult:
        """What is stored, under names that nothing else has."""
        return StoredResult(tuple((f"{OLD}{place}", name) for place, name in enumerate(self.columns)))

    def stored_ref(self, name: str) -> Ref:
        """A column of the core, as it is stored."""
        return Ref(f"{OLD}{self.columns.index(self.places[name])}")


def _choose_stored_columns(
    top: _RootOperator, core: Plan, names: tuple[str, ...], needed: Sequence[str]
) -> _StoredColumns:
    """Store a query so that some columns of its core can be read back."""
    plain = top.apply_to(core)
    shown = dict(zip(plain.names, names, strict=True))
    places: dict[str, str] = {}
    carried: list[str] = []
    for name in needed:
        visible = top.output_name(name)
        if visible is not None:
            places[name] = shown[visible]
        else:
            places[name] = f"{HIDDEN}{len(carried)}"
            carried.append(name)
    hidden = tuple(f"{HIDDEN}{place}" for place in range(len(carried)))
    return _StoredColumns(top.apply_to(core, carried), names + hidden, places)


# -- the two ways ---------------------------------------------------------------------------------


def _maintain_affected_keys(
    top: _RootOperator, names: tuple[str, ...], keys: Sequence[Ref], touched: Plan, new: Plan, what: str
) -> MaintenancePlan:
    """Compute the touched keys anew, and take back what is stored under them."""
    needed = list(dict.fromkeys(key.name for key in keys))
    storage = _choose_stored_columns(top, top.core, names, needed)
    old = Join(
        storage.stored_result,
        touched,
        "semi",
        _stored_key_condition([storage.stored_ref(key.name) for key in keys]),
    )
    change = Net(UnionAll((top.apply_to(new, storage.hidden_core_columns), Negate(old))))
    return MaintenancePlan(storage.plan, storage.columns, change, "affected keys", f"recomputes the {what}")


def _maintain_by_recompute(top: _RootOperator, names: tuple[str, ...], what: str) -> MaintenancePlan:
    """Without keys: compute all of it, and take back all that is stored."""
    storage = _choose_stored_columns(top, top.core, names, ())
    change = Net(UnionAll((at_until(storage.plan), Negate(storage.stored_result))))
    return MaintenancePlan(storage.plan, storage.columns, change, "recompute", f"computes {what} anew")


def _maintain_stored_state(
    top: _RootOperator, state: AggregateState, names: tuple[str, ...], change: Plan
) -> MaintenancePlan:
    """Add what the change says to what is stored."""
    storage = _choose_stored_columns(top, state.aggregate, names, state.needed)
    groups = add_change_to_groups(state, change, storage.stored_result, storage.stored_ref)
    keys = [storage.stored_ref(name) for name, _ in state.aggregate.keys]
    old: Plan = (
        Join(storage.stored_result, groups.touched, "semi", _stored_key_condition(keys))
        if keys
        else storage.stored_result
    )
    change = Net(UnionAll((top.apply_to(groups.new, storage.hidden_core_columns), Negate(old))))
    return MaintenancePlan(
        storage.plan, storage.columns, change, "stored state", "adds the change to stored counts and sums"
    )


def _stored_key_condition(old: Sequence[Scalar]) -> Scalar:
    return all_of(null_safe_equal(key, Ref(f"{KEY}{place}")) for place, key in enumerate(old))
