"""Random queries × random changes, computed in this process: what it makes of a plan is what the plan means.

The reference stands in for the engine: it answers what is asked, and which tables are large is drawn, so that
rows are looked up in some and read from others.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest

from anabranch.algebra.evaluate import NegativeWeight, Tables, ZSet, evaluate, net, plus
from anabranch.algebra.plan import Delta, Join, Plan, Scan, StoredResult
from anabranch.algebra.scalar import TRUE, Ref, Scalar, equal
from anabranch.algebra.weights import HasWeightColumn
from anabranch.engine.local import groups, joins
from anabranch.engine.local import interpret as interpret_module
from anabranch.engine.local.groups import Values
from anabranch.engine.local.held import Held, Weighed
from anabranch.engine.local.interpret import Keyed, TooDear, interpret
from anabranch.engine.local.kinds import BIGINT, BOOLEAN, DOUBLE, VOID, Elsewhere, Kind
from anabranch.engine.local.reach import Leaf
from tests.equivalence.check import changed_tables, kept_ways, varied
from tests.equivalence.draw import Draw

QUERIES = 200
MANY_QUERIES = 5_000
MANY_QUESTIONS = 1_000


@dataclass
class Reference:
    """Tables in memory, some of which are said to be large."""

    tables: Tables
    large: frozenset[str]
    near: bool
    """Whether rows can be looked up without asking."""
    most: int = 10_000
    looked_up: int = 0
    asked: list[Plan] = field(default_factory=list)

    def is_large(self, leaf: Leaf) -> bool:
        match leaf:
            case Scan(table):
                return table in self.large
            case StoredResult():
                return "stored" in self.large
            case _:
                return False

    def count(self, leaf: Scan | StoredResult) -> int:
        return len(evaluate(leaf, self.tables))

    def rows(self, leaf: Scan | Delta | StoredResult) -> Held:
        return held(leaf.names, evaluate(leaf, self.tables), weighted=isinstance(leaf, Delta))

    def look_up(self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed]) -> Held | None:
        if not keys or not self.near:
            return None
        self.looked_up += 1
        wanted = dict(leaf.columns)
        places = {
            place: set(keys[wanted[name]][1]) for place, name in enumerate(leaf.names) if wanted[name] in keys
        }
        rows = evaluate(leaf, self.tables)
        found = {
            row: n for row, n in rows.items() if all(row[place] in values for place, values in places.items())
        }
        return held(leaf.names, found, weighted=False)

    def ask(self, plan: Plan, cuts: Mapping[str, Held]) -> Held:
        self.asked.append(plan)
        answer = evaluate(plan, replace(self.tables, cuts={name: rows.net for name, rows in cuts.items()}))
        return held(plan.names, answer, weighted=HasWeightColumn()(plan))

    divides_decimals = True

    def value(self, scalar: Scalar) -> tuple[Kind, Any]:
        raise Elsewhere("nothing is drawn that isn't plain")


def held(names: tuple[str, ...], rows: ZSet, *, weighted: bool) -> Held:
    kinds = tuple(_kind(row[place] for row in rows) for place in range(len(names)))
    if weighted:
        return Held(names, kinds, list(rows), list(rows.values()))
    return Held(names, kinds, [row for row, times in rows.items() for _ in range(times)])


def _kind(values: Iterable[Any]) -> Kind:
    found = {type(value) for value in values if value is not None}
    if found <= {int}:
        return BIGINT if found else VOID
    if found <= {int, Fraction}:
        return DOUBLE
    if found == {bool}:
        return BOOLEAN
    raise Elsewhere("lists")


def check(seed: int, seen: Counter[str], rounds: int = 6) -> None:
    """Keep a drawn query in all its ways; what is computed here must be what there is at the later end."""
    draw, rng = Draw(seed), random.Random(seed)
    database = draw.database()
    ways = kept_ways(varied(draw.query(database, 4), seed))
    history = [draw.contents(database)]
    for _ in range(rounds):
        history.append(draw.changed(database, history[-1]))
    start = Tables(database.columns, history[0], history[0])
    for way in ways:
        staged = start
        for kept in way:
            staged = kept.fill(staged)
    for before, after in itertools.pairwise(history):
        for way in ways:
            staged = Tables(database.columns, before, after)
            for kept in way:
                old = kept.rows
                plan, _ = kept.smaller(changed_tables(staged), "by rules")
                world = Reference(
                    replace(staged, stored_columns=kept.root.columns, stored=old),
                    frozenset(name for name in (*staged.until, "stored") if rng.random() < 0.5),
                    rng.random() < 0.5,
                )
                staged, (_, expected, _) = kept.refresh(staged, in_steps=False)
                try:
                    found = interpret(plan, world, questions=MANY_QUESTIONS)
                except TooDear as why:
                    seen[f"left alone: {why}"] += 1
                    continue
                seen["computed"] += 1
                seen["questions"] += len(world.asked)
                seen["look-ups"] += world.looked_up
                seen["without a question"] += not world.asked
                assert plus(old, net(found.weighed())) == dict(expected), (seed, kept.piece.table)


def check_many(seen: Counter[str]) -> None:
    for seed in range(QUERIES):
        check(seed, seen)


def test_random_queries_are_computed_here_as_their_plans_say() -> None:
    seen: Counter[str] = Counter()
    check_many(seen)
    assert seen["computed"] > QUERIES, seen
    assert seen["questions"] > QUERIES / 2, seen
    assert seen["look-ups"] > QUERIES / 2, seen
    assert seen["without a question"] > QUERIES / 2, seen


def _nulls_match(held: Held, key_of: Any, needed: list[int]) -> Any:
    return joins_indexed(held, key_of, [])


def _nulls_count(values: Values) -> int:
    return sum(weight for _, weight in values)


def _rows_stay(self: Held, weighed: Weighed) -> Held:
    return replace(self, weights=[abs(weight) for _, weight in weighed])


def _never_far(self: Any, plan: Join, side: Plan, other: Held, *, flipped: bool = False) -> Held:
    found = self._picked(plan, side, other, flipped=not flipped) if side not in self._done else None
    return self.of(side) if found is None else found


joins_indexed = joins._indexed
WRONG: dict[str, tuple[object, str, object]] = {
    "NULL equals NULL": (joins, "_indexed", _nulls_match),
    "the rest of a condition is forgotten": (joins, "_rest", lambda condition, equal: TRUE),
    "NULL is counted": (groups, "_count", _nulls_count),
    "nothing is taken away": (Held, "replaced", _rows_stay),
    "one side is picked by its own values": (interpret_module.Interpreter, "_partners", _never_far),
    "every answer without keys is empty": (interpret_module, "_has_no_rows", lambda plan, held: True),
    "what is looked up isn't joined": (interpret_module, "conjuncts", lambda condition: [condition]),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_computation_is_caught(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, name, wrong = WRONG[what]
    monkeypatch.setattr(target, name, wrong)
    with pytest.raises((AssertionError, ValueError, IndexError, KeyError, NegativeWeight)):
        check_many(Counter())


@pytest.mark.endless
@pytest.mark.timeout(7200)
def test_many_more_random_queries_are_computed_here_as_their_plans_say() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1_000_000, 1_000_000 + MANY_QUERIES):
        check(seed, seen)
    assert seen["computed"] > MANY_QUERIES


class Listening(Reference):
    """Remembers by what rows were looked up."""

    def look_up(self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed]) -> Held | None:
        self.heard = {name: sorted(values) for name, (_, values) in keys.items()}
        return super().look_up(leaf, keys)


def test_rows_below_a_semi_join_are_looked_up_by_its_keys_too() -> None:
    """Every supplier may be asked for, but only few parts: the parts pick the rows."""
    large = Scan("offers", (("part", "part"), ("supplier", "supplier")))
    few = Scan("wanted", (("w", "part"),))
    suppliers = Scan("suppliers", (("s", "id"),))
    picked = Join(large, few, "semi", equal(Ref("part"), Ref("w")))
    plan = Join(picked, suppliers, "inner", equal(Ref("supplier"), Ref("s")))
    contents: dict[str, ZSet] = {
        "offers": {(part, supplier): 1 for part in range(5) for supplier in range(9)},
        "wanted": {(2,): 1, (7,): 1},
        "suppliers": {(supplier,): 1 for supplier in range(1, 9)},
    }
    columns = {"offers": ("part", "supplier"), "wanted": ("part",), "suppliers": ("id",)}
    tables = Tables(columns, contents, contents)
    world = Listening(tables, frozenset({"offers"}), near=True)
    assert interpret(plan, world, questions=0).net == evaluate(plan, tables)
    assert world.heard == {"supplier": list(range(1, 9)), "part": [2, 7]}


def test_what_is_wanted_twice_of_a_column_is_what_both_want() -> None:
    large, few, fewer = (Scan(table, ((name, "id"),)) for table, name in (("l", "a"), ("f", "b"), ("g", "c")))
    picked = Join(large, few, "semi", equal(Ref("a"), Ref("b")))
    plan = Join(picked, fewer, "inner", equal(Ref("a"), Ref("c")))
    contents: dict[str, ZSet] = {
        "l": {(number,): 1 for number in range(9)},
        "f": {(1,): 1, (2,): 1, (3,): 1},
        "g": {(2,): 1, (3,): 1, (4,): 1},
    }
    tables = Tables(dict.fromkeys(contents, ("id",)), contents, contents)
    world = Listening(tables, frozenset({"l"}), near=True)
    assert interpret(plan, world, questions=0).net == evaluate(plan, tables)
    assert world.heard == {"id": [2, 3]}
