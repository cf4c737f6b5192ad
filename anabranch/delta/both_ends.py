"""A subplan whose changed tables meet by one key is computed at both ends at once, for touched keys alone.

Where several tables changed and each row depends only on rows that have its key, the change is what the
subplan gives for the touched keys at the end, less what it gave for them at the beginning:

    K = the keys that occur in the changes of all tables
    Δ(f(R, S)) = f(R₁ ⋉ K, S₁ ⋉ K) - f(R₀ ⋉ K, S₀ ⋉ K)

The rules of single operators would look each other's rows up at both ends, level by level. Here rows of both
ends go through the subplan together: each carries the end that it is at, 1 or -1, and only rows of one end
meet. The end is then the row's weight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Distinct,
    Filter,
    Generate,
    IntervalEnd,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    SetOp,
    Support,
    UnionAll,
    Values,
    Window,
)
from anabranch.algebra.plan_text import scalar_text
from anabranch.algebra.scalar import TRUE, Call, Literal, Ref, Scalar, all_of, conjuncts, rename_refs
from anabranch.algebra.transform import map_inputs
from anabranch.delta.interval_ends import at_until
from anabranch.delta.key_bounds import columns_read, equal_columns
from anabranch.delta.row_conditions import Conditions, conditions_of_leaves
from anabranch.delta.single_partition import RelationFacts

KEY, END, COLUMN = "__b", "__end", "__c_"
Origins = tuple[tuple[Plan, Plan], ...]
"""Changes of subplans, and the subplans."""


def change_at_both_ends(plan: Plan, origins: Origins, changed: Collection[str], known: RelationFacts) -> Plan:
    """The change plan with changes of subplans computed at both ends, where they have a key in common.

    Law: evaluate(change_at_both_ends(plan)) = evaluate(plan).
    """
    queries = dict(origins)
    done: dict[Plan, Plan] = {}

    def visit(part: Plan) -> Plan:
        found = done.get(part)
        if found is None:
            query = queries.get(part)
            found = None if query is None else _change_of(query, changed, known)
            found = done[part] = map_inputs(part, visit) if found is None else found
        return found

    return visit(plan)


def _change_of(query: Plan, changed: Collection[str], known: RelationFacts) -> Plan | None:
    query = at_until(query)
    keys = _PartitionKeys(changed)(query)
    if not keys:
        return None
    # Of several keys any will do; the same one is taken every time.
    entries = min(keys.items(), key=lambda item: (len(item[1]), item[0]))[1]
    if len(entries) < 2:
        return None
    tagged, end = _Tagged(entries, query, known).of(query)
    assert end is not None, "a subplan with changed tables has ends"
    own = tuple((name, Ref(name)) for name in query.names)
    new, old = (Project(Filter(tagged, _is(end, sign)), own) for sign in (1, -1))
    return UnionAll((new, Negate(old)))


def _is(end: str, sign: int) -> Scalar:
    return Call("=", (Ref(end), Literal(sign)))


# -- keys -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _KeyColumn:
    """The column of a changed table by which its rows are told apart."""

    scan: Scan
    column: str
    null_safe: bool = True
    """Whether rows with NULL there matter."""


Entries = frozenset[_KeyColumn]


class _PartitionKeys:
    """For each column of a plan by which it can be computed key by key: the columns of the changed tables.

    None: nothing that the plan reads has changed.
    """

    def __init__(self, changed: Collection[str]) -> None:
        self._changed = changed
        self._known: dict[Plan, Mapping[str, Entries] | None] = {}

    def __call__(self, plan: Plan) -> Mapping[str, Entries] | None:
        if plan not in self._known:
            self._known[plan] = self._find(plan)
        return self._known[plan]

    def _find(self, plan: Plan) -> Mapping[str, Entries] | None:
        match plan:
            case Scan(table):
                if table not in self._changed:
                    return None
                return {name: frozenset({_KeyColumn(plan, column)}) for name, column in plan.columns}
            case Values():
                return None
            case Filter(source) | Distinct(source) | Generate(source):
                return self(source)
            case Project(source, items):
                return _passed(self(source), {n: s.name for n, s in items if isinstance(s, Ref)})
            case Aggregate(source, keys):
                return _passed(self(source), {n: s.name for n, s in keys if isinstance(s, Ref)})
            case Window(source, calls):
                partition = {key.name for key in calls[0][1].partition if isinstance(key, Ref)}
                return _passed(self(source), {name: name for name in partition})
            case UnionAll() | SetOp():
                return self._sides_by_position(plan)
            case Join():
                return self._join(plan)
            case _:
                return {} if any(self(part) is not None for part in plan.inputs) else None

    def _sides_by_position(self, plan: UnionAll | SetOp) -> Mapping[str, Entries] | None:
        sides = [(part, keys) for part in plan.inputs if (keys := self(part)) is not None]
        if not sides:
            return None
        found: dict[str, Entries] = {}
        for place, name in enumerate(plan.names):
            entries = [keys.get(part.names[place]) for part, keys in sides]
            if all(each is not None for each in entries):
                found[name] = frozenset().union(*(each for each in entries if each is not None))
        return {name: entries for name, entries in found.items() if _is_consistent(entries)}

    def _join(self, join: Join) -> Mapping[str, Entries] | None:
        left, right = self(join.left), self(join.right)
        if join.kind == "full":
            return None if left is None and right is None else {}
        if right is None:
            return left
        found: dict[str, Entries] = {}
        for here, there, null_safe in equal_columns(join):
            ours = frozenset() if left is None else left.get(here.name)
            theirs = right.get(there.name)
            if ours is None or theirs is None:
                continue
            if not null_safe:
                theirs = _without_null(theirs)
                ours = _without_null(ours) if join.kind in ("inner", "semi") else ours
            if _is_consistent(ours | theirs):
                found[here.name] = ours | theirs
                if join.kind == "inner":
                    found[there.name] = ours | theirs
        if left is None and join.kind == "inner":
            # Rows of the left are the same at both ends: whatever tells rows of the right apart, does here.
            found = {name: entries for name, entries in right.items() if name not in found} | found
        return found


def _passed(keys: Mapping[str, Entries] | None, names: Mapping[str, str]) -> Mapping[str, Entries] | None:
    if keys is None:
        return None
    return {name: keys[own] for name, own in names.items() if own in keys}


def _without_null(entries: Entries) -> Entries:
    return frozenset(replace(entry, null_safe=False) for entry in entries)


def _is_consistent(entries: Entries) -> bool:
    """Whether each scan is told apart by one column only."""
    return len({entry.scan for entry in entries}) == len(entries)


# -- both ends ------------------------------------------------------------------------------------


def _shared_conditions(query: Plan) -> Mapping[str, tuple[Scalar, ...]]:
    """For each table the conditions, in its own columns, that hold for all of its rows that matter."""
    found: dict[str, Conditions] = {}
    for scan, conditions in conditions_of_leaves(query).items():
        found[scan.table] = found.get(scan.table, conditions) & conditions
    return {table: tuple(sorted(conditions, key=scalar_text)) for table, conditions in found.items()}


class _Tagged:
    """Builds a subplan over rows of both ends."""

    def __init__(self, entries: Entries, query: Plan, known: RelationFacts) -> None:
        self._columns = {entry.scan: entry.column for entry in entries}
        self._null_safe = any(entry.null_safe for entry in entries)
        self._read, self._known = columns_read(query), known
        self._conditions = _shared_conditions(query)
        self._done: dict[Plan, tuple[Plan, str | None]] = {}
        self._ends = 0
        tables = sorted({(entry.scan.table, entry.column) for entry in entries})
        parts = [self._touched(table, column) for table, column in tables]
        self._keys: Plan = Distinct(parts[0] if len(parts) == 1 else UnionAll(tuple(parts)))

    def _touched(self, table: str, column: str) -> Plan:
        # In all columns that are read: in fewer, an update's key may cancel.
        change = Delta(table, tuple((COLUMN + name, name) for name in self._read[table]))
        return Project(Support(self._that_matter(change, table)), ((KEY, Ref(COLUMN + column)),))

    def _that_matter(self, rows: Plan, table: str) -> Plan:
        """Rows of a table, or of its change, that meet what all uses of the table ask for."""
        names = {name: COLUMN + name for name in self._read[table]}
        conditions = [rename_refs(condition, names) for condition in self._conditions.get(table, ())]
        return Filter(rows, all_of(conditions)) if conditions else rows

    def of(self, plan: Plan) -> tuple[Plan, str | None]:
        """The plan over both ends, and the column that says which; None: nothing in it changed."""
        if plan not in self._done:
            self._done[plan] = self._build(plan)
        return self._done[plan]

    def _build(self, plan: Plan) -> tuple[Plan, str | None]:
        match plan:
            case Scan():
                return (plan, None) if plan not in self._columns else self._scan(plan)
            case Join():
                return self._join(plan)
            case UnionAll() | SetOp():
                return self._sides(plan)
            case Values():
                return plan, None
        source, end = self.of(plan.inputs[0])
        if end is None:
            return plan, None
        match plan:
            case Project(_, items):
                return Project(source, (*items, (end, Ref(end)))), end
            case Aggregate(_, keys, calls):
                name = self._new_end()
                return Aggregate(source, (*keys, (name, Ref(end))), calls), name
            case Window(_, calls):
                apart = tuple((name, replace(c, partition=(*c.partition, Ref(end)))) for name, c in calls)
                return Window(source, apart), end
            case Filter(Scan() as scan, condition) if scan in self._columns:
                left = self._conditions_left(scan, condition)
                return (Filter(source, left) if left != TRUE else source), end
            case Filter() | Distinct() | Generate():
                return replace(plan, input=source), end
        raise TypeError(f"{type(plan).__name__} has no keys")

    def _conditions_left(self, scan: Scan, condition: Scalar) -> Scalar:
        """What of a condition on a table isn't met by all of its rows that are read."""
        met, names = self._conditions.get(scan.table, ()), dict(scan.columns)
        return all_of(part for part in conjuncts(condition) if rename_refs(part, names) not in met)

    def _new_end(self) -> str:
        self._ends += 1
        return f"{END}{self._ends}"

    def _scan(self, scan: Scan) -> tuple[Plan, str]:
        """A table's touched rows at both ends; all scans of it share them."""
        end = self._new_end()
        rows = self._both_ends(scan.table, self._columns[scan])
        items = tuple((name, Ref(COLUMN + column)) for name, column in scan.columns)
        return Project(rows, (*items, (end, Ref(END)))), end

    def _both_ends(self, table: str, key: str) -> Plan:
        columns = tuple((COLUMN + column, column) for column in self._read[table])
        own = tuple((name, Ref(name)) for name, _ in columns)
        on = self._same_key(Ref(COLUMN + key))
        until: Plan = Join(Scan(table, columns), self._keys, "semi", on)
        until = self._that_matter(until, table)
        if all((table, column) in self._known.exact for _, column in columns):
            # What was there is what is there less the change: the table is read once. All keys of the change
            # are touched, as far as its rows matter.
            change = self._that_matter(Delta(table, columns), table)
            if not self._null_safe:
                change = Filter(change, Call("not", (Call("is null", (Ref(COLUMN + key),)),)))
            gone = Negate(Project(change, (*own, (END, Literal(-1)))))
            return Rows(Net(UnionAll((self._at_each_end(until), gone))))
        since: Plan = Join(Scan(table, columns, IntervalEnd.SINCE), self._keys, "semi", on)
        since = self._that_matter(since, table)
        return UnionAll(
            tuple(Project(rows, (*own, (END, Literal(sign)))) for rows, sign in ((until, 1), (since, -1)))
        )

    def _at_each_end(self, plan: Plan, end: str = END) -> Plan:
        """Every row twice, once for each end."""
        ends = Values((end,), ((Literal(1),), (Literal(-1),)))
        return Join(plan, ends, "inner", TRUE)

    def _same_key(self, own: Scalar) -> Scalar:
        return Call("<=>" if self._null_safe else "=", (own, Ref(KEY)))

    def _join(self, join: Join) -> tuple[Plan, str | None]:
        (left, ours), (right, theirs) = self.of(join.left), self.of(join.right)
        if theirs is None:
            return replace(join, left=left, right=right), ours
        if ours is None and join.kind == "inner":
            return replace(join, left=left, right=right), theirs
        if ours is None:
            left, ours = self._unchanged(left, self._key_of(join))
        if not set(left.names).isdisjoint(right.names):
            # One subplan on both sides: their rows carry their ends under the same name.
            theirs, shared = self._new_end(), theirs
            own = tuple((name, Ref(name)) for name in join.right.names)
            right = Project(right, (*own, (theirs, Ref(shared))))
        on = all_of((join.on, Call("=", (Ref(ours), Ref(theirs)))))
        joined: Plan = replace(join, left=left, right=right, on=on)
        if join.kind == "left":
            kept = (*join.left.names, *join.right.names, ours)
            joined = Project(joined, tuple((name, Ref(name)) for name in kept))
        return joined, ours

    def _key_of(self, join: Join) -> str:
        """The column of the left by which an unchanged left side meets the touched rows of the right."""
        keys = _PartitionKeys({scan.table for scan in self._columns})(join.right)
        for here, there, _ in equal_columns(join):
            if keys and there.name in keys and self._holds(keys[there.name]):
                return here.name
        raise AssertionError("sides of a join that are computed key by key have a key in common")

    def _holds(self, entries: Entries) -> bool:
        return all(self._columns.get(entry.scan) == entry.column for entry in entries)

    def _unchanged(self, plan: Plan, key: str) -> tuple[Plan, str]:
        """The rows of an unchanged side that have a touched key, at each end."""
        end = self._new_end()
        touched = Join(plan, self._keys, "semi", Call("<=>", (Ref(key), Ref(KEY))))
        return self._at_each_end(touched, end), end

    def _sides(self, plan: UnionAll | SetOp) -> tuple[Plan, str | None]:
        built = [self.of(part) for part in plan.inputs]
        if all(end is None for _, end in built):
            return plan, None
        place = self._key_place(plan)
        name = self._new_end()
        sides: list[Plan] = []
        for part, (side, end) in zip(plan.inputs, built, strict=True):
            tagged, own_end = (side, end) if end else self._unchanged(side, part.names[place])
            own = tuple((column, Ref(column)) for column in part.names)
            sides.append(Project(tagged, (*own, (name, Ref(own_end)))))
        if isinstance(plan, UnionAll):
            return UnionAll(tuple(sides)), name
        return replace(plan, left=sides[0], right=sides[1]), name

    def _key_place(self, plan: UnionAll | SetOp) -> int:
        keys = _PartitionKeys({scan.table for scan in self._columns})(plan) or {}
        for place, column in enumerate(plan.names):
            if column in keys and self._holds(keys[column]):
                return place
        raise AssertionError("sides of a union that are computed key by key have a key in common")
