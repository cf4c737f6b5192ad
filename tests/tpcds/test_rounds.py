"""The rounds of changes are a workload worth measuring: each query sees them, and a lake takes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from bench.tpcds import change_fact_tables
from tests.engines.lakes import duck_lake
from tests.tpcds.data import QUERIES, load, read
from tests.tpcds.parameters import substitute
from tests.tpcds.rounds import DIMENSIONS, FACTS, change_dimensions, change_facts
from tests.tpch.rounds import Contents, Round, replayed
from tests.tpch.test_rounds import Bag, equal, keys, minus, result

SHARE = 0.03


@pytest.fixture(scope="module")
def generated(tpcds: Path) -> Contents:
    return read(tpcds)


@pytest.fixture
def connection(generated: Contents) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(generated) as opened:
        yield opened


def connect(contents: Contents) -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    for name, rows in contents.items():
        opened.register(name, rows)
    return opened


def test_about_a_share_of_every_fact_table_changes(
    generated: Contents, connection: duckdb.DuckDBPyConnection
) -> None:
    for name, change in change_facts(connection, 0, SHARE).changes.items():
        changed = change.deleted.num_rows + change.inserted.num_rows
        assert 0.4 * SHARE < changed / generated[name].num_rows < 2 * SHARE, name
        assert change.updated.num_rows, name
        assert change.inserted.num_rows, name
        assert change.deleted.num_rows > change.updated.num_rows, name


def test_returns_go_and_come_with_their_orders(
    generated: Contents, connection: duckdb.DuckDBPyConnection
) -> None:
    drawn = change_facts(connection, 0, SHARE).changes
    for sales, returns, order in (
        ("store_sales", "store_returns", "ticket_number"),
        ("catalog_sales", "catalog_returns", "order_number"),
        ("web_sales", "web_returns", "order_number"),
    ):
        sold, came_back = FACTS[sales][0], FACTS[returns][0]
        assert sold.endswith(order)
        assert keys(drawn[returns].inserted, came_back) <= keys(drawn[sales].inserted, sold)
        assert keys(drawn[returns].deleted, came_back) <= keys(drawn[sales].deleted, sold)
        assert not keys(drawn[sales].inserted, sold) & keys(generated[sales], sold)


def test_a_round_is_a_difference_of_bags(generated: Contents) -> None:
    before = generated
    for number in range(2):
        with connect(before) as connection:
            changes = {
                **change_facts(connection, number, SHARE).changes,
                **change_dimensions(connection, number, SHARE).changes,
            }
        assert set(changes) == FACTS.keys() | DIMENSIONS.keys()
        after = replayed(before, Round(changes))
        for name, change in changes.items():
            came = pa.concat_tables([change.updated, change.inserted])
            assert not minus(change.deleted, before[name]), f"{name} loses rows that it didn't have"
            assert equal(
                pa.concat_tables([before[name], came]), pa.concat_tables([after[name], change.deleted])
            )
            assert keys(change.updated, *change.key) <= keys(change.deleted, *change.key)
            assert len(keys(after[name], *change.key)) == after[name].num_rows, f"{name} has a key twice"
        before = after


def test_the_same_number_gives_the_same_round(connection: duckdb.DuckDBPyConnection) -> None:
    once, again, other = (change_facts(connection, number, SHARE) for number in (3, 3, 4))
    assert once == again
    assert once != other


def test_a_lake_takes_the_rounds_of_the_benchmark(tpcds: Path, place: Path) -> None:
    with duck_lake(place) as lake:
        load(lake, tpcds)
        for number in range(2):
            before = {name: lake.arrow(name) for name in FACTS}
            assert change_fact_tables(lake, number, SHARE) > len(FACTS)
            assert not any(equal(lake.arrow(name), rows) for name, rows in before.items())


@pytest.mark.slow
def test_every_query_has_rows_and_most_see_a_round(generated: Contents) -> None:
    before = results(generated)
    assert {name for name, rows in before.items() if not rows} == set()
    with connect(generated) as connection:
        changes = {
            **change_facts(connection, 0, SHARE).changes,
            **change_dimensions(connection, 0, SHARE).changes,
        }
    after = results(replayed(generated, Round(changes)))
    unseen = {name for name in QUERIES if before[name] == after[name]}
    assert len(unseen) < len(QUERIES) / 3, unseen


def results(contents: Contents) -> dict[str, Bag]:
    texts = {name: substitute(name, text).replace("`", '"') for name, text in QUERIES.items()}
    return result(contents, texts)
