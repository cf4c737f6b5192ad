"""Random SQL texts × random changes on Spark, through storage: what is stored is what the text gives."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.algebra.plan import walk
from anabranch.errors import InvalidQuery
from tests.equivalence.duck_texts import DuckTexts, lowered
from tests.equivalence.kept import Kept
from tests.equivalence.sql import Case, Change, Contents, applied, draw_case
from tests.large_tables import tables_are_large
from tests.seeds import rotating_seeds

TEXTS, MORE_TEXTS, ROUNDS = 4, 15, 3
MANY_TEXTS = int(os.environ.get("SPARK_TEXTS", "500"))
MANY_ROUNDS = int(os.environ.get("SPARK_ROUNDS", "10"))
SHORT = 30
"""Operators of a plan that Spark plans in a second or two; the longer ones run on request."""


ONCE_WRONG = (766880004,)
"""Texts that something was wrong with before: Spark's optimiser lost a column when it was verified."""
HELD = (0, 50_000, 2)
"""Rows of a table that are read here, in turns: none, all, or so few that others are looked up."""


def write(lake: ab.Lake, after: Contents, change: Change) -> None:
    """Apply a round: rows that only come are inserted, otherwise the table is emptied and filled."""
    with lake.transaction() as tx:
        for name, (deleted, inserted) in change.items():
            if deleted:
                tx.truncate(name)
                tx.insert(name, after[name])
            elif inserted:
                tx.insert(name, inserted)


def check(lake: ab.Lake, case: Case) -> bool:
    """Store a drawn text, change what it reads, and compare at every version; whether it is differential."""
    with lake.transaction() as tx:
        for name, ddl in case.tables.items():
            tx.create_table(name, ddl)
            tx.insert(name, case.contents[name])
    if not readable(lake, case.text):
        return False
    kept = Kept(lake, "kept", case.text)
    contents = case.contents
    with closing(DuckTexts()) as duck:
        duck.create(case.tables)
        for number, change in enumerate(case.rounds):
            contents = applied(contents, change)
            write(lake, contents, change)
            if number % 3 == 1:
                continue  # the next refresh covers two rounds
            lake.set("driver_rows", HELD[(case.seed + number) % len(HELD)])
            with tables_are_large((case.seed + number) % 2 == 1):
                kept.refresh()
            duck.load(contents, contents)
            where = f"seed {case.seed}, round {number}: {case.text}"
            assert stored(lake) == duck.asked(case.text), where
    assert kept.verify().ok, f"seed {case.seed}: {case.text}"
    return not kept.computed_anew


def readable(lake: ab.Lake, text: str) -> bool:
    """Whether Spark reads the text itself: under GROUPING SETS it loses sight of what USING has merged."""
    try:
        lake.sql(text)
    except InvalidQuery:
        return False
    return True


def stored(lake: ab.Lake) -> dict[tuple[Any, ...], int]:
    with lake.snapshot() as snapshot:
        columns = snapshot.arrow("kept").to_pydict()
    return dict(Counter(zip(*columns.values(), strict=True)))


def run(spark: SparkSession, place: Path, cases: Iterable[Case]) -> int:
    """How many were differential: nothing they read is read in full at every refresh."""
    differential = 0
    for number, case in enumerate(cases):
        with ab.connect(place / str(number), spark=spark) as lake:
            differential += check(lake, case)
    return differential


def short(case: Case) -> bool:
    return sum(1 for _ in walk(lowered(case.text, case.tables).plan)) <= SHORT


def test_random_texts_are_kept_round_after_round(spark: SparkSession, place: Path) -> None:
    drawn = (draw_case(seed, rounds=ROUNDS) for seed in rotating_seeds(1_000))
    once_wrong = (draw_case(seed, rounds=ROUNDS) for seed in ONCE_WRONG)
    assert run(spark, place, itertools.chain(once_wrong, itertools.islice(filter(short, drawn), TEXTS))) > 0


@pytest.mark.slow
def test_fifteen_texts_are_kept_round_after_round(spark: SparkSession, place: Path) -> None:
    drawn = (draw_case(seed, rounds=ROUNDS) for seed in itertools.count())
    differential = run(spark, place, itertools.islice(filter(short, drawn), MORE_TEXTS))
    assert differential >= MORE_TEXTS * 3 // 4


@pytest.mark.endless
@pytest.mark.timeout(6 * 3600)
def test_many_texts_are_kept_round_after_round(spark: SparkSession, place: Path) -> None:
    cases = (draw_case(seed, rounds=MANY_ROUNDS) for seed in range(1_000, 1_000 + MANY_TEXTS))
    assert run(spark, place, cases) >= MANY_TEXTS // 2
