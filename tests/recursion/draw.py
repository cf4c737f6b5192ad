"""Random recursive tables, and random changes of what they are made from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.algebra.evaluate import ZSet, plus
from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    SetOp,
    UnionAll,
)
from anabranch.algebra.scalar import Call, Literal, Ref, Scalar, equal
from anabranch.delta.recursion import RecursiveTable

SOURCES = ("e", "f")
COLUMNS = dict.fromkeys(SOURCES, ("a", "b"))
VALUES = (None, 0, 1, 2, 3, 4)


@dataclass
class Draw:
    """One program: members over (a, b), each a union of a beginning and of steps."""

    seed: int

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.members = ["r", "s", "t"][: self.chance.choice([1, 1, 2, 2, 3])]
        self._names = 0

    def loops(self) -> list[RecursiveTable]:
        made = []
        for place, name in enumerate(self.members):
            parts = [self._outside(1)] if place == 0 or self.chance.random() < 0.6 else []
            for _ in range(self.chance.choice([1, 1, 2])):
                parts.append(self._step(self.chance.choice([1, 2, 2, 3])))
            plan: Plan = UnionAll(tuple(parts)) if len(parts) > 1 else parts[0]
            # Without DISTINCT somewhere most of them never end; some may.
            if self.chance.random() < 0.75:
                plan = Distinct(plan)
            elif self.chance.random() < 0.5:
                plan = self._project(plan)
            made.append(RecursiveTable(name, plan, ("a", "b")))
        return made

    def database(self) -> dict[str, ZSet]:
        return {name: self._rows(self.chance.randint(0, 7)) for name in SOURCES}

    def changes(self, database: dict[str, ZSet], rounds: int) -> Iterator[dict[str, ZSet]]:
        for _ in range(rounds):
            database = dict(database)
            for name in self.chance.sample(SOURCES, self.chance.choice([1, 1, 2])):
                kind = self.chance.choice(["insert", "delete", "both", "both", "empty"])
                rows = dict(database[name])
                if kind == "empty" and self.chance.random() < 0.7:
                    kind = "both"
                if kind in ("delete", "both"):
                    for row in self.chance.sample(sorted(rows, key=str), min(len(rows), 2)):
                        rows = plus(rows, {row: -1})
                if kind in ("insert", "both"):
                    rows = plus(rows, self._rows(self.chance.randint(1, 3)))
                database[name] = {} if kind == "empty" else rows
            yield database

    def _rows(self, count: int) -> ZSet:
        return plus(*({(self._value(), self._value()): 1} for _ in range(count)))

    def _value(self) -> int | None:
        return self.chance.choice(VALUES) if self.chance.random() < 0.3 else self.chance.choice(VALUES[1:])

    # -- plans ----------------------------------------------------------------------------------

    def _fresh(self) -> tuple[str, str]:
        self._names += 1
        return f"a{self._names}", f"b{self._names}"

    def _scan(self, table: str) -> Plan:
        first, second = self._fresh()
        return Scan(table, ((first, "a"), (second, "b")))

    def _project(self, plan: Plan, items: tuple[Scalar, Scalar] | None = None) -> Plan:
        first, second = self._fresh()
        one, two = (Ref(name) for name in plan.names[:2])
        left, right = items or self.chance.choice([(one, two), (two, one), (one, one)])
        return Project(plan, ((first, left), (second, right)))

    def _outside(self, depth: int) -> Plan:
        """Anything at all over sources."""
        one = self._scan(self.chance.choice(SOURCES))
        kind = self.chance.choice(["scan", "scan", "scan", "except", "group", "anti", "union", "left"])
        other = self._scan(self.chance.choice(SOURCES))
        key = equal(Ref(one.names[0]), Ref(other.names[self.chance.choice([0, 1])]))
        match kind:
            case "except":
                return SetOp(one, other, "except", self.chance.random() < 0.3)
            case "group":
                first, second = self._fresh()
                calls = ((second, AggregateCall("max", (Ref(one.names[1]),))),)
                return Aggregate(one, ((first, Ref(one.names[0])),), calls)
            case "anti":
                return Join(one, other, "anti", key)
            case "union":
                return UnionAll((one, other))
            case "left":
                joined = Join(one, other, "left", key)
                return self._project(joined, (Ref(one.names[0]), Ref(other.names[1])))
            case _:
                return one

    def _step(self, depth: int) -> Plan:
        """Something that only gains rows as members do, and reads one."""
        if depth == 0:
            return self._scan(self.chance.choice(self.members))
        inner = self._step(depth - 1)
        one, two = (Ref(name) for name in inner.names[:2])
        kind = self.chance.choice(
            ["join", "join", "join", "filter", "project", "union", "distinct", "semi", "left", "sect"]
        )
        other = self._other(depth)
        key = equal(two, Ref(other.names[0]))
        match kind:
            case "join":
                sides = (inner, other) if self.chance.random() < 0.7 else (other, inner)
                return self._project(Join(*sides, "inner", key), (one, Ref(other.names[1])))
            case "filter":
                return Filter(inner, Call(self.chance.choice(["<", "<>"]), (one, Literal(3))))
            case "project":
                return self._project(inner)
            case "union":
                return UnionAll((inner, other))
            case "distinct":
                return Distinct(inner)
            case "semi":
                sides = (inner, other) if self.chance.random() < 0.6 else (other, inner)
                return Join(*sides, "semi", key)
            case "left":
                outside = self._outside(1)
                on = equal(two, Ref(outside.names[0]))
                return self._project(Join(inner, outside, "left", on), (one, Ref(outside.names[1])))
            case _:
                sides = (inner, other) if self.chance.random() < 0.5 else (other, inner)
                return SetOp(*sides, "intersect")

    def _other(self, depth: int) -> Plan:
        if self.chance.random() < 0.35:
            return self._step(min(depth - 1, 1))
        return self._outside(1)
