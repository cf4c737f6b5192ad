"""Random databases, queries and changes, drawn freshly from a seed.

Small key spaces, NULLs, duplicates, empty tables, updates that cancel, batches that empty a table:
what breaks change rules is dense here. `reached` says which operators met which.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from anabranch.algebra.evaluate import ZSet, net, plus
from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Filter,
    Generate,
    Join,
    Plan,
    Project,
    Scan,
    SetOp,
    SortKey,
    Top,
    UnionAll,
    Values,
    Window,
    WindowCall,
)
from anabranch.algebra.scalar import TRUE, Call, Literal, Ref, Scalar, all_of, equal

INT, LIST = "int", "list"
INTEGERS = (None, 0, 1, 1, 2, 3)


@dataclass(frozen=True)
class Database:
    """Tables with the kinds of their columns."""

    tables: Mapping[str, tuple[tuple[str, str], ...]]

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        return {table: tuple(name for name, _ in columns) for table, columns in self.tables.items()}


OPERATORS = (
    *("filter", "project", "values", "union", "generate", "inner", "left", "full", "semi", "anti", "group"),
    *("global", "distinct", "intersect", "except", "window", "top"),
)


WITHOUT_LISTS = frozenset(("values", "union", "intersect", "except", "group", "global"))
"""Operators whose columns are all integers here: nothing can be generated from them."""


class Draw:
    """One seed's worth of chance."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._number = 0

    # -- data ---------------------------------------------------------------------------------

    def database(self) -> Database:
        tables = {}
        for name in "rst"[: self.random.randint(1, 3)]:
            kinds = [INT] * self.random.randint(1, 3) + [LIST] * (self.random.random() < 0.3)
            tables[name] = tuple((f"{name}{index}", kind) for index, kind in enumerate(kinds))
        return Database(tables)

    def contents(self, database: Database) -> dict[str, ZSet]:
        return {table: self._rows(database, table, self.random.randint(0, 5)) for table in database.tables}

    def changed(self, database: Database, before: Mapping[str, ZSet]) -> dict[str, ZSet]:
        """The next contents: some tables untouched, some rows gone, some come, some both."""
        after: dict[str, ZSet] = {}
        for table, rows in before.items():
            kept: dict[tuple[object, ...], int] = dict(rows)
            choice = self.random.random()
            if choice < 0.1:
                kept = {}
            elif choice < 0.7:
                for row in list(kept):
                    if self.random.random() < 0.3:
                        kept[row] -= 1
            come = {} if choice > 0.8 else self._rows(database, table, self.random.randint(0, 3))
            after[table] = plus(kept, come)
        return after

    def _rows(self, database: Database, table: str, count: int) -> dict[tuple[object, ...], int]:
        kinds = [kind for _, kind in database.tables[table]]
        return net(
            (tuple(self._value(kind) for kind in kinds), self.random.choice((1, 1, 2))) for _ in range(count)
        )

    def _value(self, kind: str) -> object:
        if kind == INT:
            return self.random.choice(INTEGERS)
        if self.random.random() < 0.2:
            return None
        return tuple(self.random.choice(INTEGERS) for _ in range(self.random.randint(0, 2)))

    # -- queries ------------------------------------------------------------------------------

    def query(self, database: Database, depth: int) -> Plan:
        """A plan with at most that many operators on any path."""
        return self._plan(database, self.random.randint(1, depth))[0]

    def _plan(self, database: Database, depth: int) -> Kinded:
        if depth == 0:
            return self._scan(database)
        operator = self.random.choice(OPERATORS)
        if operator == "values":
            return self._values()
        source = self._plan(database, depth - 1)
        if operator in ("inner", "left", "full", "semi", "anti"):
            return self._join(source, self._plan(database, self.random.randint(0, depth - 1)), operator)
        if operator in ("union", "intersect", "except"):
            return self._set(source, self._plan(database, self.random.randint(0, depth - 1)), operator)
        return getattr(self, f"_{operator}")(source)  # type: ignore[no-any-return]

    def _scan(self, database: Database) -> Kinded:
        table = self.random.choice(sorted(database.tables))
        names = {self._fresh(): (own, kind) for own, kind in database.tables[table]}
        scan = Scan(table, tuple((name, own) for name, (own, _) in names.items()))
        return scan, {name: kind for name, (_, kind) in names.items()}

    def _values(self) -> Kinded:
        names = tuple(self._fresh() for _ in range(self.random.randint(1, 2)))
        rows = tuple(
            tuple(Literal(self.random.choice((0, 1, 2))) for _ in names)
            for _ in range(self.random.randint(0, 3))
        )
        return Values(names, rows), dict.fromkeys(names, INT)

    def _filter(self, source: Kinded) -> Kinded:
        plan, kinds = source
        return Filter(plan, self._condition(kinds)), kinds

    def _project(self, source: Kinded) -> Kinded:
        plan, kinds = source
        items: dict[str, Scalar] = {
            self._fresh(): self._scalar(kinds) for _ in range(self.random.randint(1, 2))
        }
        made = dict.fromkeys(items, INT)
        for name in plan.names:
            if self.random.random() < 0.4:
                fresh = self._fresh()
                items[fresh], made[fresh] = Ref(name), kinds[name]
        return Project(plan, tuple(items.items())), made

    def _generate(self, source: Kinded) -> Kinded:
        plan, kinds = source
        lists = [name for name, kind in kinds.items() if kind == LIST]
        if not lists:
            return self._filter(source)
        name = self._fresh()
        outer = self.random.random() < 0.5
        generated = Generate(plan, "explode", Ref(self.random.choice(lists)), (name,), outer)
        return generated, {**kinds, name: INT}

    def _join(self, left: Kinded, right: Kinded, kind: str) -> Kinded:
        both = {**left[1], **right[1]}
        equality = equal(self._scalar(left[1], 0), self._scalar(right[1], 0))
        choice = self.random.random()
        if choice < 0.15:
            on = self._condition(both)
        elif choice < 0.3:
            on = all_of([equality, self._condition(both)])
        elif choice < 0.4:
            on = Call("coalesce", (equality, TRUE))
        elif choice < 0.45:
            on = TRUE
        else:
            on = equality
        joined = Join(left[0], right[0], kind, on)  # type: ignore[arg-type]
        return joined, {name: both[name] for name in joined.names}

    def _set(self, left: Kinded, right: Kinded, operator: str) -> Kinded:
        one = self._wide(
            left, len(left[0].names) if self.random.random() < 0.7 else self.random.randint(1, 2)
        )
        other = self._wide(right, len(one.names))
        if self.random.random() < 0.1:
            other = one  # a common table expression, used twice
        if operator == "union":
            return UnionAll((one, other)), dict.fromkeys(one.names, INT)
        whole = SetOp(one, other, operator, self.random.random() < 0.5)  # type: ignore[arg-type]
        return whole, dict.fromkeys(one.names, INT)

    def _wide(self, source: Kinded, width: int) -> Plan:
        """The plan with that many columns, all integers; itself if it has them already."""
        plan, kinds = source
        if len(plan.names) == width and all(kind == INT for kind in kinds.values()):
            return plan
        return Project(plan, tuple((self._fresh(), self._scalar(kinds)) for _ in range(width)))

    def _group(self, source: Kinded) -> Kinded:
        return self._aggregate(source, self.random.randint(1, 2))

    def _global(self, source: Kinded) -> Kinded:
        return self._aggregate(source, 0)

    def _aggregate(self, source: Kinded, groups: int) -> Kinded:
        plan, kinds = source
        keys = tuple((self._fresh(), self._scalar(kinds)) for _ in range(groups))
        calls = tuple(
            (self._fresh(), self._call(kinds)) for _ in range(self.random.randint(0 if keys else 1, 2))
        )
        grouped = Aggregate(plan, keys, calls)
        return grouped, dict.fromkeys(grouped.names, INT)

    def _call(self, kinds: Mapping[str, str]) -> AggregateCall:
        where = self._condition(kinds) if self.random.random() < 0.2 else None
        function = self.random.choice(("count", "sum", "min", "max", "rows"))
        if function == "rows":
            return AggregateCall("count", (), where=where)
        return AggregateCall(function, (self._scalar(kinds),), self.random.random() < 0.3, where)

    def _distinct(self, source: Kinded) -> Kinded:
        plan, kinds = source if self.random.random() < 0.5 else self._project(source)
        return Distinct(plan), kinds

    def _window(self, source: Kinded) -> Kinded:
        plan, kinds = self._sortable(source)
        integers = list(plan.names)
        partition = tuple(Ref(name) for name in self.random.sample(integers, self.random.randint(0, 1)))
        total = self._order(plan.names)
        choices = [
            WindowCall("row_number", (), partition, total),
            WindowCall("rank", (), partition, total[:1]),
            WindowCall("sum", (Ref(self.random.choice(integers)),), partition),
        ]
        picked = self.random.sample(choices, self.random.randint(1, 2))
        calls = tuple((self._fresh(), call) for call in picked)
        return Window(plan, calls), {**kinds, **{name: INT for name, _ in calls}}

    def _sortable(self, source: Kinded) -> Kinded:
        """Without lists: engines differ in where a NULL inside a list sorts."""
        plan, kinds = source
        integers = [name for name in plan.names if kinds[name] == INT]
        if len(integers) == len(plan.names):
            return source
        items: tuple[tuple[str, Scalar], ...] = tuple((self._fresh(), Ref(name)) for name in integers)
        items = items or ((self._fresh(), Literal(1)),)
        return Project(plan, items), {name: INT for name, _ in items}

    def _top(self, source: Kinded) -> Kinded:
        plan, kinds = self._sortable(source)
        return Top(plan, self._order(plan.names), self.random.randint(0, 4), self.random.randint(0, 1)), kinds

    def _order(self, names: tuple[str, ...]) -> tuple[SortKey, ...]:
        shuffled = self.random.sample(names, len(names))
        return tuple(
            SortKey(Ref(name), self.random.random() < 0.5, self.random.random() < 0.5) for name in shuffled
        )

    # -- scalars ------------------------------------------------------------------------------

    def _scalar(self, kinds: Mapping[str, str], depth: int = 1) -> Scalar:
        integers = [name for name, kind in kinds.items() if kind == INT]
        if depth and self.random.random() < 0.3:
            operator = self.random.choice(("+", "-", "*", "coalesce"))
            return Call(operator, (self._scalar(kinds, depth - 1), self._scalar(kinds, depth - 1)))
        if integers and self.random.random() < 0.85:
            return Ref(self.random.choice(integers))
        return Literal(self.random.choice((0, 1, 2)))

    def _condition(self, kinds: Mapping[str, str], depth: int = 1) -> Scalar:
        choice = self.random.random()
        if depth and choice < 0.2:
            operator = self.random.choice(("and", "or"))
            return Call(operator, (self._condition(kinds, depth - 1), self._condition(kinds, depth - 1)))
        if depth and choice < 0.3:
            return Call("not", (self._condition(kinds, depth - 1),))
        if choice < 0.4:
            return Call("is null", (self._scalar(kinds),))
        operator = self.random.choice(("=", "<>", "<", ">=", "<=>"))
        return Call(operator, (self._scalar(kinds), self._scalar(kinds)))

    def _fresh(self) -> str:
        self._number += 1
        return f"c{self._number}"


Kinded = tuple[Plan, dict[str, str]]


# -- what was reached -----------------------------------------------------------------------------


def label(plan: Plan) -> str:
    """The operator that a node stands for."""
    match plan:
        case Join():
            return plan.kind
        case Aggregate():
            return "group" if plan.keys else "global"
        case SetOp():
            return plan.kind
        case UnionAll():
            return "union"
        case _:
            return type(plan).__name__.lower()


def chains(plan: Plan, length: int) -> Iterator[tuple[str, ...]]:
    """Operators that stand directly above each other, top first."""

    def below(part: Plan, rest: int) -> Iterator[tuple[str, ...]]:
        if rest == 1:
            yield (label(part),)
            return
        for child in part.inputs:
            for chain in below(child, rest - 1):
                yield (label(part), *chain)

    pending = [plan]
    while pending:
        current = pending.pop()
        yield from below(current, length)
        pending.extend(current.inputs)


class Reached:
    """Which operators, pairs and triples a run of queries met."""

    def __init__(self) -> None:
        self.counts: dict[int, Counter[tuple[str, ...]]] = {1: Counter(), 2: Counter(), 3: Counter()}

    def add(self, plan: Plan) -> None:
        for length, counter in self.counts.items():
            counter.update(chains(plan, length))

    def share(self, length: int) -> float:
        """The part of all possible chains of that length that was met."""
        inner = [name for name in OPERATORS if name != "values"]
        possible = [
            chain
            for chain in itertools.product(*[inner] * (length - 1), [*OPERATORS, "scan"])
            if not any(up == "generate" and down in WITHOUT_LISTS for up, down in itertools.pairwise(chain))
        ]
        return len(self.counts[length]) / len(possible)

    def __str__(self) -> str:
        shares = ", ".join(
            f"{what} {len(self.counts[length])} ({self.share(length):.0%})"
            for length, what in ((1, "operators"), (2, "pairs"), (3, "triples"))
        )
        return shares
