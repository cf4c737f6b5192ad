"""The engine for tests keeps what Spark promises: what it computes, what it writes, and what it refuses."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch as ab
from anabranch.engine.base import Engine
from anabranch.engine.render.dialect import SPARK
from anabranch.errors import (
    AmbiguousRows,
    EngineFailed,
    InvalidQuery,
    InvalidValue,
    Notice,
    NotIncremental,
    NullNotAllowed,
    SqlSyntax,
)
from anabranch.failpoints import Failpoints
from anabranch.sql.ddl import parse_schema
from tests.engines.duck import DuckEngine, DuckFrame
from tests.engines.lakes import duck_lake as open_duck_lake

pytestmark = pytest.mark.rotating(3)

TYPES = (
    "a BIGINT, b INT, c STRING, d DECIMAL(12,2), e DOUBLE, f BOOLEAN, g DATE, h TIMESTAMP, i TIMESTAMP_NTZ"
)
ROW = (
    1,
    2,
    "c",
    Decimal("3.50"),
    4.5,
    True,
    date(2030, 1, 2),
    datetime(2030, 1, 2, 3, tzinfo=UTC),
    datetime(2030, 1, 2, 3, tzinfo=UTC).replace(tzinfo=None),
)


@pytest.fixture
def shop(duck_lake: ab.Lake) -> ab.Lake:
    """Orders, some of customers that nobody knows."""
    duck_lake.create_table("orders", "id BIGINT NOT NULL, customer INT, amount DECIMAL(12,2), pieces INT")
    duck_lake.create_table("customers", "id INT, name STRING")
    duck_lake.insert("customers", [(1, "ada"), (2, "bob"), (3, "cy")])
    duck_lake.insert("orders", [(1, 1, 10, 1), (2, 1, 20, 2), (3, 2, 5, 1), (4, None, 7, None), (5, 9, 1, 4)])
    return duck_lake


def change(lake: ab.Lake) -> None:
    """Rows that come, go, move to another group, match no more and match anew."""
    lake.update("orders", {"amount": "amount * 2", "customer": "2"}, "id = 1")
    lake.delete("orders", "customer IS NULL")
    lake.merge(
        "orders",
        [
            {"id": 2, "customer": 3, "amount": 1, "pieces": 7},
            {"id": 7, "customer": 1, "amount": 8, "pieces": 1},
        ],
        on=["id"],
    )
    lake.sql(
        """MERGE INTO customers AS t USING (
             SELECT id, name FROM (VALUES (1, 'eve'), (9, 'flo')) AS v(id, name)) AS s ON t.id = s.id
           WHEN MATCHED THEN UPDATE SET name = upper(s.name)
           WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"""
    )


def rows(lake: ab.Lake, name: str) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, lake.table(name).collect()))


JOINED = "orders AS o JOIN customers AS c ON o.customer = c.id"
QUERIES = {
    "filter": (
        "SELECT id, amount + 1 AS more FROM orders WHERE amount > 5",
        [(1, Decimal("21.00")), (7, Decimal("9.00"))],
    ),
    "sums": (
        """SELECT customer, count(*) AS n, sum(amount) AS total, sum(pieces) AS pieces, avg(pieces) AS mean
           FROM orders GROUP BY customer""",
        [
            (1, 1, Decimal("8.00"), 1, 1.0),
            (2, 2, Decimal("25.00"), 2, 1.0),
            (3, 1, Decimal("1.00"), 7, 7.0),
            (9, 1, Decimal("1.00"), 4, 4.0),
        ],
    ),
    "average": ("SELECT avg(amount) AS mean, max(amount) AS most FROM orders", [(7.0, Decimal("20.00"))]),
    "join": (
        f"SELECT name, count(*) AS n FROM {JOINED} GROUP BY name HAVING count(*) > 1",
        [("bob", 2)],
    ),
    "left join": (
        f"SELECT c.id, name, amount FROM {JOINED.replace('JOIN', 'RIGHT JOIN')}",
        [
            (1, "EVE", Decimal("8.00")),
            (2, "bob", Decimal("20.00")),
            (2, "bob", Decimal("5.00")),
            (3, "cy", Decimal("1.00")),
            (9, "flo", Decimal("1.00")),
        ],
    ),
    "distinct": ("SELECT DISTINCT pieces FROM orders", [(1,), (7,), (4,)]),
    "exists": (
        """SELECT name FROM customers AS c
           WHERE EXISTS (SELECT 1 FROM orders AS o WHERE o.customer = c.id AND amount > 6)
           AND c.id NOT IN (SELECT id FROM orders WHERE id > 6)""",
        [("EVE",), ("bob",)],
    ),
    "window": (
        """SELECT id, rank() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS place,
           sum(amount) OVER (PARTITION BY customer) AS total FROM orders""",
        [
            (1, 1, Decimal("25.00")),
            (3, 2, Decimal("25.00")),
            (2, 1, Decimal("1.00")),
            (5, 1, Decimal("1.00")),
            (7, 1, Decimal("8.00")),
        ],
    ),
    "first rows": (
        "SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 2",
        [(1, Decimal("20.00")), (7, Decimal("8.00"))],
    ),
    "union": (
        "SELECT id FROM orders WHERE id < 3 UNION ALL SELECT CAST(id AS BIGINT) FROM customers",
        [(1,), (1,), (2,), (2,), (3,), (9,)],
    ),
    "except": ("SELECT customer FROM orders EXCEPT SELECT id FROM customers WHERE id < 9", [(9,)]),
    "scalar subquery": (
        "SELECT id FROM orders WHERE amount = (SELECT max(amount) FROM orders)",
        [(1,)],
    ),
}


def test_it_is_an_engine() -> None:
    engine: Engine = DuckEngine()
    missing = [name for name in vars(Engine) if not name.startswith("_") and not hasattr(engine, name)]
    assert missing == []


# -- stream tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["plans for DuckDB", "plans for Spark"])
@pytest.mark.parametrize(("query", "expected"), QUERIES.values(), ids=QUERIES)
def test_a_query_is_kept(
    shop: ab.Lake, place: Path, clock: ab.ManualClock, query: str, expected: list[Any], dialect: str
) -> None:
    options = {"dialect": SPARK} if dialect == "plans for Spark" else {}
    with open_duck_lake(place, clock=clock, **options) as lake:
        lake.create_stream_table("kept", query, schedule="1m", refresh_mode="differential")
        assert lake.verify("kept").ok
        before = rows(lake, "kept")
        change(lake)
        clock.advance(61)
        assert lake.tick().refreshed == ("kept",)
        assert lake.refresh_history("kept")[0].action == "DIFFERENTIAL"
        assert lake.verify("kept").ok
        assert rows(lake, "kept") == Counter(expected) != before
        lake.truncate("orders")
        lake.truncate("customers")
        lake.refresh_stream_table("kept")
        assert lake.verify("kept").ok


def test_a_diamond_moves_together(shop: ab.Lake, clock: ab.ManualClock) -> None:
    make_diamond(shop)
    for _ in range(2):
        change(shop)
        clock.advance(61)
        assert set(shop.tick().refreshed) == {"by_customer", "named", "whole"}
        assert all(shop.verify(name).ok for name in ("by_customer", "named", "whole"))
        shop.insert("customers", [(4, "gus")])
    assert shop.tick().refreshed == ()


def make_diamond(lake: ab.Lake) -> None:
    lake.create_stream_table(
        "by_customer", "SELECT customer, sum(amount) AS total FROM orders GROUP BY customer", schedule="1m"
    )
    lake.create_stream_table(
        "named",
        "SELECT o.id, o.customer, name FROM orders AS o LEFT JOIN customers AS c ON o.customer = c.id",
    )
    with pytest.warns(Notice, match="closes a diamond"):
        lake.create_stream_table(
            "whole",
            "SELECT n.id, n.name, b.total FROM named AS n JOIN by_customer AS b ON n.customer = b.customer",
        )


def test_a_stream_table_through_its_life(shop: ab.Lake) -> None:
    shop.create_stream_table("kept", "SELECT id FROM orders WHERE amount > 5")
    shop.alter_stream_table("kept", query="SELECT customer, count(*) AS n FROM orders GROUP BY customer")
    assert rows(shop, "kept") == Counter([(1, 2), (2, 1), (None, 1), (9, 1)])
    change(shop)
    assert shop.refresh_stream_table("kept").rows_inserted > 0
    assert shop.refresh_stream_table("kept", full=True).action == "FULL"
    assert shop.verify("kept").ok
    assert [status.name for status in shop.status()] == ["kept"]
    shop.drop_stream_table("kept")
    assert [table.name for table in shop.tables()] == ["customers", "orders"]


def test_a_query_that_is_only_computed_in_full(shop: ab.Lake) -> None:
    shop.create_stream_table("kept", "SELECT id, rand() < 2 AS always FROM orders", refresh_mode="full")
    shop.delete("orders", "id > 1")
    shop.refresh_stream_table("kept")
    assert rows(shop, "kept") == Counter([(1, True)])


def test_a_query_is_explained(shop: ab.Lake) -> None:
    told = str(shop.explain("SELECT customer, avg(pieces) AS mean FROM orders GROUP BY customer"))
    assert "stored state" in told
    assert "LEFT SEMI" in told  # it tells what Spark would run


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, 100 / pieces AS each FROM orders",
        "SELECT customer, sum(amount) / sum(pieces) AS each FROM orders GROUP BY customer",
        "SELECT id FROM orders WHERE 7 % pieces > 1",
        "SELECT id, 7 DIV pieces AS each FROM orders",
    ],
)
def test_a_division_by_zero_fails(shop: ab.Lake, clock: ab.ManualClock, query: str) -> None:
    shop.create_stream_table("kept", query, schedule="1m")
    before = rows(shop, "kept")
    shop.insert("orders", [(8, 8, 1, 0)])
    clock.advance(61)
    assert [name for name, _ in shop.tick().failed] == ["kept"]
    assert "DIVIDE_BY_ZERO" in str(shop.refresh_history("kept")[0].error)
    for full in (False, True):
        with pytest.raises(EngineFailed, match="DIVIDE_BY_ZERO"):
            shop.refresh_stream_table("kept", full=full)
    with pytest.raises(EngineFailed, match="DIVIDE_BY_ZERO"):
        shop.create_stream_table("other", query)
    assert rows(shop, "kept") == before
    shop.update("orders", {"pieces": "1"}, "id = 8")
    shop.refresh_stream_table("kept")
    assert shop.verify("kept").ok


# -- the same results by other ways ---------------------------------------------------------------


def test_large_changes_are_made_by_the_engine(
    shop: ab.Lake, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anabranch.iceberg.small_changes.SMALL_BYTES", 0)
    monkeypatch.setattr("anabranch.refresh.apply_change.DRIVER_ROWS", 0)
    monkeypatch.setattr("anabranch.refresh.apply_change.SMALL_TABLE_BYTES", 0)
    with open_duck_lake(place, driver_rewrite_bytes=0, driver_rows=0) as lake:
        for name, query in (("kept", QUERIES["sums"][0]), ("top", QUERIES["first rows"][0])):
            lake.create_stream_table(name, query)
        lake.create_stream_table("lists", "SELECT customer, pieces FROM orders")
        change(lake)
        lake.insert("orders", [(30, 2, 5, 1), (31, 2, 5, 1)])
        lake.delete("orders", "id = 30")
        for name in ("kept", "top", "lists"):
            lake.refresh_stream_table(name)
            assert lake.verify(name).ok
        lake.compact("orders")
        assert rows(lake, "lists")[2, 1] == 3


def test_changes_between_two_lsns(shop: ab.Lake) -> None:
    since = shop.lsn
    shop.insert("customers", [(4, "dan"), (4, "dan")])
    shop.delete("customers", "id = 1")
    assert Counter(map(tuple, shop.changes("customers", since).collect())) == Counter(
        [(4, "dan", 2), (1, "ada", -1)]
    )
    shown = shop.changes("customers", since, change_type=True)
    assert Counter(map(tuple, shown.collect())) == Counter({(4, "dan", "insert"): 2, (1, "ada", "delete"): 1})


def test_a_merge_that_deletes(shop: ab.Lake) -> None:
    incoming = [{"id": 1, "name": "ada", "gone": True}, {"id": 2, "name": "ben", "gone": False}]
    shop.merge("customers", incoming, on=["id"], delete_when="gone AND target.name = name")
    assert rows(shop, "customers") == Counter([(2, "ben"), (3, "cy")])
    with pytest.raises(AmbiguousRows):
        shop.merge("customers", [{"id": 3, "name": "x"}, {"id": 3, "name": "y"}], on=["id"])


def test_a_merge_with_several_expressions_for_a_column(shop: ab.Lake) -> None:
    shop.sql(
        """MERGE INTO orders AS t USING customers AS s ON t.customer = s.id
           WHEN MATCHED AND s.id = 1 AND t.id = 1 THEN UPDATE SET amount = 1.25
           WHEN MATCHED AND s.id = 1 THEN UPDATE SET amount = t.pieces
           WHEN NOT MATCHED THEN INSERT (id, customer) VALUES (s.id + 100, s.id)
           WHEN NOT MATCHED BY SOURCE THEN DELETE"""
    )
    assert {(row.id, row.amount) for row in shop.table("orders").collect()} == {
        (1, Decimal("1.25")),
        (2, Decimal("2.00")),
        (3, Decimal("5.00")),
        (103, None),
    }


def test_sql_reads_and_writes(shop: ab.Lake) -> None:
    found = shop.sql("SELECT name, '{x}' AS brace FROM customers ORDER BY id DESC LIMIT 1")
    assert found.collect() == [("cy", "{x}")]
    shop.sql("CREATE TABLE big AS SELECT id, amount FROM orders WHERE amount > 5")
    shop.sql("INSERT INTO big (amount, id) SELECT amount, id FROM orders WHERE id = 3")
    assert {row.id for row in shop.table("big").collect()} == {1, 2, 3, 4}
    shop.insert("big", shop.sql("SELECT id, amount FROM orders WHERE id = 5"))
    assert shop.table("big").count() == 5


# -- types and files ------------------------------------------------------------------------------


def test_types_are_those_of_spark(duck_lake: ab.Lake) -> None:
    duck_lake.create_table("t", TYPES)
    duck_lake.insert("t", [ROW])
    duck_lake.create_stream_table("kept", "SELECT *, CAST(c || g AS STRING) AS j FROM t")
    duck_lake.create_stream_table(
        "sums", "SELECT sum(a) AS a, sum(b) AS b, count(c) AS c, avg(b) AS d, max(h) AS h FROM t"
    )
    schemas = {table.name: str(table.schema) for table in duck_lake.tables()}
    assert schemas["kept"] == f"{TYPES}, j STRING"
    assert schemas["sums"] == "a BIGINT, b BIGINT, c BIGINT, d DOUBLE, h TIMESTAMP"
    duck_lake.update("t", {"a": "a + 1", "h": "TIMESTAMP '2031-01-01 00:00:00'", "g": "DATE '2031-01-01'"})
    for name in ("kept", "sums"):
        duck_lake.refresh_stream_table(name)
        assert duck_lake.verify(name).ok
    changed = (2, *ROW[1:6], date(2031, 1, 1), datetime(2031, 1, 1, tzinfo=UTC), ROW[8], "c2031-01-01")
    assert rows(duck_lake, "kept") == Counter([changed])


def test_times_are_read_in_plans_as_in_texts(duck_lake: ab.Lake) -> None:
    duck_lake.create_table("t", "c STRING, h TIMESTAMP")
    duck_lake.insert("t", [("2030-01-01 10:00:00", ROW[7])])
    query = """SELECT CAST(c AS TIMESTAMP) AS read, CAST(h AS DATE) AS day, date_add(h, 1) AS next,
               h > TIMESTAMP '2029-01-01 00:00:00' AS late FROM t"""
    duck_lake.create_stream_table("kept", query, refresh_mode="differential")
    expected = (datetime(2030, 1, 1, 10, tzinfo=UTC), date(2030, 1, 2), date(2030, 1, 3), True)
    assert rows(duck_lake, "kept") == Counter([expected])


def test_files_carry_field_ids(tmp_path: Path) -> None:
    schema = parse_schema("a BIGINT NOT NULL, b TINYINT, c DECIMAL(9,2)")
    frame = DuckFrame(
        pa.table({"a": [1], "b": pa.array([2], pa.int8()), "c": pa.array([3], pa.decimal128(9, 2))})
    )
    DuckEngine().write(frame, f"file://{tmp_path}/new", schema, {"a": 7, "b": 8, "c": 9})
    (file,) = (tmp_path / "new").iterdir()
    written = pq.read_schema(file)
    assert [int(field.metadata[b"PARQUET:field_id"]) for field in written] == [7, 8, 9]
    assert written.types == [pa.int64(), pa.int32(), pa.decimal128(9, 2)]
    with pytest.raises(NullNotAllowed):
        DuckEngine().write(
            DuckFrame(pa.table({"a": pa.nulls(1, pa.int64()), "b": [None], "c": [None]})),
            f"file://{tmp_path}/other",
            schema,
            {},
        )


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (NullNotAllowed, "INSERT INTO orders SELECT NULL, 1, 1, 1"),
        (NullNotAllowed, "UPDATE orders SET id = NULL"),
        (InvalidQuery, "INSERT INTO orders SELECT 1"),
        (InvalidQuery, "SELECT missing FROM orders"),
        (InvalidQuery, "SELECT missing(id) FROM orders"),
        (InvalidValue, "INSERT INTO orders SELECT 'x', 1, 1, 1"),
        (InvalidValue, "SELECT CAST('x' AS INT) AS a FROM orders"),
        (InvalidValue, "SELECT sum(id + 9223372036854775800) AS a FROM orders"),
        (EngineFailed, "SELECT raise_error('no') AS a FROM orders"),
        (EngineFailed, "UPDATE orders SET amount = 1 / (id - 1)"),
        (SqlSyntax, "SELECT FROM WHERE orders"),
    ],
)
def test_what_spark_refuses_is_refused(shop: ab.Lake, kind: type[Exception], text: str) -> None:
    before = shop.lsn
    with pytest.raises(kind):
        shop.sql(text)
    assert shop.lsn == before


def test_a_plan_with_another_function_is_not_understood(shop: ab.Lake) -> None:
    with pytest.raises((InvalidQuery, NotIncremental)):
        shop.create_stream_table(
            "kept", "SELECT soundex(name) AS s FROM customers", refresh_mode="differential"
        )


# -- threads --------------------------------------------------------------------------------------


def test_members_of_a_group_are_refreshed_side_by_side(
    shop: ab.Lake, place: Path, clock: ab.ManualClock
) -> None:
    with open_duck_lake(place, clock=clock, parallelism=4) as lake:
        make_diamond(lake)
        for _ in range(5):
            change(lake)
            clock.advance(61)
            lake.tick()
            assert all(lake.verify(name).ok for name in ("by_customer", "named", "whole"))
            lake.delete("orders", "id = 7")


def test_two_threads_use_one_engine() -> None:
    engine = DuckEngine()

    def count(number: int) -> int:
        given = {"t0": engine.from_arrow(pa.table({"a": list(range(number))}))}
        return int(
            engine.run_query("SELECT count(*) AS n FROM {t0} AS `t` WHERE a >= 0", given).collect()[0].n
        )

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(count, range(200))) == list(range(200))


def test_a_lake_takes_all_that_connect_takes(place: Path) -> None:
    said: list[str] = []
    points = Failpoints()
    clock = ab.ManualClock()
    with open_duck_lake(
        place,
        clock=clock,
        observer=lambda event: said.append(event.kind),
        failpoints=points,
        time_zone="Asia/Tokyo",
    ) as lake:
        lake.create_table("t", "at TIMESTAMP")
        lake.insert("t", [(datetime(2030, 1, 1, 9, tzinfo=UTC).replace(tzinfo=None),)])
        assert lake.table("t").collect() == [(datetime(2030, 1, 1, tzinfo=UTC),)]
    assert "write_committed" in said
