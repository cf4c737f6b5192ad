"""The changes and the peer of the benchmarks, on a small lake without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import anabranch as ab
from bench import duckdb_peer
from bench.tpch import QUERIES
from bench.tpch_changes import change_every_table, change_orders, count_share_of_orders
from tests.engines.lakes import duck_lake
from tests.position_deletes.forced import marked, marking_always
from tests.tpch.data import generate, load
from tests.tpch.rounds import KEYS


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4,500 orders: the rounds that change all tables need twenty suppliers or more."""
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, 0.003)
    return folder


@pytest.fixture
def lake(data: Path, tmp_path: Path) -> Iterator[ab.Lake]:
    """TPC-H's tables."""
    with duck_lake(tmp_path) as lake:
        load(lake, data)
        yield lake


@pytest.fixture(scope="module")
def unchanged(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ab.Lake]:
    """The same for those who only read."""
    with duck_lake(tmp_path_factory.mktemp("unchanged")) as lake:
        load(lake, data)
        yield lake


def test_half_of_the_orders_may_go(lake: ab.Lake) -> None:
    before = set(lake.arrow("orders")["o_orderkey"].to_pylist())
    change_orders(lake, 0, count_share_of_orders(lake, 0.5))
    after = set(lake.arrow("orders")["o_orderkey"].to_pylist())
    assert len(after) == len(before)
    assert len(before - after) >= 0.49 * len(before)


def test_as_many_orders_come_as_go_with_all_of_their_lines(lake: ab.Lake) -> None:
    before = set(lake.arrow("orders")["o_orderkey"].to_pylist())
    for number in range(2):
        changed = change_orders(lake, number, 20)
        after = lake.arrow("orders")["o_orderkey"].to_pylist()
        assert len(after) == len(set(after)) == len(before)
        come, gone = set(after) - before, before - set(after)
        assert len(come) == len(gone) == 20
        assert min(come) > max(before)
        assert changed > 2 * 20
        lines = set(lake.arrow("lineitem")["l_orderkey"].to_pylist())
        assert come <= lines
        assert not gone & lines
        before = set(after)


def test_another_round_draws_other_orders_and_the_same_round_the_same(data: Path, tmp_path: Path) -> None:
    keys = []
    for place, number in (("a", 1), ("b", 1), ("c", 2)):
        with duck_lake(tmp_path / place) as lake:
            load(lake, data)
            change_orders(lake, number, 20)
            keys.append(frozenset(lake.arrow("orders")["o_orderkey"].to_pylist()))
    assert keys[0] == keys[1] != keys[2]


def test_a_share_of_the_orders_is_one_at_least(unchanged: ab.Lake) -> None:
    assert count_share_of_orders(unchanged, 0.01) == 45
    assert count_share_of_orders(unchanged, 0.0001) == 1


def test_a_round_can_change_all_eight_tables(lake: ab.Lake) -> None:
    before = {name: lake.arrow(name) for name in KEYS}
    assert change_every_table(lake, 0, 0.001) > 8
    for name, rows in before.items():
        order = [(column, "ascending") for column in rows.column_names]
        assert not lake.arrow(name).sort_by(order).equals(rows.sort_by(order)), name


def test_a_round_that_is_drawn_from_a_part_of_the_orders_changes_as_many(data: Path, tmp_path: Path) -> None:
    changed = []
    for place, most in (("a", 10_000_000), ("b", 1_000)):
        with duck_lake(tmp_path / place) as lake:
            load(lake, data)
            changed.append([change_every_table(lake, number, 0.01, most) for number in (0, 1)])
            orders = lake.arrow("orders")["o_orderkey"]
            assert pc.max(orders).as_py() > pc.max(lake.arrow("orders", as_of=1)["o_orderkey"]).as_py()
    for whole, part in zip(*changed, strict=True):
        assert part == pytest.approx(whole, rel=0.2)


def test_the_peer_reads_what_is_committed_now(lake: ab.Lake, tmp_path: Path) -> None:
    change_orders(lake, 0, 20)
    with duckdb_peer.open_connection(lake, KEYS) as connection:
        text = "SELECT o_orderpriority, COUNT(*) AS n FROM orders GROUP BY o_orderpriority"
        seconds, rows = duckdb_peer.measure_query(connection, text, tmp_path / "rows.parquet")
        assert seconds > 0
        expected = pc.count_distinct(lake.arrow("orders")["o_orderpriority"]).as_py()
        assert rows == expected
        (total,) = connection.sql("SELECT count(*) FROM lineitem").fetchall()[0]
        assert total == lake.arrow("lineitem").num_rows


@pytest.mark.parametrize("query", sorted(path.stem for path in QUERIES.glob("*.sql")))
def test_the_peer_understands_every_query(unchanged: ab.Lake, tmp_path: Path, query: str) -> None:
    text = (QUERIES / f"{query}.sql").read_text()
    with duckdb_peer.open_connection(unchanged, KEYS) as connection:
        file = tmp_path / "rows.parquet"
        _, rows = duckdb_peer.measure_query(connection, text, file)
        assert pq.read_table(file).num_rows == rows


@pytest.mark.parametrize("without", [False, True], ids=["joined", "written without them"])
def test_the_peer_reads_no_rows_that_are_marked_as_gone(tmp_path: Path, without: bool) -> None:
    with duck_lake(tmp_path / "lake") as lake:
        lake.create_table("orders", "id BIGINT")
        lake.insert("orders", [(number,) for number in range(10)])
        with marking_always():
            lake.delete("orders", where="id % 3 = 0")
        assert marked(lake, "orders") == 4
        with duckdb_peer.open_connection(lake, ["orders"], tmp_path if without else None) as connection:
            assert (tmp_path / "orders.parquet").exists() == without
            assert connection.sql("SELECT count(*), sum(id) FROM orders").fetchall() == [(6, 27)]
