"""Random SQL texts that Spark and DuckDB read alike, with tables, rows and rounds of changes.

    case = draw_case(7)
    case.tables      {"r": "k INT, r1 STRING"}       as CREATE TABLE takes them
    case.text        "SELECT …"                      every column has a name, each once
    case.contents    {"r": [(1, "a"), (None, "b")]}
    case.rounds      [{"r": ([deleted rows], [inserted rows])}, …]     each on top of the one before
    case.features    {"full join", "not in", …}      what the text has

Every table has the column `k`, so that USING and NATURAL join; all other columns have names of their
own. Key spaces are small, so that rows meet, tie and repeat. What the engines read differently isn't
drawn: division, ROLLUP over nothing (Spark has no grand total then), `IN` as a value, orders with ties.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tests.equivalence.texts import DECIMAL, INT, KINDS, STRING, Schema, Texts

Value = None | int | str | Decimal
Row = tuple[Value, ...]
Contents = Mapping[str, list[Row]]
Change = Mapping[str, tuple[list[Row], list[Row]]]

VALUES: Mapping[str, tuple[Value, ...]] = {
    INT: (0, 1, 1, 2, 3, None),
    STRING: ("a", "a", "b", "ab", "", None),
    DECIMAL: (Decimal("0.50"), Decimal("1.00"), Decimal("1.00"), Decimal("2.50"), None),
}
ROUNDS = 3


@dataclass(frozen=True)
class Case:
    """One drawn text, and what happens to the tables it reads."""

    seed: int
    tables: Mapping[str, str]
    text: str
    contents: Contents
    rounds: Sequence[Change]
    features: frozenset[str]


def draw_case(seed: int, rounds: int = ROUNDS) -> Case:
    """The case of a seed: the same one every time."""
    chance = random.Random(seed)
    kinds = _schema(chance)
    tables = {
        name: ", ".join(f"{column} {kind}" for column, kind in columns.items())
        for name, columns in kinds.items()
    }
    texts = Texts(chance, kinds)
    text = texts.whole()
    contents = {name: _rows(chance, list(columns.values()), 6) for name, columns in kinds.items()}
    drawn: list[Change] = []
    now: Contents = contents
    for _ in range(rounds):
        drawn.append(_change(chance, kinds, now))
        now = applied(now, drawn[-1])
    return Case(seed, tables, text, contents, tuple(drawn), frozenset(texts.features))


def applied(contents: Contents, change: Change) -> Contents:
    """The contents after a round of changes."""
    after: dict[str, list[Row]] = {}
    for name, rows in contents.items():
        deleted, inserted = change.get(name, ([], []))
        left = Counter(rows)
        left.subtract(deleted)
        assert min(left.values(), default=0) >= 0, "a row is deleted that isn't there"
        after[name] = [*left.elements(), *inserted]
    return after


# -- tables and rows ------------------------------------------------------------------------------


def _schema(chance: random.Random) -> Schema:
    tables = {}
    for name in "rsu"[: chance.randint(2, 3)]:
        rest = {f"{name}{number}": chance.choice(KINDS) for number in range(1, chance.randint(2, 3))}
        tables[name] = {"k": INT, f"{name}0": INT, **rest}
    return tables


def _rows(chance: random.Random, kinds: list[str], most: int) -> list[Row]:
    rows: list[Row] = []
    for _ in range(chance.randint(0, most)):
        if rows and chance.random() < 0.2:
            rows.append(chance.choice(rows))
        else:
            rows.append(tuple(chance.choice(VALUES[kind]) for kind in kinds))
    return rows


def _change(chance: random.Random, schema: Schema, contents: Contents) -> Change:
    """Some tables: rows that come, go, are updated, come and go at once; or all of them go."""
    change: dict[str, tuple[list[Row], list[Row]]] = {}
    for name, rows in contents.items():
        kinds = list(schema[name].values())
        choice = chance.random()
        if choice < 0.25:
            continue
        some = chance.sample(rows, chance.randint(0, min(3, len(rows))))
        come = _rows(chance, kinds, 3)
        if choice < 0.35:
            change[name] = (list(rows), [])
        elif choice < 0.55:
            change[name] = ([], come)
        elif choice < 0.7:
            change[name] = (some, [])
        elif choice < 0.85:
            change[name] = (some, [_updated(chance, kinds, row) for row in some])
        else:
            change[name] = (some, [*come, *some[:1]])
    return change


def _updated(chance: random.Random, kinds: list[str], row: Row) -> Row:
    place = chance.randrange(len(row))
    return (*row[:place], chance.choice(VALUES[kinds[place]]), *row[place + 1 :])
