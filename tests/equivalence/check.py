"""The one law that everything rests on: old result + change = new result, for a drawn query.

It is held against the rules, against what they are simplified to, against what is stored at the root, and
against the steps that a refresh would take, state below the root included.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from anabranch.algebra.evaluate import NegativeWeight, Tables, ZSet, evaluate, net, plus
from anabranch.algebra.plan import Aggregate, Delta, Filter, Plan, Project, Scan, subplans
from anabranch.algebra.scalar import Call, Literal, Ref
from anabranch.delta import differentiate
from anabranch.delta.hidden_state import ALWAYS, AUTO, HiddenState, split_hidden_state
from anabranch.delta.look_ups import as_chosen_rows, key_sources
from anabranch.delta.maintenance_plan import plan_maintenance
from anabranch.delta.materialise import Steps, materialise_shared
from anabranch.delta.simplify import simplify
from anabranch.delta.single_partition import RelationFacts
from tests.equivalence.draw import Draw

RESULT = "q"
SHORT = 20
"""Statements of drawn queries are cut as if planning were dear: else large parts would seldom be."""


@dataclass(frozen=True)
class Mismatch:
    """A query and a change for which the law doesn't hold."""

    seed: int
    what: str
    plan: Plan
    tables: Tables
    expected: ZSet
    found: ZSet


WAYS = ("by rules", "by scans", "by look-ups", "by look-ups and small tables")
"""How rows that a change meets are found."""

Finding = tuple[str, ZSet, ZSet]
"""What was checked, what it should be, what it is."""


def drawn_types(plan: Plan) -> dict[str, str]:
    """What the engine would say: everything that is drawn is made of integers."""
    averages = (
        {name for name, call in plan.calls if call.function == "avg"} if isinstance(plan, Aggregate) else ()
    )
    kind = "bigint" if isinstance(plan, Aggregate) else "int"
    return {name: "double" if name in averages else kind for name in plan.names}


def varied(plan: Plan, seed: int) -> Plan:
    """The query with more of what has a rule of its own at the root and is seldom drawn there."""
    if seed % 3:
        plan = averaged(plan)
    if seed % 4 == 0 and isinstance(plan, Aggregate):
        plan = Filter(plan, Call(">", (Ref(plan.names[-1]), Literal(1))))
    return plan


def averaged(plan: Plan) -> Plan:
    """The query with averages for the sums at its root."""
    match plan:
        case Project() | Filter():
            return replace(plan, input=averaged(plan.input))
        case Aggregate():
            linear = {name for name, call in plan.calls if call.function == "sum" and not call.distinct}
            calls = [
                (name, replace(call, function="avg") if name in linear else call) for name, call in plan.calls
            ]
            return replace(plan, calls=tuple(calls))
        case _:
            return plan


class Kept:
    """A piece of a query, stored and maintained round by round."""

    def __init__(self, piece: HiddenState) -> None:
        self.piece = piece
        self.root = plan_maintenance(piece.plan, piece.columns, drawn_types)
        self.rows: ZSet = {}
        self._known: dict[tuple[frozenset[str], str], tuple[Plan, Steps]] = {}

    def fill(self, tables: Tables) -> Tables:
        """Store everything; the tables with this one among them, the same at both ends."""
        self.rows = evaluate(self.root.stored, tables)
        return self._among(tables, self.rows, self.rows)

    def refresh(self, tables: Tables, *, in_steps: bool) -> tuple[Tables, Finding]:
        """Let the change become of what is stored; the tables with this one among them, at both ends."""
        seen = replace(tables, stored_columns=self.root.columns, stored=self.rows)
        expected = evaluate(self.root.stored, tables)
        what, found = "root", plus(self.rows, evaluate(self.root.change, seen))
        for way in WAYS:
            if found == dict(expected):
                plan, steps = self.smaller(changed_tables(tables), way)
                what = f"{'root in steps' if in_steps else 'simplified root'}, {way}"
                loosely = sum(self.rows.values()) % 2 == 0
                change = _run(steps, seen, loosely=loosely) if in_steps else evaluate(plan, seen)
                found = plus(self.rows, change)
        after = self._among(tables, self.rows, expected)
        self.rows = expected
        return after, (f"{what} of {self.piece.table}", expected, found)

    def smaller(self, changed: frozenset[str], way: str) -> tuple[Plan, Steps]:
        """The change of what is stored, simplified for one way to find rows, whole and in steps."""
        key = (changed, way)
        if key not in self._known:
            exact = all_exact(self.root.change)
            tables = sorted({table for table, _ in exact.exact})
            lookups = frozenset(tables) if "look-ups" in way else frozenset()
            # Every second table is small, or as large as others and cheap to read.
            readable = frozenset(tables[::2]) if "small" in way else frozenset()
            small = frozenset(tables[::4]) if "small" in way else frozenset()
            lookups -= small
            known = replace(exact, scans=way != "by rules", lookups=lookups, readable=readable, tables=small)
            plan = simplify(self.root.change, changed=changed, known=known, origins=self.root.origins)
            self._known[key] = plan, materialise_shared(plan, long=SHORT, lookups=lookups)
        return self._known[key]

    @property
    def visible(self) -> ZSet:
        """What is stored, without the hidden columns."""
        return net((row[: len(self.piece.columns)], weight) for row, weight in self.rows.items())

    def _among(self, tables: Tables, before: ZSet, after: ZSet) -> Tables:
        name = self.piece.table
        return replace(
            tables,
            columns={**tables.columns, name: self.root.columns},
            since={**tables.since, name: before},
            until={**tables.until, name: after},
        )


def kept_ways(plan: Plan) -> list[list[Kept]]:
    """The ways to keep a query: by itself, and over state below its root where it has some."""
    split = (split_hidden_state(plan, plan.names, RESULT, groups) for groups in (AUTO, ALWAYS))
    ways = [(HiddenState(RESULT, plan, plan.names),), *split]
    return [[Kept(piece) for piece in way] for way in dict.fromkeys(ways)]


def all_exact(plan: Plan) -> RelationFacts:
    """What is known of tables of integers that may be large."""
    leaves = [part for part in subplans(plan) if isinstance(part, Scan | Delta)]
    return RelationFacts(
        exact=frozenset((leaf.table, column) for leaf in leaves for _, column in leaf.columns)
    )


def changed_tables(tables: Tables) -> frozenset[str]:
    """The tables that differ between the two ends."""
    return frozenset(name for name in tables.until if dict(tables.since[name]) != dict(tables.until[name]))


def _run(steps: Steps, tables: Tables, *, loosely: bool = False) -> ZSet:
    done: dict[str, ZSet] = {}
    for leaf, plan in steps.before:
        done[leaf.name] = evaluate(plan, replace(tables, cuts=done))
        if leaf.name in steps.looked_up and key_sources(plan) is not None:
            # Keys are read from files in which rows may cancel: there may be more of them.
            done[leaf.name] = {**done[leaf.name], (None,): 1, (0,): 1, (2,): 1}
        elif leaf.name in steps.looked_up and loosely and _judges_loosely(plan):
            done[leaf.name] = evaluate(plan.inputs[0], replace(tables, cuts=done))
        if not leaf.weighted and any(weight < 0 for weight in done[leaf.name].values()):
            raise NegativeWeight(leaf.name)
    return evaluate(steps.last, replace(tables, cuts=done))


def _judges_loosely(plan: Plan) -> bool:
    """Whether other rows may pass: conditions, and keys of rows at hand, are judged as far as is exact."""
    return isinstance(plan, Filter) or as_chosen_rows(plan) is not None


def check_seed(seed: int, *, depth: int = 4, rounds: int = 10) -> tuple[Plan, Mismatch | None]:
    """Draw a database, a query and changes; the query, and the first mismatch if there is one."""
    draw = Draw(seed)
    database = draw.database()
    plan = draw.query(database, depth)
    before = draw.contents(database)
    history = [before]
    for _ in range(rounds):
        history.append(draw.changed(database, history[-1]))
    return plan, check_history(seed, varied(plan, seed), database.columns, history)


def check_history(
    seed: int, plan: Plan, columns: Mapping[str, tuple[str, ...]], history: list[dict[str, ZSet]]
) -> Mismatch | None:
    """Follow a query through the contents of its tables; the first mismatch if there is one."""
    query = _Query(plan, Tables(columns, history[0], history[0]))
    for number, (before, after) in enumerate(itertools.pairwise(history)):
        tables = Tables(columns, before, after)
        for what, expected, found in query.refresh(tables, in_steps=number % 2 == 0):
            if dict(expected) != dict(found):
                return Mismatch(seed, what, plan, tables, expected, found)
    return None


class _Query:
    """A query and all the ways to keep its result."""

    def __init__(self, plan: Plan, tables: Tables) -> None:
        self._plan = plan
        self._change = differentiate(plan)
        self._ways = kept_ways(plan)
        self._smaller: dict[frozenset[str], Plan] = {}
        self._old = evaluate(plan, tables)
        for way in self._ways:
            staged = tables
            for kept in way:
                staged = kept.fill(staged)

    def refresh(self, tables: Tables, *, in_steps: bool) -> Iterator[Finding]:
        new = evaluate(self._plan, tables)
        changed = changed_tables(tables)
        if changed not in self._smaller:
            self._smaller[changed] = simplify(self._change, changed=changed)
        yield "rules", new, plus(self._old, evaluate(self._change, tables))
        yield "simplified", new, plus(self._old, evaluate(self._smaller[changed], tables))
        for way in self._ways:
            staged = tables
            for kept in way:
                staged, finding = kept.refresh(staged, in_steps=in_steps)
                yield finding
            yield "what is stored", new, way[-1].visible
        self._old = new
