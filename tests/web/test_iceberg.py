"""The Iceberg REST catalog, used by pyiceberg's own client over a real socket."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, RESTError, UnauthorizedError

from anabranch.names import TableName
from tests.position_deletes.forced import marked, marking_always
from tests.web.conftest import TOKEN


@pytest.fixture
def catalog(started, shop):
    service = started(shop, scheduler=False)
    return RestCatalog("lake", uri=f"{service.base_url}/iceberg", token=TOKEN)


def sorted_rows(table: pa.Table) -> list[dict]:
    return sorted(table.to_pylist(), key=str)


def test_every_source_and_stream_table_is_listed_and_nothing_else(catalog, shop):
    assert catalog.list_namespaces() == [("main",), ("sales",)]
    assert catalog.list_tables("main") == [
        ("main", "by_region"),
        ("main", "large"),
        ("main", "orders"),
        ("main", "report"),
    ]
    assert catalog.list_tables("sales") == [("sales", "customers"), ("sales", "names")]
    assert catalog.load_namespace_properties("sales") == {}
    assert catalog.list_namespaces("sales") == []


def test_a_scan_has_the_rows_of_the_lake(catalog, shop):
    for name in ("orders", "by_region", "large", "report", "sales.customers", "sales.names"):
        full = name if "." in name else f"main.{name}"
        assert sorted_rows(catalog.load_table(full).scan().to_arrow()) == sorted_rows(shop.arrow(name)), name


def test_what_is_loaded_is_the_current_version(catalog, shop):
    shop.insert("orders", [(4, "west", 70)])
    shop.delete("orders", where="id = 1")
    shop.refresh_stream_table("report")
    for name in ("orders", "by_region", "report"):
        assert sorted_rows(catalog.load_table(f"main.{name}").scan().to_arrow()) == sorted_rows(
            shop.arrow(name)
        )
    shop.create_table("empty", "id INT")
    assert catalog.load_table("main.empty").scan().to_arrow().num_rows == 0


def test_rows_that_are_marked_as_gone_are_not_served(catalog, shop):
    with marking_always():
        shop.delete("orders", where="id = 1")
        shop.refresh_stream_table("report")
    assert marked(shop, "orders") == 1
    for name in ("orders", "by_region", "report"):
        served = catalog.load_table(f"main.{name}").scan()
        assert sorted_rows(served.to_arrow()) == sorted_rows(shop.arrow(name))
        assert served.count() == shop.arrow(name).num_rows


def test_hidden_columns_are_in_no_schema(catalog, shop):
    stored = shop._context.catalog.lake_version().version(TableName.parse("by_region")).schema
    assert any(column.hidden for column in stored)
    table = catalog.load_table("main.by_region")
    assert table.schema().column_names == ["region", "total"]
    assert all(not name.startswith("__") for schema in table.metadata.schemas for name in schema.column_names)
    assert table.scan(selected_fields=("region",)).to_arrow().column_names == ["region"]


def test_state_that_nobody_sees_can_not_be_loaded(catalog, shop):
    shop.create_stream_table(
        "tops",
        "SELECT region, total FROM (SELECT region, SUM(amount) AS total FROM orders GROUP BY region) AS s"
        " WHERE total > (SELECT MIN(amount) FROM orders)",
    )
    state = [
        name
        for name, version in shop._context.catalog.lake_version().versions.items()
        if version.kind == "state"
    ]
    assert state
    listed = {name for _, name in catalog.list_tables("main")}
    for name in state:
        assert name.table not in listed
        assert not catalog.table_exists(f"main.{name.table}")
        with pytest.raises(NoSuchTableError):
            catalog.load_table(f"main.{name.table}")


def test_what_is_not_there_is_said_to_be_missing(catalog):
    assert catalog.table_exists("main.orders")
    assert not catalog.table_exists("main.nobody")
    assert catalog.namespace_exists("sales")
    assert not catalog.namespace_exists("nowhere")
    with pytest.raises(NoSuchTableError):
        catalog.load_table("main.nobody")
    with pytest.raises(NoSuchTableError):
        catalog.load_table("main.<script>")
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("nowhere")


def test_nothing_can_be_written(catalog, client, shop):
    lsn = shop.lsn
    with pytest.raises(NotImplementedError):
        catalog.create_namespace("fresh")
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    for method, path in (
        ("POST", "namespaces"),
        ("POST", "namespaces/main/tables"),
        ("POST", "namespaces/main/tables/orders"),
        ("DELETE", "namespaces/main/tables/orders"),
        ("POST", "tables/rename"),
        ("POST", "transactions/commit"),
        ("PUT", "anything/at/all"),
    ):
        answer = client.request(method, f"/iceberg/v1/{path}", headers=bearer)
        assert answer.status_code == 405
        assert answer.json()["error"]["code"] == 405
        assert answer.json()["error"]["type"] == "UnsupportedOperationException"
    assert shop.lsn == lsn


def test_only_the_current_snapshot_is_sent_when_no_more_is_wanted(client, shop):
    shop.insert("orders", [(4, "west", 70)])
    path = "/iceberg/v1/namespaces/main/tables/orders"
    every = client.get(path).json()["metadata"]
    few = client.get(path, params={"snapshots": "refs"}).json()["metadata"]
    assert len(every["snapshots"]) > 1
    assert [one["snapshot-id"] for one in few["snapshots"]] == [every["current-snapshot-id"]]


def test_where_reads_need_the_token_a_client_without_it_is_refused(started, shop):
    service = started(shop, scheduler=False, host="0.0.0.0")
    uri = f"http://127.0.0.1:{service.base_url.port}/iceberg"
    with pytest.raises((UnauthorizedError, RESTError)):
        RestCatalog("lake", uri=uri, token="another-token-altogether")
    catalog = RestCatalog("lake", uri=uri, token=TOKEN)
    assert catalog.load_table("main.orders").scan().to_arrow().num_rows == 3
