"""The graph as data."""

from __future__ import annotations

from anabranch.jsonable import to_jsonable


def test_the_graph_names_every_table_upstream_first(shop):
    shop.create_stream_table("by_region", "SELECT region, SUM(amount) AS total FROM sales GROUP BY region")
    shop.create_stream_table("best", "SELECT MAX(total) AS total FROM by_region")
    shop.gate_source("sales")
    graph = shop.graph()
    names = [node.name for node in graph.nodes]
    assert set(names) == {info.name for info in shop.tables()}
    assert names[-2:] == ["by_region", "best"]
    assert [(edge.source, edge.reader) for edge in graph.edges] == [
        ("sales", "by_region"),
        ("by_region", "best"),
    ]
    (sales,) = (node for node in graph.nodes if node.name == "sales")
    assert sales.kind == "source"
    assert sales.gated
    assert sales.status is None
    assert graph.nodes[-1].status == shop.status()[[entry.name for entry in shop.status()].index("best")]
    assert graph.lsn == shop.lsn


def test_a_source_that_was_dropped_is_drawn_as_missing(shop):
    shop.create_stream_table("copied", "SELECT region FROM sales")
    shop.drop_table("sales")
    nodes = {node.name: node for node in shop.graph().nodes}
    assert nodes["sales"].missing
    assert not nodes["copied"].missing


def test_the_graph_has_a_form_that_json_can_carry(shop):
    shop.create_stream_table("copied", "SELECT region FROM sales")
    node = to_jsonable(shop.graph())["nodes"][-1]
    assert node["name"] == "copied"
    assert isinstance(node["status"]["last_refresh_at"], str)
