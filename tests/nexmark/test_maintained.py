"""Nexmark's queries without time windows, stored and kept up to date by their changes alone, on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from tests.equivalence.kept import Kept
from tests.nexmark.data import load
from tests.nexmark.rounds import KEYS, every_table
from tests.tpch.rounds import apply_round, contents_of

QUERIES = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "queries").glob("*.sql"))}
ROUNDS = 2
HELD = (0, 500, 50_000)
"""Rows of a table that are read here, in turns: none, a few, or all of small tables."""
COMPUTED_ANEW = {"q7": {"bid"}}
"""What is read in full at every refresh: the largest price of all bids, when bids changed."""


@pytest.fixture(scope="module")
def changed(
    nexmark: Mapping[str, pa.Table], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ab.Lake, list[int]]]:
    """A lake through whose history people, auctions and bids changed, and the lsn after each round."""
    with ab.connect(tmp_path_factory.mktemp("nexmark") / "lake", spark=spark) as lake:
        load(lake, nexmark)
        lsns = [lake._parts.catalog.moment().lsn]
        for number in range(ROUNDS):
            lsn = apply_round(lake, every_table(contents_of(lake, KEYS), number))
            assert lsn is not None
            lsns.append(lsn)
        yield lake, lsns


def test_there_are_ten_queries() -> None:
    assert len(QUERIES) == 10


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_what_it_would_be_computed_anew(name: str, changed: tuple[ab.Lake, list[int]]) -> None:
    lake, (first, *later) = changed
    kept = Kept(lake, f"kept_{name}", QUERIES[name], at=first)
    assert {str(table) for table in kept.computed_anew} == COMPUTED_ANEW.get(name, set())
    for number, lsn in enumerate(later):
        lake.set("driver_rows", HELD[number % len(HELD)])
        kept.refresh(lsn)
        assert kept.verify().ok, f"{name} at lsn {lsn}"
