"""The metrics: they parse, they count what happened, and nobody can make them grow without bound."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import anabranch as ab
from anabranch.web import metrics
from anabranch.web.metrics import OTHER, Metrics, hold_reason
from anabranch.web.service import POLL_SECONDS
from tests.web.conftest import BEARER, PATIENCE

DOCS = Path(ab.__file__).parents[1] / "docs"


def read(client) -> dict[tuple, float]:
    """Every sample, by its name and labels."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_the_state_of_the_lake_is_in_gauges(client, shop):
    shop.gate_source("sales.customers")
    shop.suspend_stream_table("large")
    found = read(client)
    assert found["anabranch_lsn",] == shop.lsn
    assert found["anabranch_stream_tables", ("status", "ACTIVE")] == 3
    assert found["anabranch_stream_tables", ("status", "SUSPENDED")] == 1
    assert found["anabranch_held", ("reason", "gate")] == 1
    assert found["anabranch_held", ("reason", "suspended")] == 1
    assert found["anabranch_scheduler", ("state", "stopped")] == 1
    assert found["anabranch_scheduler", ("state", "leading")] == 0
    assert found["anabranch_stream_table_rows", ("stream_table", "by_region")] == 2
    assert found["anabranch_stream_table_active", ("stream_table", "large")] == 0
    shop.insert("orders", [(9, "west", 1)])
    assert read(client)["anabranch_stream_table_lag_seconds", ("stream_table", "by_region")] > 0


def test_refreshes_are_counted_whoever_made_them(client, shop):
    shop.insert("orders", [(4, "west", 50)])
    shop.refresh_stream_table("sales.names", full=True)
    shop.refresh_stream_table("by_region", full=True)
    key = (
        "anabranch_refreshes_total",
        ("action", "FULL"),
        ("status", "SUCCEEDED"),
        ("stream_table", "by_region"),
    )
    found = eventually(lambda: read(client), key)
    assert found[key] == 1
    assert found["anabranch_spark_statements_total",] >= 2
    inserted = ("anabranch_refresh_rows_total", ("change", "inserted"), ("stream_table", "by_region"))
    assert found[inserted] >= 1
    assert found["anabranch_refresh_seconds_count", ("action", "FULL")] >= 2


def eventually(look, key):
    import threading

    for _ in range(int(PATIENCE / POLL_SECONDS)):
        if key in (found := look()):
            return found
        threading.Event().wait(POLL_SECONDS)
    raise AssertionError(f"{key} never came")


def test_requests_are_counted_by_route_not_by_path(client):
    for name in ("by_region", "large", "nobody", "<script>"):
        client.get(f"/api/v1/stream-tables/{name}")
    client.get("/made/up/path")
    client.request("BREW", "/api/v1/lake", headers=BEARER)
    found = read(client)
    route = "/api/v1/stream-tables/{name}"

    def count(status: str, method: str = "GET", route: str = route) -> float:
        return found[
            "anabranch_http_requests_total", ("method", method), ("route", route), ("status", status)
        ]

    assert (count("200"), count("404"), count("400")) == (2, 1, 1)
    assert count("404", route="unmatched") == 1
    assert [value for key, value in found.items() if ("method", "other") in key]
    assert not any("made/up" in str(key) or "script" in str(key) for key in found)


def test_names_beyond_the_limit_share_one_label(monkeypatch):
    monkeypatch.setattr(metrics, "MAX_NAMES", 3)
    some = Metrics()
    assert [some.label_for(f"t{number}") for number in range(5)] == ["t0", "t1", "t2", OTHER, OTHER]
    assert some.label_for("t1") == "t1"


def test_a_hold_has_one_of_a_few_reasons(shop):
    shop.suspend_stream_table("large")
    by_name = {entry.name: hold_reason(entry) for entry in shop.status()}
    assert by_name == {"by_region": None, "large": "suspended", "report": None, "sales.names": None}


def test_the_token_and_the_address_of_the_catalog_are_in_no_metric(client, place):
    assert str(place) not in client.get("/metrics").text
    assert BEARER["Authorization"] not in client.get("/metrics").text


# -- what the documentation shows -----------------------------------------------------------------


@pytest.fixture
def names(client, shop) -> set[str]:
    """The metrics that there are, as queries name them."""
    text = client.get("/metrics").text
    return set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))


def documented(name: str) -> str:
    return re.sub(r"_(bucket|count|sum)$", "", name)


def test_the_dashboard_uses_only_metrics_that_exist(names):
    dashboard = json.loads((DOCS / "grafana.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    assert len(queries) > 5
    used = {documented(name) for query in queries for name in re.findall(r"anabranch_\w+", query)}
    assert used <= names


def test_the_page_lists_every_metric_and_no_other(names):
    text = (DOCS / "service.md").read_text()
    assert set(re.findall(r"^\| `(anabranch_\w+)`", text, re.MULTILINE)) == names
