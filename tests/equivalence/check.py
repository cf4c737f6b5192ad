"""The one law that everything rests on: old result + change = new result, for a drawn query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.algebra.evaluate import Tables, ZSet, evaluate, plus
from anabranch.algebra.plan import Aggregate, Plan
from anabranch.delta import differentiate
from anabranch.delta.ends import since
from anabranch.delta.root import maintained
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


def drawn_types(plan: Plan) -> dict[str, str]:
    """What the engine would say: everything that is drawn is made of integers."""
    averages = (
        {name for name, call in plan.calls if call.function == "avg"} if isinstance(plan, Aggregate) else ()
    )
    kind = "bigint" if isinstance(plan, Aggregate) else "int"
    return {name: "double" if name in averages else kind for name in plan.names}


def check_seed(seed: int, *, depth: int = 4, rounds: int = 10) -> tuple[Plan, Mismatch | None]:
    """Draw a database, a query and changes; the query, and the first mismatch if there is one."""
    draw = Draw(seed)
    database = draw.database()
    plan = draw.query(database, depth)
    change = differentiate(plan)
    root = maintained(plan, plan.names, drawn_types)
    smaller: dict[frozenset[str], tuple[Plan, Plan]] = {}
    before = draw.contents(database)
    old = evaluate(plan, Tables(database.columns, before, before))
    for _ in range(rounds):
        after = draw.changed(database, before)
        tables = Tables(database.columns, before, after)
        new = evaluate(plan, tables)
        changed = frozenset(name for name in after if dict(before[name]) != dict(after[name]))
        if changed not in smaller:
            smaller[changed] = simplify(change, changed=changed), simplify(root.change, changed=changed)
        for what, candidate in (("rules", change), ("simplified", smaller[changed][0])):
            found = plus(old, evaluate(candidate, tables))
            if found != dict(new):
                return plan, Mismatch(seed, what, plan, tables, new, found)
        stored = evaluate(since(root.stored), tables)
        tables = replace(tables, stored_columns=root.columns, stored=stored)
        kept = evaluate(root.stored, tables)
        for what, candidate in (("root", root.change), ("simplified root", smaller[changed][1])):
            found = plus(stored, evaluate(candidate, tables))
            if found != dict(kept):
                return plan, Mismatch(seed, what, plan, tables, kept, found)
        before, old = after, new
    return plan, None
