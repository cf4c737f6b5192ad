"""Each large table is read once, reduced to the rows that anything in a change plan can ask for.

A change plan joins the same table with many small things, at both ends of the interval. Each of these joins
finds its rows by keys, and whatever the keys went through, most of them come from a column of a change. So
there is one set of keys D that no join goes beyond, known before anything is joined:

    T₁ becomes T₁ ⋉ D,  read once for all of them
    T₀ becomes (T₁ ⋉ D) - (ΔT ⋉ D),  not read at all

D may hold more keys than a join asks for: the join itself stays. Tables that hang on a reduced table in the
same way are reduced after it. Where rows are looked up (`look_ups.py`), a table that is read a single time is
reduced as well, by every column whose keys are known, and by the few keys that a step has left rather than by
those of the change that it came from.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import reduce

from anabranch.algebra.plan import Delta, Filter, IntervalEnd, Join, Plan, Project, Scan, subplans
from anabranch.algebra.plan_text import scalar_text
from anabranch.algebra.scalar import Ref, rename_refs
from anabranch.algebra.transform import map_inputs
from anabranch.delta.choose_rows import choose_rows
from anabranch.delta.filters_passed import leaf_of
from anabranch.delta.key_bounds import Bound, Demand, KeyBounds, demands, equal_columns
from anabranch.delta.look_ups import FOUND_PREFIX, choose_look_ups, key_column_parts, keys_of
from anabranch.delta.reduction import Reduction
from anabranch.delta.row_conditions import Conditions, conditions_of_leaves, selectivity
from anabranch.delta.single_partition import RelationFacts
from anabranch.delta.small_subplans import IsSmall, shared_small_subplans

MAX_ROUNDS = 48
"""Tables that hang on one another are reduced one after the other, so many times at most."""


def reduce_tables(plan: Plan, known: RelationFacts) -> Plan:
    """The plan with every large table read once, where keys bound what is read of it.

    Law: evaluate(reduce_tables(plan)) = evaluate(plan).
    """
    plan, reduced = _separate_look_ups(plan, known) if known.lookups else (plan, frozenset[Plan]())
    for _ in range(MAX_ROUNDS):
        reductions = _reduce_small_tables(plan, known, reduced)
        if not reductions and known.lookups:
            chosen = choose_rows(plan, reduced, known.lookups | known.readable)
            if chosen is not None:
                plan, reduced = chosen
                continue
        reductions = reductions or _choose_reductions(plan, known, reduced)
        if not reductions:
            break
        plan = _replace_scans(plan, reductions)
        reduced |= {reduction.rows for reduction in reductions}
    if known.lookups:
        chosen = choose_rows(plan, reduced, known.lookups | known.readable, of_tables=True)
        plan = plan if chosen is None else chosen[0]
    return plan


def _reduce_small_tables(plan: Plan, known: RelationFacts, reduced: frozenset[Plan]) -> list[Reduction]:
    """The small tables that are filtered, or joined with what filters have left: they choose others' rows."""
    if not known.lookups:
        return []
    inside = _reduced_scans(reduced)
    conditions = conditions_of_leaves(plan)
    asked = demands(plan, KeyBounds(plan, reduced), reduced)
    found: list[Reduction] = []
    for scan, demand in asked.items():
        if not isinstance(scan, Scan) or scan.table not in known.readable or scan in inside:
            continue
        columns = dict(scan.columns)
        bounds = {columns[name]: bound for name, bound in demand.items() if bound.is_of_tables_alone}
        if bounds or selectivity(conditions[scan]) >= (1 if scan.table in known.tables else 2):
            own = tuple(sorted(conditions[scan], key=scalar_text))
            found.append(Reduction(scan.table, tuple(sorted(bounds.items())), (scan,), scan.at, own))
    return found


def _separate_look_ups(plan: Plan, known: RelationFacts) -> tuple[Plan, frozenset[Plan]]:
    """The plan with a reduced table for each semi join whose keys a step has, and for what is a look-up as it
    stands: the same scan may be read elsewhere, by other keys. And these reduced tables.
    """
    upwards = subplans(plan)
    look_ups, _ = choose_look_ups(plan, known.lookups)
    inner = {part.inputs[0] for part in look_ups if isinstance(part, Filter | Join)}
    steps, _ = shared_small_subplans(upwards, IsSmall(), look_ups)
    uses = Counter(below for part in upwards for below in part.inputs)
    conditions = conditions_of_leaves(plan)
    done: dict[Plan, Plan] = {}
    found: set[Plan] = set()
    for part in upwards:
        made = done[part] = map_inputs(part, lambda below: done[below])
        if part in look_ups and isinstance(made, Filter | Join) and _is_of_a_scan(made):
            rows = _with_own_names(made)
            found.add(rows)
            done[part] = _under_old_names(rows, _reduced_scan(made))
            if isinstance(made, Filter):
                # A look-up may let other rows pass.
                done[part] = Filter(done[part], made.condition)
        elif (
            isinstance(made, Join)
            and made.kind == "semi"
            and part not in inner
            and isinstance(made.left, Scan)
            and made.left.table in known.lookups
        ):
            bounds = _step_bounds(part, made, steps, shared=uses[part.inputs[0]] > 1)
            if bounds:
                own = tuple(sorted(conditions[made.left], key=scalar_text))
                reduction = Reduction(made.left.table, bounds, (made.left,), made.left.at, own)
                found.add(reduction.rows)
                done[part] = replace(made, left=reduction.rows_of(made.left))
    return done[plan], frozenset(found)


def _is_of_a_scan(part: Plan) -> bool:
    """Whether a look-up is still one of a table, not of rows that a look-up within it has found."""
    while isinstance(part, Filter | Join):
        part = part.inputs[0]
    return isinstance(part, Scan)


def _with_own_names(part: Plan) -> Plan:
    """A look-up whose scan has names that no other scan has."""
    if isinstance(part, Scan):
        return replace(part, columns=tuple((FOUND_PREFIX + name, own) for name, own in part.columns))
    if isinstance(part, Filter):
        names = {name: FOUND_PREFIX + name for name in part.names}
        return Filter(_with_own_names(part.input), rename_refs(part.condition, names))
    assert isinstance(part, Join), "a look-up is a table, joined with keys"
    names = {name: FOUND_PREFIX + name for name in part.left.names}
    return replace(part, left=_with_own_names(part.left), on=rename_refs(part.on, names))


def _under_old_names(rows: Plan, scan: Scan) -> Plan:
    return Project(rows, tuple((name, Ref(FOUND_PREFIX + name)) for name in scan.names))


def _step_bounds(
    before: Plan, join: Join, steps: Collection[Plan], *, shared: bool
) -> tuple[tuple[str, Bound], ...]:
    """The columns that a semi join compares with keys of steps, and these keys; where its table is read
    elsewhere, too (`shared`), also those that it compares with keys of changes."""
    assert isinstance(before, Join), "what was made of a join is one"
    columns = dict(join.left.columns) if isinstance(join.left, Scan) else {}
    found: dict[str, Bound] = {}
    for here, there, null_safe in equal_columns(join):
        own = key_column_parts(before.right, there.name)
        made = key_column_parts(join.right, there.name)
        if own is None or made is None:
            continue
        if not shared and not any(source in steps for source, _ in own):
            continue
        if all(isinstance(source, Delta) or source in steps for source, _ in own):
            found.setdefault(columns[here.name], Bound(frozenset(made), null_safe))
    return tuple(found.items())


def _choose_reductions(plan: Plan, known: RelationFacts, reduced: frozenset[Plan]) -> list[Reduction]:
    """The tables that are read more than once, or looked up, by columns with known keys; each once.

    Look-ups by what steps have left come first: what they leave bounds others.
    """
    upwards = subplans(plan)
    inside = _reduced_scans(reduced)
    scans = [
        part
        for part in upwards
        if isinstance(part, Scan) and part.table not in known.tables and part not in inside
    ]
    waiting = _TablesToRead(scans)
    if known.lookups:
        steps, _ = shared_small_subplans(upwards, IsSmall(), reduced, keys_of(reduced))
        asked = waiting.without_own_keys(demands(plan, KeyBounds(plan, reduced | steps)))
        wanted = [scan for scan in scans if scan.table in known.lookups and _has_step(asked[scan], steps)]
        if found := waiting.independent(_reductions_of(wanted, asked, plan, known)):
            return _most_selective_first(found, scans, plan, known, reduced)
    asked = waiting.without_own_keys(demands(plan, KeyBounds(plan, reduced)))
    found = waiting.independent(_reductions_of(scans, asked, plan, known))
    return _most_selective_first(found, scans, plan, known, reduced)


def _most_selective_first(
    found: list[Reduction], scans: Iterable[Scan], plan: Plan, known: RelationFacts, reduced: frozenset[Plan]
) -> list[Reduction]:
    """The reductions of those tables of which conditions leave the fewest rows, or one that bounds these.

    What is left of them tells which changed rows matter, and so which rows of other tables.
    """
    conditions = conditions_of_leaves(plan)
    few = {scan: selectivity(conditions[scan]) for scan in scans if scan.table in known.lookups}
    best = max(few.values(), default=0)
    wanted = {scan for scan, selectivity in few.items() if selectivity == best}
    if not best:
        return found
    if chosen := [reduction for reduction in found if wanted & set(reduction.scans)]:
        return chosen
    for reduction in found:
        tried = _replace_scans(plan, [reduction])
        asked = demands(tried, KeyBounds(tried, reduced | {reduction.rows}))
        if any(asked.get(scan) for scan in wanted):
            return [reduction]
    return found


def _has_step(demand: Demand, steps: Collection[Plan]) -> bool:
    return any(source in steps for bound in demand.values() for source, _ in bound.columns)


class _TablesToRead:
    """The scans that aren't reduced yet, and which keys have to wait for them."""

    def __init__(self, scans: Collection[Scan]) -> None:
        self._scans = frozenset(scans)
        self._below: dict[Plan, frozenset[Scan]] = {}

    def below(self, source: Plan) -> frozenset[Scan]:
        """Those that a source of keys reads."""
        if source not in self._below:
            self._below[source] = self._scans.intersection(subplans(source))
        return self._below[source]

    def without_own_keys(self, asked: Mapping[Plan, Demand]) -> dict[Plan, Demand]:
        """Demands without keys that take reading the same table, and would have to wait for themselves."""
        return {
            scan: {
                name: bound
                for name, bound in asked[scan].items()
                if not any(
                    other.table == scan.table for source, _ in bound.columns for other in self.below(source)
                )
            }
            for scan in self._scans
        }

    def independent(self, reductions: list[Reduction]) -> list[Reduction]:
        """Those whose keys don't take reading what another one of them reduces."""
        replaced = {scan for reduction in reductions for scan in reduction.scans}
        return [
            reduction
            for reduction in reductions
            if not any(
                self.below(source) & replaced for _, bound in reduction.bounds for source, _ in bound.columns
            )
        ]


def _reduced_scans(reduced: Iterable[Plan]) -> set[Plan]:
    """The tables that are looked up already, not the changes that are chosen from."""
    return {leaf for rows in reduced if isinstance(leaf := leaf_of(rows), Scan)}


def _reduced_scan(rows: Plan) -> Scan:
    leaf = leaf_of(rows)
    assert isinstance(leaf, Scan), "a look-up is of a table"
    return leaf


def _reductions_of(
    scans: Iterable[Scan], asked: Mapping[Plan, Demand], plan: Plan, known: RelationFacts
) -> list[Reduction]:
    uses = Counter(below for part in subplans(plan) for below in part.inputs)
    conditions = conditions_of_leaves(plan)
    groups: dict[tuple[str, IntervalEnd | None], list[Scan]] = {}
    for scan in scans:
        end = None if _can_subtract(scan, known) else scan.at
        groups.setdefault((scan.table, end), []).append(scan)
    found: list[Reduction] = []
    for (table, end), members in groups.items():
        reduction = _choose_columns(table, end, members, asked, uses, looked_up=table in known.lookups)
        if reduction is not None and table in known.lookups:
            shared = _shared_conditions([conditions[scan] for scan in reduction.scans])
            reduction = replace(reduction, conditions=tuple(sorted(shared, key=scalar_text)))
        if reduction is not None:
            found.append(reduction)
    return found


def _shared_conditions(found: Iterable[Conditions]) -> Conditions:
    """What holds for all rows that matter to any of some readers."""
    return frozenset.intersection(*found)


def _choose_columns(
    table: str,
    end: IntervalEnd | None,
    scans: Iterable[Scan],
    asked: Mapping[Plan, Mapping[str, Bound]],
    uses: Mapping[Plan, int],
    *,
    looked_up: bool,
) -> Reduction | None:
    """The column by which most reads of a table are bounded, if those are several.

    Where rows are looked up, one read is enough, and all columns by which the same reads are bounded serve.
    """
    by_column: dict[str, list[tuple[Scan, Bound]]] = {}
    for scan in scans:
        for name, bound in asked[scan].items():
            by_column.setdefault(dict(scan.columns)[name], []).append((scan, bound))
    # Of a large table, filters on others alone may leave too much.
    may_lead = {
        name: members
        for name, members in by_column.items()
        if not looked_up or all(bound.comes_from_changes for _, bound in members)
    }
    best = max(may_lead.items(), key=lambda item: (_count_reads(item[1], uses), item[0]), default=None)
    if best is None or _count_reads(best[1], uses) < (1 if looked_up else 2):
        return None
    column, members = best
    chosen = tuple(scan for scan, _ in members)
    columns = [column]
    if looked_up:
        columns += sorted(
            other
            for other, found in by_column.items()
            if other != column and {scan for scan, _ in found} >= set(chosen)
        )
    bounds = tuple((name, _union_of_bounds(by_column[name], chosen)) for name in columns)
    ends = {scan.at for scan in chosen}
    at = end or (IntervalEnd.UNTIL if IntervalEnd.UNTIL in ends else IntervalEnd.SINCE)
    return Reduction(table, bounds, chosen, at)


def _union_of_bounds(members: Iterable[tuple[Scan, Bound]], scans: Collection[Scan]) -> Bound:
    found = [bound for scan, bound in members if scan in scans]
    return reduce(operator.or_, found)


def _count_reads(members: Iterable[tuple[Scan, Bound]], uses: Mapping[Plan, int]) -> int:
    return sum(uses[scan] for scan, _ in members)


def _can_subtract(scan: Scan, known: RelationFacts) -> bool:
    """Whether rows of the table can be taken away from one another: equal values are the same."""
    return all((scan.table, column) in known.exact for _, column in scan.columns)


def _replace_scans(plan: Plan, reductions: Iterable[Reduction]) -> Plan:
    replaced: dict[Plan, Plan] = {scan: one.rows_of(scan) for one in reductions for scan in one.scans}
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            found = replaced[part] if part in replaced else map_inputs(part, visit)
            done[part] = found
        return found

    return visit(plan)
