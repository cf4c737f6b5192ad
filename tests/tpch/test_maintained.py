"""All 22 queries, stored and kept up to date by their changes alone: all on DuckDB, some on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from tests.engines.lakes import duck_lake
from tests.equivalence.kept import Kept
from tests.large_tables import tables_are_large
from tests.tpch.data import load
from tests.tpch.rounds import apply_round, contents_of, every_table

QUERIES = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "queries").glob("*.sql"))}
ROUNDS = int(os.environ.get("TPCH_ROUNDS", "2"))
ANEW_ON_DUCKDB = {"q22": frozenset({"customer"})}
"""There the average of decimals is a double, which no change can be added to."""
ONLY_ON_SPARK = {"q17"}
"""It divides decimals, which DuckDB does in doubles: always run on Spark."""
ROTATING = pytest.mark.rotating(3)
HELD = (0, 500, 50_000)
"""Rows of a table that are read here, in turns: none, a few, or all of small tables."""


History = tuple[ab.Lake, list[int]]
"""A lake through whose history every table changed again and again, and the lsn after each round."""


def change_again_and_again(lake: ab.Lake, data: Path) -> History:
    lsns = [load(lake, data)]
    for number in range(ROUNDS):
        lsn = apply_round(lake, every_table(contents_of(lake), number))
        assert lsn is not None
        lsns.append(lsn)
    return lake, lsns


@pytest.fixture(scope="module")
def on_duckdb(tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with duck_lake(tmp_path_factory.mktemp("tpch") / "lake", optimise=True) as lake:
        yield change_again_and_again(lake, tpch)


@pytest.fixture(scope="module")
def on_spark(
    tpch_at_scale: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[History]:
    with ab.connect(tmp_path_factory.mktemp("tpch") / "lake", spark=spark) as lake:
        yield change_again_and_again(lake, tpch_at_scale)


def test_there_are_22_queries() -> None:
    assert len(QUERIES) == 22


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - ONLY_ON_SPARK))
def test_on_duckdb_a_query_is_what_it_would_be_computed_anew(name: str, on_duckdb: History) -> None:
    check_query(name, on_duckdb, ANEW_ON_DUCKDB.get(name, frozenset()))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ONLY_ON_SPARK else ROTATING) for name in QUERIES]
)
def test_on_spark_a_query_is_what_it_would_be_computed_anew(name: str, on_spark: History) -> None:
    check_query(name, on_spark, frozenset())


def check_query(name: str, history: History, computed_anew: frozenset[str]) -> None:
    lake, (first, *later) = history
    kept = Kept(lake, f"kept_{name}", QUERIES[name], at=first)
    # What is sorted again, or has no keys, is stored state.
    assert {str(table) for table in kept.computed_anew} == computed_anew
    for number, lsn in enumerate(later):
        lake.set("driver_rows", HELD[number % len(HELD)])
        with tables_are_large(number % 2 == 0):
            kept.refresh(lsn)
        assert kept.verify().ok, f"{name} at lsn {lsn}"
