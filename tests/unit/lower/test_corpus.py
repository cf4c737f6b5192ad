"""The reference on the lowered plan against DuckDB on the user's text, and every plan's change."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from anabranch.algebra.evaluate import Row, evaluate, net, plus
from anabranch.delta import differentiate
from tests.unit.lower.corpus import queries
from tests.unit.lower.databases import DDL, Database, drawn, lowered, plain, tables, tidy

DATABASES = [drawn(seed) for seed in range(6)]
ROUNDS = [(0, 1), (2, 3), (4, 5), (3, 0)]


@pytest.fixture(scope="module")
def oracles() -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """DuckDB with the same rows, one per database; NULLs sort as in Spark."""
    opened = [_oracle(database) for database in DATABASES]
    yield opened
    for connection in opened:
        connection.close()


def _oracle(database: Database) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for name, ddl in DDL.items():
        connection.execute(f"CREATE TABLE {name} ({ddl})")
        for row, weight in database[name].items():
            for _ in range(weight):
                connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    return connection


def _asked(oracle: duckdb.DuckDBPyConnection, query: str) -> dict[Row, int]:
    return tidy(net((tuple(row), 1) for row in oracle.execute(query).fetchall()))


def test_the_corpus_is_large_and_has_no_query_twice() -> None:
    found = queries()
    assert len(found) == len(set(found))
    assert len(found) >= 150


@pytest.mark.parametrize("query", queries())
def test_a_lowered_query_means_what_its_text_says(
    query: str, oracles: list[duckdb.DuckDBPyConnection]
) -> None:
    plan = plain(lowered(query).plan)
    for database, oracle in zip(DATABASES, oracles, strict=True):
        assert tidy(evaluate(plan, tables(database, database))) == _asked(oracle, query)


@pytest.mark.parametrize("query", queries())
def test_the_old_result_and_its_change_are_the_new_result(query: str) -> None:
    plan = plain(lowered(query).plan)
    change = differentiate(plan)
    for before, after in ROUNDS:
        since, until = DATABASES[before], DATABASES[after]
        old = evaluate(plan, tables(since, since))
        new = evaluate(plan, tables(until, until))
        assert plus(old, evaluate(change, tables(since, until))) == new


def test_lowering_twice_gives_the_same_plan() -> None:
    for query in queries():
        assert lowered(query) == lowered(query)
