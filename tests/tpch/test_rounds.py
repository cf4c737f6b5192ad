"""The rounds of changes are a workload worth measuring: each query sees them, and a lake takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import anabranch as ab
from tests.tpch.data import load, read
from tests.tpch.rounds import (
    KEYS,
    Contents,
    Round,
    apply_round,
    contents_of,
    every_table,
    refresh_functions,
    replayed,
)

QUERIES = {path.stem: path.read_text() for path in sorted(Path(__file__).parent.glob("queries/*.sql"))}
ROUNDS = 5

Bag = Counter[tuple[Any, ...]]
Draw = Callable[[Contents, int], Round]


def refresh(contents: Contents, number: int) -> Round:
    return refresh_functions(contents, number, 0.01)


@pytest.fixture(scope="module")
def generated(tpch: Path) -> Contents:
    return read(tpch)


@pytest.fixture(scope="module")
def results(generated: Contents) -> list[dict[str, Bag]]:
    """What the queries give at first, and after each round that changes every table."""
    return [result(contents) for contents in history(generated, every_table)]


def test_every_query_sees_most_rounds_that_change_every_table(results: list[dict[str, Bag]]) -> None:
    seen = Counter(name for changed in changed_queries(results) for name in changed)
    assert {name for name in QUERIES if seen[name] < 3} == set()


def test_results_get_rows_and_lose_rows(results: list[dict[str, Bag]]) -> None:
    assert {name for name in QUERIES if not any(b[name] - a[name] for a, b in pairwise(results))} == set()
    assert {name for name in QUERIES if not any(a[name] - b[name] for a, b in pairwise(results))} == set()


def test_only_queries_over_orders_see_the_refresh_functions(generated: Contents) -> None:
    changed = changed_queries([result(contents) for contents in history(generated, refresh)])
    seen = set().union(*changed)
    assert {"q01", "q03", "q04", "q05", "q06", "q10", "q13"} <= seen
    assert not {"q02", "q11", "q16"} & seen


def test_refresh_functions_delete_as_many_orders_as_they_insert(generated: Contents) -> None:
    drawn = refresh(generated, 0)
    orders, lines = drawn.changes["orders"], drawn.changes["lineitem"]
    assert orders.deleted.num_rows == orders.inserted.num_rows == 150
    assert keys(lines.deleted, "l_orderkey") == keys(orders.deleted, "o_orderkey")
    assert keys(lines.inserted, "l_orderkey") == keys(orders.inserted, "o_orderkey")
    assert not keys(orders.inserted, "o_orderkey") & keys(generated["orders"], "o_orderkey")


@pytest.mark.parametrize("draw", [every_table, refresh])
def test_a_round_is_a_difference_of_bags(generated: Contents, draw: Draw) -> None:
    before = generated
    for number in range(2):
        drawn = draw(before, number)
        after = replayed(before, drawn)
        for name, change in drawn.changes.items():
            came = pa.concat_tables([change.updated, change.inserted])
            assert not minus(change.deleted, before[name]), f"{name} loses rows that it didn't have"
            assert equal(
                pa.concat_tables([before[name], came]), pa.concat_tables([after[name], change.deleted])
            )
            assert keys(change.updated, *KEYS[name]) <= keys(change.deleted, *KEYS[name])
            assert after[name].schema == before[name].schema
        before = after


def test_every_round_changes_every_table(generated: Contents) -> None:
    for before, after in pairwise(history(generated, every_table)):
        assert not any(equal(before[name], after[name]) for name in KEYS)


def test_rounds_hold_the_awkward_changes(generated: Contents) -> None:
    drawn = every_table(generated, 0)
    for name, change in drawn.changes.items():
        assert bag(change.deleted) & bag(change.updated), f"no row of {name} is updated to itself"
    for name in ("supplier", "partsupp", "orders", "lineitem"):
        change = drawn.changes[name]
        assert bag(change.deleted) & bag(change.inserted), f"no row of {name} goes and comes again"
    for name in ("customer", "orders", "lineitem"):
        assert minus(drawn.changes[name].inserted, generated[name]) < drawn.changes[name].inserted.num_rows
    later = every_table(replayed(generated, drawn), 1).changes
    for name in ("customer", "orders", "lineitem"):
        assert max(bag(later[name].deleted).values()) == 2, f"no row of {name} is deleted with its twin"


@pytest.mark.parametrize("draw", [every_table, refresh])
def test_the_same_number_gives_the_same_round(generated: Contents, draw: Draw) -> None:
    once, again, other = draw(generated, 3), draw(generated, 3), draw(generated, 4)
    assert once == again
    assert once != other


def test_a_lake_holds_the_generated_rows(generated: Contents, tpch: Path, lake: ab.Lake) -> None:
    assert load(lake, tpch) == lake.lsn
    held = contents_of(lake)
    assert all(equal(held[name], generated[name]) for name in KEYS)


def test_a_lake_does_what_a_round_says(generated: Contents, tpch: Path, spark_lake: ab.Lake) -> None:
    expected, lsn = generated, load(spark_lake, tpch)
    for number in range(2):
        drawn = every_table(contents_of(spark_lake), number)
        assert drawn == every_table(expected, number)
        expected = replayed(expected, drawn)
        assert apply_round(spark_lake, drawn) == lsn + number + 1
        held = contents_of(spark_lake)
        assert all(equal(held[name], expected[name]) for name in KEYS)


# -- looking at rounds ------------------------------------------------------------------------


def history(contents: Contents, draw: Draw) -> list[Contents]:
    """The contents at first and after each round."""
    return list(accumulate(range(ROUNDS), lambda held, n: replayed(held, draw(held, n)), initial=contents))


def changed_queries(results: list[dict[str, Bag]]) -> list[set[str]]:
    """Per round, the queries whose result is another one after it."""
    return [{name for name in QUERIES if a[name] != b[name]} for a, b in pairwise(results)]


def result(contents: Contents, queries: Mapping[str, str] = QUERIES) -> dict[str, Bag]:
    """What DuckDB says the queries give; fractions to nine digits, because rows are added in any order."""
    with duckdb.connect() as connection:
        for name, rows in contents.items():
            connection.register(name, rows)
        return {name: Counter(map(_rounded, connection.execute(q).fetchall())) for name, q in queries.items()}


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(f"{value:.9g}" if isinstance(value, float) else value for value in row)


def equal(left: pa.Table, right: pa.Table) -> bool:
    """Whether two tables are the same bag."""
    return left.num_rows == right.num_rows and not minus(left, right)


def minus(left: pa.Table, right: pa.Table) -> int:
    """How many rows of the left bag the right one lacks."""
    with duckdb.connect() as connection:
        connection.register("l", left)
        connection.register("r", right)
        query = "SELECT count(*) FROM (FROM l EXCEPT ALL FROM r)"
        return int(connection.execute(query).fetchall()[0][0])


def bag(rows: pa.Table) -> Bag:
    return Counter(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def keys(rows: pa.Table, *columns: str) -> set[tuple[Any, ...]]:
    return set(zip(*(rows[column].to_pylist() for column in columns), strict=True))
