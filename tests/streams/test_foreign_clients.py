"""Other Iceberg clients that write to sources: what reads them follows, or says clearly why it can't."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import StringType

import anabranch as ab
from anabranch.ledger.ledger import CATALOG_NAME
from tests.streams.shop import BY_REGION, all_right, one, rows


@pytest.fixture
def other(shop: ab.Lake) -> Iterator[SqlCatalog]:
    """A client that shares nothing with the lake but its catalog."""
    context = shop._context
    url = context.catalog.database.url.render_as_string(hide_password=False)
    client = SqlCatalog(CATALOG_NAME, uri=url, warehouse=context.warehouse.uri)
    yield client
    client.close()


def test_rows_that_another_client_appends_arrive(shop, other, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", refresh_mode="differential")
    shop.create_stream_table("at_once", BY_REGION, refresh_mode="immediate")
    table = other.load_table("main.sales")
    table.append(table.scan().to_arrow().slice(0, 1))
    clock.advance(60)
    assert sorted(shop.tick().refreshed) == ["at_once", "by_region"]
    assert rows(shop, "by_region") == rows(shop, "at_once")
    assert all_right(shop)


def test_a_column_that_another_client_adds_changes_nothing(shop, other, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", refresh_mode="differential")
    with other.load_table("main.sales").update_schema() as update:
        update.add_column("note", StringType())
    shop.insert("sales", [(4, "west", 1, 1, 9, "new")])
    clock.advance(60)
    assert shop.tick().refreshed == ("by_region",)
    assert len(rows(shop, "by_region")) == 3
    assert all_right(shop)


def test_a_used_column_that_another_client_drops_is_an_error_with_its_name(shop, other, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m")
    before = rows(shop, "by_region")
    with other.load_table("main.sales").update_schema() as update:
        update.delete_column("region")
    clock.advance(60)
    assert [name for name, _ in shop.tick().failed] == ["by_region"]
    found = one(shop, "by_region")
    assert found.status == "ERROR"
    assert "region" in found.last_error
    assert rows(shop, "by_region") == before
    shop.alter_stream_table("by_region", query="SELECT product, COUNT(*) AS n FROM sales GROUP BY product")
    assert one(shop, "by_region").status == "ACTIVE"
    assert all_right(shop)
