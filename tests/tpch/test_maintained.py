"""All 22 queries, stored and kept up to date by their changes alone, on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from tests.equivalence.kept import Kept
from tests.tpch.data import load
from tests.tpch.rounds import apply_round, contents_of, every_table

QUERIES = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "queries").glob("*.sql"))}
ROUNDS = int(os.environ.get("TPCH_ROUNDS", "2"))
HELD = (0, 500, 50_000)
"""Rows of a table that are read here, in turns: none, a few, or all of small tables."""


@pytest.fixture(scope="module")
def changed(
    tpch_at_scale: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ab.Lake, list[int]]]:
    """A lake through whose history every table changed again and again, and the lsn after each round."""
    with ab.connect(tmp_path_factory.mktemp("tpch") / "lake", spark=spark) as lake:
        lsns = [load(lake, tpch_at_scale)]
        for number in range(ROUNDS):
            lsn = apply_round(lake, every_table(contents_of(lake), number))
            assert lsn is not None
            lsns.append(lsn)
        yield lake, lsns


def test_there_are_22_queries() -> None:
    assert len(QUERIES) == 22


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_what_it_would_be_computed_anew(name: str, changed: tuple[ab.Lake, list[int]]) -> None:
    lake, (first, *later) = changed
    kept = Kept(lake, f"kept_{name}", QUERIES[name], at=first)
    assert not kept.computed_anew, "what is sorted again, or has no keys, is stored state"
    for number, lsn in enumerate(later):
        lake.set("driver_rows", HELD[number % len(HELD)])
        kept.refresh(lsn)
        assert kept.verify().ok, f"{name} at lsn {lsn}"
