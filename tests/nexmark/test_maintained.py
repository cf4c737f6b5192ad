"""Nexmark's queries without time windows, kept up to date by changes: all on DuckDB, some on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from tests.engines.lakes import duck_lake
from tests.equivalence.kept import Kept
from tests.large_tables import tables_are_large
from tests.nexmark.data import load
from tests.nexmark.rounds import KEYS, every_table
from tests.tpch.rounds import apply_round, contents_of

QUERIES = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "queries").glob("*.sql"))}
ROUNDS = 2
HELD = (0, 500, 50_000)
"""Rows of a table that are read here, in turns: none, a few, or all of small tables."""
COMPUTED_ANEW = {"q7": {"bid"}}
"""What is read in full at every refresh: the largest price of all bids, when bids changed."""


History = tuple[ab.Lake, list[int]]
"""A lake through whose history people, auctions and bids changed, and the lsn after each round."""


def change_again_and_again(lake: ab.Lake, data: Mapping[str, pa.Table]) -> History:
    load(lake, data)
    lsns = [lake.lsn]
    for number in range(ROUNDS):
        lsn = apply_round(lake, every_table(contents_of(lake, KEYS), number))
        assert lsn is not None
        lsns.append(lsn)
    return lake, lsns


@pytest.fixture(scope="module")
def on_duckdb(nexmark: Mapping[str, pa.Table], tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with duck_lake(tmp_path_factory.mktemp("nexmark") / "lake", optimise=True) as lake:
        yield change_again_and_again(lake, nexmark)


@pytest.fixture(scope="module")
def on_spark(
    nexmark: Mapping[str, pa.Table], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[History]:
    with ab.connect(tmp_path_factory.mktemp("nexmark") / "lake", spark=spark) as lake:
        yield change_again_and_again(lake, nexmark)


def test_there_are_ten_queries() -> None:
    assert len(QUERIES) == 10


@pytest.mark.parametrize("name", QUERIES)
def test_on_duckdb_a_query_is_what_it_would_be_computed_anew(name: str, on_duckdb: History) -> None:
    check_query(name, on_duckdb)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", QUERIES)
def test_on_spark_a_query_is_what_it_would_be_computed_anew(name: str, on_spark: History) -> None:
    check_query(name, on_spark)


def check_query(name: str, history: History) -> None:
    lake, (first, *later) = history
    kept = Kept(lake, f"kept_{name}", QUERIES[name], at=first)
    assert {str(table) for table in kept.computed_anew} == COMPUTED_ANEW.get(name, set())
    for number, lsn in enumerate(later):
        lake.set("driver_rows", HELD[number % len(HELD)])
        with tables_are_large(number % 2 == 0):
            kept.refresh(lsn)
        assert kept.verify().ok, f"{name} at lsn {lsn}"
