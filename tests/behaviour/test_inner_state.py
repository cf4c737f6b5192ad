"""Groups inside of a query that are stored beside its result, as the setting `inner_state` asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab
from tests.engines.lakes import duck_lake

RESTRICTED = """
SELECT sales.id, sales.quantity
FROM sales JOIN parts ON sales.part = parts.id AND parts.brand = 'a'
WHERE sales.quantity < (SELECT 0.5 * sum(other.quantity) FROM sales other WHERE other.part = parts.id)
"""
"""The sums matter for the parts of one brand alone."""
UNRESTRICTED = """
SELECT sales.id, sums.total
FROM sales JOIN (SELECT part, sum(quantity) AS total FROM sales GROUP BY part) sums ON sales.part = sums.part
"""


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[ab.Lake]:
    with duck_lake(tmp_path / "lake") as lake:
        lake.create_table("sales", "id int, part int, quantity int")
        lake.create_table("parts", "id int, brand string")
        lake.insert("sales", [{"id": n, "part": n % 5, "quantity": n} for n in range(50)])
        lake.insert("parts", [{"id": n, "brand": "ab"[n % 2]} for n in range(5)])
        yield lake


def stored_tables(lake: ab.Lake) -> set[str]:
    return {str(name) for name in lake._context.catalog.lake_version().versions} - {"sales", "parts"}


@pytest.mark.parametrize(
    ("inner_state", "query", "has_state"),
    [
        ("auto", RESTRICTED, True),
        ("never", RESTRICTED, False),
        ("always", RESTRICTED, True),
        ("auto", UNRESTRICTED, False),
        ("always", UNRESTRICTED, True),
    ],
)
def test_groups_are_stored_as_the_setting_asks(
    lake: ab.Lake, inner_state: str, query: str, has_state: bool
) -> None:
    lake.set("inner_state", inner_state)
    lake.create_stream_table("result", query, refresh_mode="differential")
    assert stored_tables(lake) == ({"result", "result__state"} if has_state else {"result"})
    assert ("State that nobody sees, result__state" in str(lake.explain("result"))) == has_state

    lake.insert("sales", [{"id": 100, "part": 2, "quantity": 1}, {"id": 101, "part": 3, "quantity": 500}])
    lake.delete("sales", where="id = 42")
    lake.insert("parts", [{"id": 7, "brand": "a"}])
    lake.insert("sales", [{"id": 102, "part": 7, "quantity": 3}, {"id": 103, "part": 7, "quantity": 9}])
    lake.update("parts", {"brand": "'a'"}, where="id = 3")
    assert lake.refresh_stream_table("result").action == "DIFFERENTIAL"
    assert lake.verify("result").ok


@pytest.mark.parametrize(("before", "after"), [("auto", "never"), ("never", "auto")])
def test_another_setting_computes_what_is_stored_anew(lake: ab.Lake, before: str, after: str) -> None:
    lake.set("inner_state", before)
    lake.create_stream_table("result", RESTRICTED, refresh_mode="differential")
    lake.set("inner_state", after)
    lake.insert("sales", [{"id": 100, "part": 2, "quantity": 1}])
    record = lake.refresh_stream_table("result")
    assert (record.action, record.reason) == ("REINITIALIZE", "what it stores has another shape")
    assert stored_tables(lake) == ({"result", "result__state"} if after == "auto" else {"result"})
    assert lake.verify("result").ok

    lake.insert("sales", [{"id": 101, "part": 2, "quantity": 2}])
    assert lake.refresh_stream_table("result").action == "DIFFERENTIAL"
    assert lake.verify("result").ok


def test_what_the_setting_may_be_is_said(lake: ab.Lake) -> None:
    with pytest.raises(ab.AnabranchError, match="auto or never or always"):
        lake.set("inner_state", "sometimes")
