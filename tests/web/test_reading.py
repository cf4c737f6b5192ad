"""What the routes that only read give: the lake's own values, as JSON."""

from __future__ import annotations

import pytest

from anabranch.jsonable import to_jsonable
from anabranch.web.app import build_app
from tests.web.conftest import TOKEN, TestClient

LISTS = {
    "/api/v1/stream-tables": "status",
    "/api/v1/history": "refresh_history",
    "/api/v1/sources": "sources",
    "/api/v1/gates": "source_gates",
    "/api/v1/watermarks": "watermarks",
    "/api/v1/watermark-groups": "watermark_groups",
    "/api/v1/groups": "refresh_groups",
    "/api/v1/diamonds": "diamond_groups",
    "/api/v1/cycles": "scc_status",
    "/api/v1/fuses": "fuse_status",
}


@pytest.fixture(scope="module")
def shop(standing):
    """The lake that all of these read, with something in every list but that of cycles."""
    standing.gate_source("orders")
    standing.advance_watermark("orders", "2030-01-01")
    standing.create_watermark_group("both", ["orders", "sales.customers"])
    standing.create_refresh_group("pair", ["by_region", "sales.names"])
    standing.refresh_stream_table("by_region", full=True)
    standing.create_table("big", "n BIGINT, d DECIMAL(38,2), l ARRAY<BIGINT>")
    standing.insert("big", [(2**53 + 1, 7, [2**60, 1]), (2**53 - 1, None, None)])
    return standing


@pytest.fixture(scope="module")
def client(shop):
    """The service over it."""
    with TestClient(build_app(shop, token=TOKEN), base_url="http://localhost") as client:
        yield client


MOVING = {"lag_seconds", "data_timestamp", "gate_seconds", "now"}


def still(value):
    """Without what changes as time passes."""
    if isinstance(value, dict):
        return {key: still(entry) for key, entry in value.items() if key not in MOVING}
    return [still(entry) for entry in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("path", "method"), LISTS.items())
def test_a_list_has_what_the_lakes_method_gives(client, shop, path, method):
    answer = client.get(path)
    assert answer.status_code == 200
    assert still(answer.json()) == still(to_jsonable(getattr(shop, method)()))
    assert answer.json() or path == "/api/v1/cycles"


def test_the_lake_says_what_it_is(client, shop):
    found = client.get("/api/v1/lake").json()
    assert found | {"now": None, "anabranch_version": None} == {
        "name": "lake",
        "anabranch_version": None,
        "lsn": shop.lsn,
        "now": None,
        "scheduler": "stopped",
        "reads_need_token": False,
        "stream_tables": 4,
        "sources": 3,
    }


def test_the_graph_has_every_table_edge_and_group(client, shop):
    found = client.get("/api/v1/graph").json()
    assert {node["name"]: node["kind"] for node in found["nodes"]} == {
        "orders": "source",
        "big": "source",
        "sales.customers": "source",
        "by_region": "stream_table",
        "large": "stream_table",
        "report": "stream_table",
        "sales.names": "stream_table",
    }
    assert {(edge["source"], edge["reader"]) for edge in found["edges"]} == {
        ("orders", "by_region"),
        ("orders", "large"),
        ("by_region", "report"),
        ("large", "report"),
        ("sales.customers", "sales.names"),
    }
    assert {member["member_name"] for member in found["diamonds"]} >= {"by_region", "large", "report"}
    assert found["lsn"] == shop.lsn


def test_a_stream_table_is_described_with_options_columns_and_company(client):
    found = client.get("/api/v1/stream-tables/report").json()
    assert found["query"].startswith("SELECT b.region")
    assert found["options"]["fuse_ceiling"] == 1000
    assert found["options"]["schedule"] == "calculated"
    assert [column["name"] for column in found["columns"]] == ["region", "total", "id"]
    assert found["reads"] == ["by_region", "large"]
    assert found["read_by"] == []
    assert {"by_region", "large", "report"} <= set(found["group"])
    assert found["cycle"] == []
    assert found["fuse"]["effective_ceiling"] == 1000
    assert found["status"]["status"] == "ACTIVE"
    assert client.get("/api/v1/stream-tables/sales.names").json()["fuse"] is None


def test_an_explanation_has_text_operators_and_the_query_of_the_change(client):
    found = client.get("/api/v1/stream-tables/by_region/explain").json()
    assert found["incremental"] is True
    assert found["why_not"] is None
    assert {"depth", "operator", "strategy", "reason", "table"} == set(found["operators"][0])
    assert "change of orders" in found["change_query"]
    assert "Stream table by_region" in found["text"]


def test_an_explanation_says_why_a_stream_table_is_not_maintained_incrementally(client):
    found = client.get("/api/v1/stream-tables/sales.names/explain").json()
    assert found["incremental"] is False
    assert "refresh_mode = full" in found["why_not"]
    assert found["change_query"] is None


def test_a_history_is_of_one_stream_table_and_as_long_as_asked(client, shop):
    found = client.get("/api/v1/stream-tables/by_region/history", params={"limit": 1}).json()
    assert [(entry["stream_table"], entry["action"]) for entry in found] == [("by_region", "FULL")]
    every = client.get("/api/v1/stream-tables/by_region/history").json()
    assert {entry["stream_table"] for entry in every} == {"by_region"}
    assert len(every) > 1
    assert client.get("/api/v1/stream-tables/nobody/history").status_code == 404


def test_rows_are_those_of_the_table_and_hide_what_is_hidden(client, shop):
    found = client.get("/api/v1/tables/by_region/rows").json()
    assert found["columns"] == [{"name": "region", "type": "STRING"}, {"name": "total", "type": "BIGINT"}]
    assert sorted(found["rows"]) == [["north", 40], ["south", 20]]
    assert found["total_rows"] == 2
    some = client.get("/api/v1/tables/orders/rows", params={"limit": 2}).json()
    assert len(some["rows"]) == 2
    assert some["total_rows"] == 3


def test_numbers_that_a_browser_would_round_are_text(client, shop):
    rows = client.get("/api/v1/tables/big/rows").json()["rows"]
    assert rows == [[str(2**53 + 1), "7.00", [str(2**60), 1]], [2**53 - 1, None, None]]
