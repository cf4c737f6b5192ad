"""All 99 queries, stored and kept up to date by their changes alone, on DuckDB and on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.refresh.define import recompute
from anabranch.refresh.inputs import Sources
from tests.engines.lakes import duck_lake
from tests.equivalence.kept import Kept
from tests.large_tables import tables_are_large
from tests.rounded_rows import sort_rounded
from tests.tpcds.data import QUERIES, load
from tests.tpcds.parameters import FOR_FEW_ROWS, substitute
from tests.tpcds.rounds import change_dimensions, change_facts
from tests.tpcds.schemas import SCHEMAS
from tests.tpch.rounds import Round, apply_round

SHARES = (0.03, 0.02)
"""How much of the fact tables changes in every round, and of the dimensions in the second one."""
ONLY_ON_SPARK = {"q70", "q86"}
"""They show what grouping() says, which is a TINYINT in Spark and a BIGINT in DuckDB."""
DRIVER_ROWS = (0, 5000)
"""Rows of a table that are read here, round by round: none, or as many as usual."""

History = tuple[ab.Lake, list[int]]
"""A lake after rounds of changes, and the lsn of the first contents and of each round."""


def change_again_and_again(lake: ab.Lake, data: Path) -> History:
    """Load the tables; then the facts change, and then the facts and the dimensions."""
    lsns = [load(lake, data)]
    for number in range(2):
        with lake.snapshot() as snapshot, duckdb.connect() as connection:
            for table in map(str, SCHEMAS):
                connection.register(table, snapshot.arrow(table))
            facts, dimensions = SHARES
            changes = dict(change_facts(connection, number, facts).changes)
            if number:
                changes |= change_dimensions(connection, number, dimensions).changes
        lsn = apply_round(lake, Round(changes))
        assert lsn is not None
        lsns.append(lsn)
    return lake, lsns


@pytest.fixture(scope="module")
def on_duckdb(tpcds: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with duck_lake(tmp_path_factory.mktemp("tpcds") / "lake", optimise=True) as lake:
        yield change_again_and_again(lake, tpcds)


@pytest.fixture(scope="module")
def on_spark(tpcds: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with ab.connect(tmp_path_factory.mktemp("tpcds") / "lake", spark=spark) as lake:
        yield change_again_and_again(lake, tpcds)


def has_rounded_rows(lake: ab.Lake, kept: Kept) -> bool:
    """Whether the stored rows are those of the query computed anew but for the last digits of doubles."""
    context = lake._context
    lake_version = context.catalog.lake_version(kept.lsn)
    expected = context.engine.collect(
        recompute(kept.definition, Sources(context, lake_version, lake_version))
    )
    stored = lake.arrow(str(kept.definition.name))
    if not any(pa.types.is_floating(field.type) for field in stored.schema):
        return False
    return sort_rounded(stored).equals(sort_rounded(expected.cast(stored.schema)))


def without_limit(text: str) -> str:
    """The query with all rows of its result: its order would choose a hundred of them."""
    return text[: text.rindex("\nORDER BY")] if "\nORDER BY" in text and "\nLIMIT" in text else text


LIMITED = [name for name, text in QUERIES.items() if without_limit(text) != text]


def test_there_are_99_queries() -> None:
    assert len(QUERIES) == 99
    assert set(QUERIES) >= set(FOR_FEW_ROWS)


@pytest.mark.rotating(33)
@pytest.mark.parametrize("name", sorted(QUERIES.keys() - ONLY_ON_SPARK))
def test_on_duckdb_a_query_is_what_it_would_be_computed_anew(name: str, on_duckdb: History) -> None:
    check_query(name, f"kept_{name}", substitute(name, QUERIES[name]), on_duckdb)


@pytest.mark.rotating(33)
@pytest.mark.parametrize("name", sorted(set(LIMITED) - ONLY_ON_SPARK))
def test_on_duckdb_a_query_without_its_limit_is_what_it_would_be_computed_anew(
    name: str, on_duckdb: History
) -> None:
    text = without_limit(substitute(name, QUERIES[name]))
    check_query(name, f"kept_whole_{name}", text, on_duckdb)


@pytest.mark.rotating(99)
@pytest.mark.parametrize("name", sorted(QUERIES))
def test_on_spark_a_query_is_what_it_would_be_computed_anew(name: str, on_spark: History) -> None:
    check_query(name, f"kept_{name}", substitute(name, QUERIES[name]), on_spark)


def check_query(name: str, stored: str, text: str, history: History) -> None:
    lake, (first, *later) = history
    kept = Kept(lake, stored, text, at=first)
    for number, lsn in enumerate(later):
        lake.set("driver_rows", DRIVER_ROWS[number % len(DRIVER_ROWS)])
        with tables_are_large(number % 2 == 0):
            kept.refresh(lsn)
        assert kept.verify().ok or has_rounded_rows(lake, kept), f"{name} at lsn {lsn}"
    assert lake._context.catalog.lake_version().version(kept.definition.name).rows, f"{name} has no rows"
