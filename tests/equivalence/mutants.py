"""Rules that are deliberately wrong, each in one way. The suite must notice every one of them.

A mutant names what it replaces (`module:name`, as the module that uses it sees it) and what stands there
instead, which must take the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Distinct,
    Filter,
    Generate,
    IntervalEnd,
    Join,
    Materialised,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    SetOp,
    Support,
    Tally,
    Top,
    UnionAll,
    Window,
    empty,
    is_empty,
)
from anabranch.algebra.plan_text import scalar_text
from anabranch.algebra.scalar import (
    NULL,
    TRUE,
    Call,
    Ref,
    Scalar,
    all_of,
    conjuncts,
    equal,
    null_safe_equal,
    refs,
    rename_refs,
)
from anabranch.algebra.transform import transform_up
from anabranch.delta import (
    affected_keys,
    aggregate_state,
    both_ends,
    differentiate,
    hidden_state,
    join_order,
    key_bounds,
    look_ups,
    maintenance_plan,
    outer_join,
    push_semi_joins,
    simplify,
    since_from_until,
)
from anabranch.delta.interval_ends import at_since, at_until
from anabranch.delta.row_conditions import conditions_of_leaves
from anabranch.delta.small_subplans import IsSmall, equalities


@dataclass(frozen=True)
class Mutant:
    """One wrong rule."""

    name: str
    target: str
    wrong: Any


def _both(one: Plan, other: Plan) -> Plan:
    return UnionAll((one, other))


# -- inner join -----------------------------------------------------------------------------------


def _join(left: str, right: str) -> Callable[[Join, Any], Plan]:
    """ΔL ⋈ R<left> + L<right> ⋈ ΔR, with the ends named."""
    ends = {"0": at_since, "1": at_until}

    def rule(join: Join, change: Any) -> Plan:
        return _both(
            replace(join, left=change(join.left), right=ends[left](join.right)),
            replace(join, left=ends[right](join.left), right=change(join.right)),
        )

    return rule


def _only_left(join: Join, change: Any) -> Plan:
    return replace(join, left=change(join.left), right=at_until(join.right))


def _only_right(join: Join, change: Any) -> Plan:
    return replace(join, left=at_since(join.left), right=change(join.right))


def _second_subtracted(join: Join, change: Any) -> Plan:
    return _both(_only_left(join, change), Negate(_only_right(join, change)))


# -- left, semi, anti -----------------------------------------------------------------------------


def _preserved(
    *,
    own: bool = True,
    come: str | None = "1",
    go: str | None = "0",
    first: str = "1",
    touched: str = "0",
    sign: bool = True,
    keys: bool = True,
) -> Callable[[Join, Any], Plan]:
    ends = {"0": at_since, "1": at_until}

    def rule(join: Join, change: Any) -> Plan:
        changed = Support(Net(change(join.right))) if keys else Support(change(join.right))
        rows = Join(ends[touched](join.left), changed, "semi", join.on)
        parts: list[Plan] = []
        if own:
            parts.append(replace(join, left=change(join.left), right=ends[first](join.right)))
        if come is not None:
            parts.append(replace(join, left=rows, right=ends[come](join.right)))
        if go is not None:
            gone = replace(join, left=rows, right=ends[go](join.right))
            parts.append(Negate(gone) if sign else gone)
        return UnionAll(tuple(parts))

    return rule


def _touched_by_equality(join: Join, change: Any) -> Plan:
    """Affected rows found by the first conjunct alone, turned into its negation."""
    wrong = replace(join, on=all_of([join.on, equal(Ref(join.left.names[0]), Ref(join.right.names[0]))]))
    rows = Join(at_since(join.left), Support(Net(change(join.right))), "semi", wrong.on)
    return UnionAll(
        (
            replace(join, left=change(join.left), right=at_until(join.right)),
            replace(join, left=rows, right=at_until(join.right)),
            Negate(replace(join, left=rows, right=at_since(join.right))),
        )
    )


def _full_without_the_lonely(join: Join, change: Any) -> Plan:
    return outer_join.change_of_left_semi_anti_join(replace(join, kind="left"), change)


def _full_with_both_padded_wrong(join: Join, change: Any) -> Plan:
    left = replace(join, kind="left")
    alone = Join(join.right, join.left, "semi", join.on)
    items = tuple((name, NULL) for name in join.left.names) + tuple((n, Ref(n)) for n in join.right.names)
    return _both(
        outer_join.change_of_left_semi_anti_join(left, change),
        Project(outer_join.change_of_left_semi_anti_join(alone, change), items),
    )


def _full_as_inner_and_lonely(join: Join, change: Any) -> Plan:
    alone = Join(join.right, join.left, "anti", join.on)
    items = tuple((name, NULL) for name in join.left.names) + tuple((n, Ref(n)) for n in join.right.names)
    inner = _join("1", "0")(replace(join, kind="inner"), change)
    return _both(inner, Project(outer_join.change_of_left_semi_anti_join(alone, change), items))


# -- affected keys --------------------------------------------------------------------------------


def _keys_added_up_after_projecting(changed: Plan, keys: Any) -> Plan:
    items = [(f"__k{i}", key) for i, key in enumerate(keys)] or [("__k0", TRUE)]
    return Support(Net(Project(changed, tuple(items))))


def _null_is_no_key(plan: Plan, keys: Any, touched: Plan) -> Plan:
    return Join(plan, touched, "semi", all_of(equal(key, Ref(f"__k{i}")) for i, key in enumerate(keys)))


def _not_restricted(plan: Plan, keys: Any, touched: Plan) -> Plan:
    return Join(plan, touched, "anti", all_of(equal(key, Ref(f"__k{i}")) for i, key in enumerate(keys)))


def _by_whole_rows(rule: str) -> Callable[[Any, Any], Plan]:
    """Keys are whole rows where they should be groups, partitions or nothing."""

    def wrong(plan: Aggregate | Window | Top, change: Any) -> Plan:
        keys = [Ref(name) for name in plan.input.names]
        touched = affected_keys.affected_keys(change(plan.input), keys)
        return _both(
            replace(plan, input=affected_keys.restrict_to_keys(at_until(plan.input), keys, touched)),
            Negate(replace(plan, input=affected_keys.restrict_to_keys(at_since(plan.input), keys, touched))),
        )

    wrong.__name__ = rule
    return wrong


def _top_by_whole_rows(plan: Top) -> Plan:
    return _by_whole_rows("top")(plan, differentiate)


def _distinct_as_linear(plan: Distinct, change: Any) -> Plan:
    return change(plan.input)  # type: ignore[no-any-return]


def _distinct_of_the_change(plan: Distinct, change: Any) -> Plan:
    return Support(Net(change(plan.input)))


def _set_keys(sides: tuple[str, ...], flip: bool = False) -> Callable[[SetOp, Any], Plan]:
    def wrong(plan: SetOp, change: Any) -> Plan:
        refs = {side: [Ref(name) for name in getattr(plan, side).names] for side in ("left", "right")}
        parts = [affected_keys.affected_keys(change(getattr(plan, side)), refs[side]) for side in sides]
        touched = Distinct(UnionAll(tuple(parts)))
        made = []
        for end in (at_until, at_since):
            narrowed = {
                s: affected_keys.restrict_to_keys(end(getattr(plan, s)), refs[s], touched) for s in refs
            }
            made.append(replace(plan, **narrowed, all=not plan.all if flip else plan.all))
        return _both(made[0], Negate(made[1]))

    return wrong


def _group_of_the_change(plan: Aggregate, change: Any) -> Plan:
    """The aggregates of the changed rows alone, as if sums were all there is."""
    return replace(plan, input=Support(Net(change(plan.input))))


# -- simplification -------------------------------------------------------------------------------


def _push_always(kinds: tuple[type, ...]) -> Callable[[Plan, Plan, Any], Plan]:
    right_way = push_semi_joins.push_semi_join

    def wrong(plan: Plan, keys: Plan, on: Any) -> Plan:
        if isinstance(plan, kinds) and set(refs(on)) & set(plan.names) <= set(plan.inputs[0].names):
            return replace(plan, input=wrong(plan.inputs[0], keys, on))  # type: ignore[call-arg]
        return right_way(plan, keys, on)

    return wrong


def _push_into_full(join: Join, keys: Plan, on: Any) -> Plan:
    needed = set(refs(on)) & set(join.names)
    if needed <= set(join.left.names):
        return replace(join, left=Join(join.left, keys, "semi", on))
    return Join(join, keys, "semi", on)


def _push_into_padded(join: Join, keys: Plan, on: Any) -> Plan:
    needed = set(refs(on)) & set(join.names)
    if needed <= set(join.right.names) and join.kind == "left":
        return replace(join, right=Join(join.right, keys, "semi", on))
    return Join(join, keys, "semi", on)


def _restriction_lost(plan: Plan, keys: Plan, on: Any) -> Plan:
    return plan


def _partner_by_any_column(join: Join, keys: Plan, on: Any) -> Plan:
    renaming = dict.fromkeys(join.left.names, join.right.names[0])
    return Join(join.right, keys, "semi", rename_refs(on, renaming))


def _join_with_nothing_is_nothing(plan: Join) -> Plan:
    return empty(plan.names) if is_empty(plan.left) or is_empty(plan.right) else plan


def _anti_with_nothing_is_nothing(plan: Join) -> Plan:
    if plan.kind == "anti" and is_empty(plan.right):
        return empty(plan.names)
    return _join_as_it_is(plan)


_join_as_it_is = simplify._simplify_join
_flat_as_it_is = simplify._flatten_union


def _union_without_twins(plan: UnionAll) -> Plan:
    parts = tuple(dict.fromkeys(part for one in plan.parts for part in _flat_as_it_is(one)))
    return UnionAll(parts) if parts else empty(plan.names)


def _union_forgets_signs(plan: UnionAll) -> Plan:
    parts = [part.input if isinstance(part, Negate) else part for part in plan.parts]
    return UnionAll(tuple(parts))


def _everything_unchanged(plan: Plan, changed: Any) -> Plan:
    def known(part: Plan) -> Plan:
        return replace(part, at=IntervalEnd.UNTIL) if isinstance(part, Scan) else part

    return transform_up(plan, known)


def _changed_taken_for_unchanged(plan: Plan, changed: Any) -> Plan:
    def known(part: Plan) -> Plan:
        return empty(part.names) if isinstance(part, Delta) and part.table == "r" else part

    return transform_up(plan, known)


# -- the root -------------------------------------------------------------------------------------


def _all_that_is_stored(stored: Plan, touched: Plan, kind: Any, on: Any) -> Plan:
    return stored


def _compared_by(comparison: Callable[[Scalar, Scalar], Scalar], step: int = 1) -> Callable[[Any], Scalar]:
    """The stored keys against the touched ones, in another way or another order."""

    def wrong(old: list[Scalar]) -> Scalar:
        return all_of(comparison(key, Ref(f"__k{i}")) for i, key in enumerate(old[::step]))

    return wrong


_storage_as_it_is = maintenance_plan._choose_stored_columns


def _nothing_hidden(top: Any, core: Plan, names: tuple[str, ...], needed: Any) -> Any:
    """What the query doesn't show is looked for in its first column."""
    storage = _storage_as_it_is(
        top, core, names, [name for name in needed if top.output_name(name) is not None]
    )
    return replace(storage, places={**dict.fromkeys(needed, names[0]), **storage.places})


def _another_hidden(top: Any, core: Plan, names: tuple[str, ...], needed: Any) -> Any:
    """Hidden columns are read back in another order than they were stored in."""
    storage = _storage_as_it_is(top, core, names, needed)
    hidden = [name for name, place in storage.places.items() if place.startswith(maintenance_plan.HIDDEN)]
    swapped = {name: storage.places[other] for name, other in zip(hidden, reversed(hidden), strict=True)}
    return replace(storage, places={**storage.places, **swapped})


# -- state ----------------------------------------------------------------------------------------


_finished_as_it_is = aggregate_state._final_value
_exact_state_as_it_is = aggregate_state.exact_state
_new_groups_as_it_is = aggregate_state.add_change_to_groups


def _sums_never_null(known: aggregate_state.AggregateState, name: str) -> Scalar:
    return Ref(name) if name in known.sums else _finished_as_it_is(known, name)


def _averages_of_all_rows(known: aggregate_state.AggregateState, name: str) -> Scalar:
    """Divided by the number of rows, not of values."""
    rows = next((own for own, call in known.aggregate.calls if call == AggregateCall("count")), None)
    if name not in known.averages or rows is None:
        return _finished_as_it_is(known, name)
    return Call("/", (Ref(known.averages[name][1]), Ref(rows)))


def _rows_for_values(plan: Aggregate, types: Any) -> aggregate_state.AggregateState | None:
    """Whether a sum has values is told by the rows of its group."""
    found = _exact_state_as_it_is(plan, types)
    if found is None or not plan.keys:
        return found
    rows = next(name for name, call in found.aggregate.calls if call == AggregateCall("count"))
    return replace(found, sums={name: (kind, rows) for name, (kind, _) in found.sums.items()})


def _average_of_the_change(
    known: aggregate_state.AggregateState, change: Plan, stored: Any, old: Any
) -> aggregate_state.AffectedGroups:
    """The sums and counts below an average begin at zero every time."""
    parts = {part for _, *both in known.averages.values() for part in both}
    return _new_groups_as_it_is(known, change, stored, lambda name: NULL if name in parts else old(name))  # type: ignore[arg-type,return-value]


def _change_added(
    known: aggregate_state.AggregateState, change: Plan, stored: Plan, old: Any, *, sign: str
) -> aggregate_state.AffectedGroups:
    """What a change brings is added to what is there after it."""
    del sign
    return _new_groups_as_it_is(known, change, stored, old)


def _tally(change: Callable[[Tally], Tally]) -> Callable[..., Tally]:
    return lambda source, keys, calls: change(Tally(source, keys, calls))


def _unfiltered(tally: Tally) -> Tally:
    return replace(tally, calls=tuple((name, replace(call, where=None)) for name, call in tally.calls))


def _unweighted(tally: Tally) -> Tally:
    return replace(tally, input=Support(tally.input))


# -- order, cuts, pieces --------------------------------------------------------------------------


_push_join_as_it_is = push_semi_joins._push_below_join
_flat_joins_as_they_are = join_order._flatten_joins
_narrow_partners_as_it_is = join_order.reduce_right_sides
_askers_as_they_are = join_order._probe_plans
_over_as_it_is = since_from_until._replace_scan
_pieces_as_they_are = hidden_state.split_hidden_state


def _equated_across_padding(join: Join, keys: Plan, on: Any) -> Plan:
    """As if a padded NULL were equal to what found no partner."""
    if join.kind == "left":
        by_left = rename_refs(on, push_semi_joins._equal_columns(join.left, join.right, join))
        if not set(refs(by_left)) & set(join.right.names):
            return replace(join, left=push_semi_joins.push_semi_join(join.left, keys, by_left))
    return _push_join_as_it_is(join, keys, on)


def _equated_with_the_first(side: Plan, other: Plan, join: Join) -> dict[str, str]:
    found = [part.args for part in conjuncts(join.on) if isinstance(part, Call) and part.op == "="]
    names = {arg.name for args in found for arg in args if isinstance(arg, Ref)}
    return dict.fromkeys(sorted(names & set(other.names)), side.names[0])


def _outermost_conditions(join: Join) -> Any:
    relations, _ = _flat_joins_as_they_are(join)
    return relations, conjuncts(join.on)


def _columns_as_they_come(source: Plan, items: Any) -> Plan:
    return source if len(items) == len(source.names) else Project(source, items)


def _preserved_side_narrowed(plan: Plan, known: Any) -> Plan:
    """L ∘ ΔR becomes (L ⋉ ΔR) ∘ ΔR."""
    small = IsSmall()

    def narrowed(part: Plan) -> Plan:
        if not isinstance(part, Join) or part.kind not in ("left", "anti") or not small(part.right):
            return part
        pairs = equalities(part)
        keys = tuple((f"__n{i}", there) for i, (_, _, there) in enumerate(pairs))
        on = all_of(Call(op, (here, Ref(f"__n{i}"))) for i, (op, here, _) in enumerate(pairs))
        return replace(part, left=Join(part.left, Project(part.right, keys), "semi", on)) if keys else part

    return _narrow_partners_as_it_is(transform_up(plan, narrowed), known)


def _first_asker_only(plan: Plan, wanted: Any) -> Any:
    return {join: lefts[:1] for join, lefts in _askers_as_they_are(plan, wanted).items()}


def _change_as_it_comes(part: Plan, leaf: Scan | Delta) -> Plan:
    """The whole change of a table, where a part of it was looked up."""
    if isinstance(leaf, Scan) or isinstance(part, Project):
        return _over_as_it_is(part, leaf)
    return leaf


def _with_hidden_state(change: Callable[[Plan], Plan]) -> Callable[..., Any]:
    """The result over state, wrong; queries without state as they are."""

    def wrong(
        plan: Plan, columns: tuple[str, ...], table: str, inner_state: str
    ) -> tuple[hidden_state.HiddenState, ...]:
        *below, last = _pieces_as_they_are(plan, columns, table, inner_state)
        return (*below, replace(last, plan=change(last.plan)) if below else last)

    return wrong


def _without_filters(plan: Plan) -> Plan:
    return transform_up(plan, lambda part: part.input if isinstance(part, Filter) else part)


def _state_columns_reversed(plan: Plan) -> Plan:
    def reversed_(part: Plan) -> Plan:
        if not isinstance(part, Scan):
            return part
        names, own = zip(*part.columns, strict=True)
        return replace(part, columns=tuple(zip(names, reversed(own), strict=True)))

    return transform_up(plan, reversed_)


# -- tables that are read once --------------------------------------------------------------------


def _null_never_matters(name: str, *, null_safe: bool) -> Call:
    return Call("=", (Ref(name), Ref(look_ups.KEY)))


def _conditions_of_any_reader(found: Any) -> frozenset[Scalar]:
    return frozenset.union(*found)


def _conditions_of_every_reader(query: Plan) -> Any:
    found: dict[str, set[Scalar]] = {}
    for scan, conditions in conditions_of_leaves(query).items():
        found.setdefault(scan.table, set()).update(conditions)
    return {table: tuple(sorted(conditions, key=scalar_text)) for table, conditions in found.items()}


def _first_bound_only(members: Any, scans: Any) -> key_bounds.Bound:
    return next(bound for scan, bound in members if scan in scans)


def _null_is_no_touched_key(tagged: both_ends._Tagged, own: Scalar) -> Call:
    return Call("=", (own, Ref(both_ends.KEY)))


_demands_as_they_are = key_bounds._demands_of_sides


def _preserved_side_bounded(join: Join, demand: Any, bounds: key_bounds.KeyBounds) -> Any:
    kept = join.kind in ("left", "anti")
    return _demands_as_they_are(replace(join, kind="inner") if kept else join, demand, bounds)


def _never_repeated(plan: Plan) -> Plan:
    return transform_up(plan, lambda part: part.input if isinstance(part, Rows) else part)


DELTA = "anabranch.delta"
AFFECTED, RESTRICT, SIMPLIFY = f"{DELTA}.affected_keys", f"{DELTA}.push_semi_joins", f"{DELTA}.simplify"
ROOT, STATE, ORDER, CUTS = (
    f"{DELTA}.maintenance_plan",
    f"{DELTA}.aggregate_state",
    f"{DELTA}.join_order",
    f"{DELTA}.materialise",
)
GROUPS, ONE_END = f"{DELTA}.inner_aggregate", f"{DELTA}.since_from_until"
REDUCE, REDUCTION = f"{DELTA}.reduce_tables", f"{DELTA}.reduction"
BOUNDS, BOTH = f"{DELTA}.key_bounds", f"{DELTA}.both_ends"
CHECK = "tests.equivalence.check"

MUTANTS = [
    Mutant("inner join: the left's change is dropped", DELTA + ":change_of_inner_join", _only_right),
    Mutant("inner join: the right's change is dropped", DELTA + ":change_of_inner_join", _only_left),
    Mutant("inner join: both partners old", DELTA + ":change_of_inner_join", _join("0", "0")),
    Mutant("inner join: both partners new", DELTA + ":change_of_inner_join", _join("1", "1")),
    Mutant("inner join: the second term subtracted", DELTA + ":change_of_inner_join", _second_subtracted),
    Mutant(
        "preserved: the left's change is dropped",
        DELTA + ":change_of_left_semi_anti_join",
        _preserved(own=False),
    ),
    Mutant(
        "preserved: right changes ignored",
        DELTA + ":change_of_left_semi_anti_join",
        _preserved(come=None, go=None),
    ),
    Mutant(
        "preserved: touched rows only taken away",
        DELTA + ":change_of_left_semi_anti_join",
        _preserved(come=None),
    ),
    Mutant(
        "preserved: touched rows only added", DELTA + ":change_of_left_semi_anti_join", _preserved(go=None)
    ),
    Mutant(
        "preserved: touched rows added twice",
        DELTA + ":change_of_left_semi_anti_join",
        _preserved(sign=False),
    ),
    Mutant("preserved: ends swapped", DELTA + ":change_of_left_semi_anti_join", _preserved(come="0", go="1")),
    Mutant(
        "preserved: judged by the old right", DELTA + ":change_of_left_semi_anti_join", _preserved(first="0")
    ),
    Mutant(
        "preserved: touched among the new left",
        DELTA + ":change_of_left_semi_anti_join",
        _preserved(touched="1"),
    ),
    Mutant(
        "preserved: touched by another column", DELTA + ":change_of_left_semi_anti_join", _touched_by_equality
    ),
    Mutant(
        "full join: lonely right rows forgotten", DELTA + ":change_of_full_join", _full_without_the_lonely
    ),
    Mutant("full join: paired rows padded", DELTA + ":change_of_full_join", _full_with_both_padded_wrong),
    Mutant(
        "full join: lonely left rows forgotten", DELTA + ":change_of_full_join", _full_as_inner_and_lonely
    ),
    Mutant("keys: added up too late", AFFECTED + ":_key_rows", _keys_added_up_after_projecting),
    Mutant("keys: NULL is no key", AFFECTED + ":restrict_to_keys", _null_is_no_key),
    Mutant("keys: the untouched ones are recomputed", AFFECTED + ":restrict_to_keys", _not_restricted),
    Mutant("recomputed: the old result stays", AFFECTED + ":_difference", lambda new, old: new),
    Mutant("recomputed: the new result is missing", AFFECTED + ":_difference", lambda new, old: Negate(old)),
    Mutant("recomputed: old for new", AFFECTED + ":_difference", lambda new, old: _both(old, Negate(new))),
    Mutant("recomputed: added instead of subtracted", AFFECTED + ":_difference", _both),
    Mutant("groups: keyed by whole rows", DELTA + ":change_of_aggregate", _by_whole_rows("groups")),
    Mutant("groups: aggregates of the change alone", DELTA + ":change_of_aggregate", _group_of_the_change),
    Mutant("windows: keyed by whole rows", DELTA + ":change_of_window", _by_whole_rows("windows")),
    Mutant("top: keyed by whole rows", DELTA + ":change_of_top", _top_by_whole_rows),
    Mutant("distinct: taken for linear", DELTA + ":change_of_distinct", _distinct_as_linear),
    Mutant("distinct: of the change alone", DELTA + ":change_of_distinct", _distinct_of_the_change),
    Mutant("sets: only the left's keys", DELTA + ":change_of_set_operation", _set_keys(("left",))),
    Mutant("sets: only the right's keys", DELTA + ":change_of_set_operation", _set_keys(("right",))),
    Mutant(
        "sets: bags for sets and back",
        DELTA + ":change_of_set_operation",
        _set_keys(("left", "right"), flip=True),
    ),
    Mutant("filter: let everything through", DELTA + ":change_of_filter", lambda p, change: change(p.input)),
    Mutant(
        "filter: negated weights",
        DELTA + ":change_of_filter",
        lambda p, change: Negate(Filter(change(p.input), p.condition)),
    ),
    Mutant(
        "project: multiplicity ignored",
        DELTA + ":change_of_project",
        lambda p, change: Support(Project(change(p.input), p.items)),
    ),
    Mutant(
        "project: weights ignored",
        DELTA + ":change_of_project",
        lambda p, change: Project(Support(change(p.input)), p.items),
    ),
    Mutant(
        "union: only the first part changes", DELTA + ":change_of_union", lambda p, change: change(p.parts[0])
    ),
    Mutant(
        "generate: rows without elements forgotten",
        DELTA + ":change_of_generate",
        lambda p, change: replace(p, input=change(p.input), outer=False),
    ),
    Mutant(
        "generate: all outer",
        DELTA + ":change_of_generate",
        lambda p, change: Generate(change(p.input), p.function, p.argument, p.columns, outer=True),
    ),
    Mutant("scan: weights ignored", DELTA + ":change_of_scan", lambda s: Support(Delta(s.table, s.columns))),
    Mutant("scan: deletions added", DELTA + ":change_of_scan", lambda s: Negate(Delta(s.table, s.columns))),
    Mutant("values: come anew every time", DELTA + ":change_of_values", lambda values: values),
    Mutant("restrict: lost on the way", RESTRICT + ":push_semi_join", _restriction_lost),
    Mutant("restrict: below a window's partition", RESTRICT + ":push_semi_join", _push_always((Window,))),
    Mutant("restrict: below the first rows", RESTRICT + ":push_semi_join", _push_always((Top,))),
    Mutant("restrict: below a full join", RESTRICT + ":_push_below_join", _push_into_full),
    Mutant("restrict: on the padded side", RESTRICT + ":_push_below_join", _push_into_padded),
    Mutant("restrict: partners by any column", RESTRICT + ":_restrict_other_side", _partner_by_any_column),
    Mutant(
        "empty: every join with nothing is nothing",
        SIMPLIFY + ":_simplify_join",
        _join_with_nothing_is_nothing,
    ),
    Mutant(
        "empty: anti join with nothing is nothing",
        SIMPLIFY + ":_simplify_join",
        _anti_with_nothing_is_nothing,
    ),
    Mutant("union: twins dropped", SIMPLIFY + ":_simplify_union", _union_without_twins),
    Mutant("union: signs forgotten", SIMPLIFY + ":_simplify_union", _union_forgets_signs),
    Mutant("specialise: both ends alike", SIMPLIFY + ":specialise", _everything_unchanged),
    Mutant(
        "specialise: a changed table taken for unchanged",
        SIMPLIFY + ":specialise",
        _changed_taken_for_unchanged,
    ),
    Mutant("root: old rows aren't taken back", ROOT + ":Negate", lambda old: empty(old.names)),
    Mutant("root: old rows of all keys are taken back", ROOT + ":Join", _all_that_is_stored),
    Mutant("root: computed from the old end", ROOT + ":at_until", at_since),
    Mutant(
        "root: keys compared in another order",
        ROOT + ":_stored_key_condition",
        _compared_by(null_safe_equal, -1),
    ),
    Mutant("root: NULL keys not taken back", ROOT + ":_stored_key_condition", _compared_by(equal)),
    Mutant("root: nothing is hidden", ROOT + ":_choose_stored_columns", _nothing_hidden),
    Mutant("root: another hidden column", ROOT + ":_choose_stored_columns", _another_hidden),
    Mutant("root: HAVING from state", ROOT + ":_RootOperator.has_filter", property(lambda self: False)),
    Mutant("state: a group without rows stays", STATE + ":Filter", lambda groups, condition: groups),
    Mutant("state: a sum of no values is zero", STATE + ":_final_value", _sums_never_null),
    Mutant("state: averages divided by all rows", STATE + ":_final_value", _averages_of_all_rows),
    Mutant("state: values counted as rows", ROOT + ":exact_state", _rows_for_values),
    Mutant(
        "exact groups: the change added to what follows it", GROUPS + ":add_change_to_groups", _change_added
    ),
    Mutant("exact groups: computed before the change", GROUPS + ":at_until", at_since),
    Mutant("state: averages of the change alone", ROOT + ":add_change_to_groups", _average_of_the_change),
    Mutant(
        "state: new groups forgotten",
        STATE + ":Join",
        lambda one, other, kind, on: Join(one, other, "inner", on),
    ),
    Mutant("state: NULL is no group", STATE + ":null_safe_equal", equal),
    Mutant("state: nothing plus something is NULL", STATE + ":or_zero", lambda value: value),
    Mutant("state: filters of calls ignored", STATE + ":Tally", _tally(_unfiltered)),
    Mutant("state: weights ignored", STATE + ":Tally", _tally(_unweighted)),
    Mutant("restrict: padding taken for equal", RESTRICT + ":_push_below_join", _equated_across_padding),
    Mutant("restrict: equated with the first column", RESTRICT + ":_equal_columns", _equated_with_the_first),
    Mutant(
        "order: a table's own condition dropped", ORDER + ":_push_filters", lambda relation, own: relation
    ),
    Mutant("order: inner conditions dropped", ORDER + ":_flatten_joins", _outermost_conditions),
    Mutant("order: columns as they come", ORDER + ":Project", _columns_as_they_come),
    Mutant("order: the preserved side narrowed", SIMPLIFY + ":reduce_right_sides", _preserved_side_narrowed),
    Mutant("order: only the first one's partners", ORDER + ":_probe_plans", _first_asker_only),
    Mutant("one end: the change is added", ONE_END + ":Negate", lambda plan: plan),
    Mutant("one end: what it was is what it is", ONE_END + ":UnionAll", lambda parts: parts[0]),
    Mutant("one end: multiplicity ignored", ONE_END + ":Rows", Support),
    Mutant("one end: the whole change taken away", ONE_END + ":_replace_scan", _change_as_it_comes),
    Mutant("read once: the change is added", REDUCTION + ":Negate", lambda plan: plan),
    Mutant("read once: NULL is no key", f"{DELTA}.key_sets:is_key", _null_never_matters),
    Mutant(
        "read once: the change is chosen by nothing",
        REDUCTION + ":Reduction._holds_own_change",
        lambda *given: True,
    ),
    Mutant("looked up: any reader's conditions", REDUCE + ":_shared_conditions", _conditions_of_any_reader),
    Mutant("both ends: any reader's conditions", BOTH + ":_shared_conditions", _conditions_of_every_reader),
    Mutant("looked up: only the first reader's keys", REDUCE + ":_union_of_bounds", _first_bound_only),
    Mutant("read once: only the first reader's keys", BOUNDS + ":Bound.__or__", lambda one, other: one),
    Mutant("read once: the preserved side bounded", BOUNDS + ":_demands_of_sides", _preserved_side_bounded),
    Mutant("both ends: rows of both meet", BOTH + ":all_of", lambda parts: next(iter(parts))),
    Mutant("both ends: the change is added", BOTH + ":Negate", lambda plan: plan),
    Mutant("both ends: NULL is no key", BOTH + ":_Tagged._same_key", _null_is_no_touched_key),
    Mutant("both ends: multiplicity ignored", BOTH + ":Rows", Support),
    Mutant("weights: passed on to groups", SIMPLIFY + ":keep_weights", _never_repeated),
    Mutant("cuts: weights lost", CUTS + ":HasWeightColumn", lambda: lambda plan: False),
    Mutant(
        "cuts: all parts are one",
        CUTS + ":Materialised",
        lambda name, columns, weighted, few: Materialised("step_0", columns, weighted, few),
    ),
    Mutant("pieces: the state of the wrong end", CHECK + ":split_hidden_state", _with_hidden_state(at_since)),
    Mutant(
        "pieces: filters above are lost", CHECK + ":split_hidden_state", _with_hidden_state(_without_filters)
    ),
    Mutant(
        "pieces: columns of the state mixed up",
        CHECK + ":split_hidden_state",
        _with_hidden_state(_state_columns_reversed),
    ),
]
