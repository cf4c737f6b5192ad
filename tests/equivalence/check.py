"""The one law that everything rests on: old result + change = new result, for a drawn query."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.algebra.evaluate import Tables, ZSet, evaluate, plus
from anabranch.algebra.plan import Plan
from anabranch.delta import differentiate
from anabranch.delta.simplify import simplify
from tests.equivalence.draw import Draw


@dataclass(frozen=True)
class Mismatch:
    """A query and a change for which the law doesn't hold."""

    seed: int
    what: str
    plan: Plan
    tables: Tables
    expected: ZSet
    found: ZSet


def check_seed(seed: int, *, depth: int = 4, rounds: int = 10) -> tuple[Plan, Mismatch | None]:
    """Draw a database, a query and changes; the query, and the first mismatch if there is one."""
    draw = Draw(seed)
    database = draw.database()
    plan = draw.query(database, depth)
    change = differentiate(plan)
    smaller: dict[frozenset[str], Plan] = {}
    before = draw.contents(database)
    old = evaluate(plan, Tables(database.columns, before, before))
    for _ in range(rounds):
        after = draw.changed(database, before)
        tables = Tables(database.columns, before, after)
        new = evaluate(plan, tables)
        changed = frozenset(name for name in after if dict(before[name]) != dict(after[name]))
        if changed not in smaller:
            smaller[changed] = simplify(change, changed=changed)
        for what, candidate in (("rules", change), ("simplified", smaller[changed])):
            found = plus(old, evaluate(candidate, tables))
            if found != dict(new):
                return plan, Mismatch(seed, what, plan, tables, new, found)
        before, old = after, new
    return plan, None
