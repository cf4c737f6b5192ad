"""All of TPC-H and the first ten of Nexmark can be lowered and differentiated."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.algebra.plan import Distinct, Join, walk
from anabranch.algebra.scalar import TRUE
from anabranch.delta import differentiate
from anabranch.sql.lower import LoweredQuery, lower
from tests.nexmark.schemas import SCHEMAS as NEXMARK
from tests.tpch.schemas import SCHEMAS as TPCH

ROOT = Path(__file__).parents[2]
QUERIES = {
    **{f"tpch {path.stem}": path for path in sorted((ROOT / "tpch" / "queries").glob("*.sql"))},
    **{f"nexmark {path.stem}": path for path in sorted((ROOT / "nexmark" / "queries").glob("*.sql"))},
}


def _lowered(name: str) -> LoweredQuery:
    return lower(QUERIES[name].read_text(), TPCH if name.startswith("tpch") else NEXMARK)


def test_all_queries_are_here() -> None:
    assert len(QUERIES) == 22 + 10


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_of_the_benchmarks_is_a_plan_with_a_change(name: str) -> None:
    found = _lowered(name)
    assert len(found.columns) == len(found.plan.names)
    assert differentiate(found.plan).names


@pytest.mark.parametrize("name", QUERIES)
def test_no_query_of_the_benchmarks_multiplies_tables_or_needs_a_domain(name: str) -> None:
    plan = _lowered(name).plan
    products = [node for node in walk(plan) if isinstance(node, Join) and node.on == TRUE]
    # What is joined on nothing is the one row of a scalar subquery.
    assert all(join.kind == "left" and len(join.right.names) == 1 for join in products)
    if name != "nexmark q8":
        assert not any(isinstance(node, Distinct) for node in walk(plan))
