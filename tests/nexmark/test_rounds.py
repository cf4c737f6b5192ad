"""The rounds of changes are a workload worth measuring: each query sees them, and a lake takes them."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import anabranch as ab
from tests.nexmark.data import generate, load
from tests.nexmark.rounds import KEYS, every_table
from tests.tpch.rounds import Contents, apply_round, contents_of, replayed

QUERIES = {path.stem: path.read_text() for path in sorted(Path(__file__).parent.glob("queries/*.sql"))}
ROUNDS = 5

Bag = Counter[tuple[Any, ...]]


@pytest.fixture(scope="module")
def results(nexmark: Contents) -> list[dict[str, Bag]]:
    """What the queries give at first, and after each round."""
    return [result(contents) for contents in history(nexmark)]


def test_the_generated_bids_have_a_key(nexmark: Contents) -> None:
    for name, key in KEYS.items():
        found = nexmark[name].select(key)
        assert len(bag(found)) == found.num_rows > 0


def test_the_same_seed_gives_the_same_rows(nexmark: Contents) -> None:
    assert generate() == nexmark
    assert generate(1) != nexmark


def test_the_same_number_gives_the_same_round(nexmark: Contents) -> None:
    assert every_table(nexmark, 3) == every_table(nexmark, 3)
    assert every_table(nexmark, 3) != every_table(nexmark, 4)


def test_every_query_sees_most_rounds(results: list[dict[str, Bag]]) -> None:
    seen = Counter(name for a, b in pairwise(results) for name in QUERIES if a[name] != b[name])
    assert {name for name in QUERIES if seen[name] < 3} == set()


def test_results_get_rows_and_lose_rows(results: list[dict[str, Bag]]) -> None:
    assert {name for name in QUERIES if not any(b[name] - a[name] for a, b in pairwise(results))} == set()
    assert {name for name in QUERIES if not any(a[name] - b[name] for a, b in pairwise(results))} == set()


def test_a_round_is_a_difference_of_bags(nexmark: Contents) -> None:
    for number, (before, after) in enumerate(pairwise(history(nexmark))):
        for name, change in every_table(before, number).changes.items():
            gone, came = bag(change.deleted), bag(change.updated) + bag(change.inserted)
            assert gone <= bag(before[name])
            assert bag(before[name]) - gone + came == bag(after[name]) != bag(before[name])
            assert bag(change.updated.select(KEYS[name])) <= bag(change.deleted.select(KEYS[name]))


def test_rounds_hold_the_awkward_changes(nexmark: Contents) -> None:
    drawn = every_table(nexmark, 0)
    for name, change in drawn.changes.items():
        assert bag(change.deleted) & bag(change.updated), f"no row of {name} is updated to itself"
        assert bag(change.deleted) & bag(change.inserted), f"no row of {name} goes and comes again"
    later = every_table(replayed(nexmark, drawn), 1)
    assert max(bag(later.changes["bid"].deleted).values()) == 2, "no bid is deleted with its twin"


def test_a_lake_does_what_a_round_says(nexmark: Contents, spark_lake: ab.Lake) -> None:
    expected, lsn = nexmark, load(spark_lake, nexmark)
    for number in range(2):
        drawn = every_table(contents_of(spark_lake, KEYS), number)
        assert drawn == every_table(expected, number)
        expected = replayed(expected, drawn)
        assert apply_round(spark_lake, drawn) == lsn + number + 1
        held = contents_of(spark_lake, KEYS)
        assert {name: bag(held[name]) for name in KEYS} == {name: bag(expected[name]) for name in KEYS}


# -- looking at rounds ------------------------------------------------------------------------


def history(contents: Contents) -> list[Contents]:
    """The contents at first and after each round."""
    return list(
        accumulate(range(ROUNDS), lambda held, n: replayed(held, every_table(held, n)), initial=contents)
    )


def result(contents: Contents) -> dict[str, Bag]:
    """What DuckDB says the queries give; fractions to nine digits, because rows are added in any order."""
    with duckdb.connect() as connection:
        for name, rows in contents.items():
            connection.register(name, rows)
        return {name: rounded(connection.sql(q).to_arrow_table()) for name, q in QUERIES.items()}


def rounded(rows: pa.Table) -> Bag:
    return Counter(
        tuple(f"{value:.9g}" if isinstance(value, float) else value for value in row)
        for row in bag(rows).elements()
    )


def bag(rows: pa.Table) -> Bag:
    return Counter(zip(*(column.to_pylist() for column in rows.columns), strict=True))
