"""Spark: started late, taken as given, and spoken to in SQL."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.errors import (
    EngineFailed,
    InvalidQuery,
    InvalidValue,
    NameTaken,
    NotOneStatement,
    NullNotAllowed,
    SqlSyntax,
    UnknownColumn,
    UnknownTable,
    UnsupportedStatement,
)
from anabranch.events import Event

ROOT = Path(__file__).parents[2]


def run_python(program: str, *arguments: str, **environment: str) -> Any:
    """What a program in a process of its own prints last, read as JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert '"level": "ERROR"' not in done.stderr, "what goes wrong is raised, not logged as well"
    return json.loads(done.stdout.splitlines()[-1])


# -- without Spark --------------------------------------------------------------------------------

WITHOUT_JAVA = """
import json, sys
import pandas, pyarrow
import anabranch as ab

def compact(lake):
    lake.set("driver_rewrite_bytes", 0)
    lake.compact("t")

events = []
with ab.connect(sys.argv[1], observer=events.append) as lake:
    lake.create_table("t", "id BIGINT, v STRING")
    lake.create_table("gone", pyarrow.schema([("id", pyarrow.int8())]))
    lake.insert("t", [{"id": 1, "v": "a"}])
    lake.insert("t", [(2, "b")])
    lake.insert("t", pyarrow.table({"id": [3]}))
    lake.insert("t", pandas.DataFrame({"id": [4], "v": ["d"]}))
    with lake.transaction() as tx:
        tx.insert("t", [(5, "e")])
        tx.truncate("gone")
        tx.create_table("more", "id INT")
    lake.drop_table("gone")
    with lake.snapshot() as snapshot:
        seen = [snapshot.lsn, snapshot.tables(), snapshot.arrow("t").num_rows]
    lake.compact("t")
    lake.truncate("more")
    lake.delete("more")
    lake.sql("CREATE TABLE empty (a INT)")
    lake.sql("TRUNCATE TABLE t")
    lake.sql("DROP TABLE empty")
    lake.set("snapshot_retention", "0s")
    lake.maintain()
    looked = [lake.lsn, [info.name for info in lake.tables()], len(lake.commits()), lake.committed("no")]
    errors = []
    for act in (
        lambda: lake.table("t"),
        lambda: lake.sql("SELECT 1"),
        lambda: lake.update("t", {"v": "NULL"}),
        lambda: lake.changes("t", lake.lsn),
        lambda: lake.merge("t", [(1, "a")], on=["id"]),
        lambda: lake.insert("t", [(1, "a")]) and lake.insert("t", [(2, "b")]) and compact(lake),
    ):
        try:
            act()
        except ab.AnabranchError as error:
            errors.append([error.code, error.message, str(error).count("\\n")])
    started = lake._context.engine.is_started
from pyspark import SparkContext
kinds = [event.kind for event in events if "spark" in event.kind]
print(json.dumps([seen, looked, errors, started, kinds, SparkContext._gateway is not None]))
"""


def test_small_writes_and_looking_need_no_java_and_what_needs_it_says_so(tmp_path):
    (tmp_path / "bin").mkdir()
    nowhere = {"JAVA_HOME": str(tmp_path / "no-java"), "PATH": str(tmp_path / "bin")}
    seen, looked, errors, started, kinds, gateway = run_python(
        WITHOUT_JAVA, str(tmp_path / "lake"), **nowhere
    )
    assert seen == [8, ["more", "t"], 5]
    assert looked[1] == ["more", "t"]
    assert looked[3] is None
    assert errors == [["AB501", "Spark needs a Java runtime of version 17 or later", 2]] * 6
    assert (started, kinds, gateway) == (False, [], False)


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ('openjdk version "11.0.2"', "version 11"),
        ('java version "1.8.0_292"', "version 1 "),
        ("nonsense", "none"),
    ],
    ids=["Java 11", "Java 8", "no version"],
)
def test_a_java_that_is_too_old_is_named(lake, tmp_path, monkeypatch, version, found):
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    lake.create_table("t", "id INT")
    with pytest.raises(ab.AnabranchError) as caught:
        lake.table("t")
    assert caught.value.code == "AB501"
    assert found in f"{caught.value.detail} "


def test_no_small_write_of_this_process_starts_spark_either(place):
    events: list[Event] = []
    with ab.connect(place, observer=events.append) as lake:
        lake.create_table("t", "id INT")
        lake.insert("t", [(1,)])
        lake.truncate("t")
        lake.maintain()
        assert not lake._context.engine.is_started
    kinds = [event.kind for event in events]
    assert kinds == ["write_committed", "write_staged", "write_committed", "write_staged", "write_committed"]


OWN_SESSION = """
import json, sys, logging
import anabranch as ab
from pyspark.sql import SparkSession

events = []
lake = ab.connect(sys.argv[1], observer=events.append, time_zone="Europe/Vienna")
lake.create_table("t", "id INT")
lake.insert("t", [(1,)])
before = [e.kind for e in events if "spark" in e.kind]
count = lake.changes("t", 0).count()
session = SparkSession.getActiveSession()
confs = [session.conf.get(key) for key in (
    "spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.ui.enabled")]
second = ab.connect(sys.argv[1] + "-2", observer=events.append, time_zone="Europe/Vienna")
second.sql("SELECT 1").collect()
second.close()
still = lake.table("t").count()
for act in (
    lambda: lake.sql("SELECT nope"),
    lambda: lake.update("t", {"id": "nope"}),
    lambda: lake.update("t", {"id": "1 / 0"}),
    lambda: lake.insert("t", lake.sql("SELECT 'x' AS id")),
):
    try:
        act()
    except ab.AnabranchError:
        continue
    raise AssertionError
after = [e.kind for e in events if "spark" in e.kind]
lake.close()
print(json.dumps([before, count, confs, still, after, SparkSession.getActiveSession() is None]))
"""


@pytest.mark.spark
def test_a_session_starts_when_it_is_first_needed_and_ends_with_its_lake(tmp_path):
    before, count, confs, still, after, ended = run_python(OWN_SESSION, str(tmp_path / "lake"))
    assert before == []
    assert count == 1
    assert confs == ["true", "Europe/Vienna", "false"]
    assert still == 1, "a lake that joined a session must not end it"
    assert after == ["spark_starting", "spark_started"]
    assert ended


# -- a session that was given ---------------------------------------------------------------------


def test_a_given_session_is_used_and_left_running(place, spark):
    with ab.connect(place, spark=spark) as lake:
        lake.create_table("t", "id INT")
        assert lake.table("t").sparkSession is spark
        assert lake.sql("SELECT 1 AS one").sparkSession is spark
    assert spark.sql("SELECT 1").collect()[0][0] == 1


def test_what_decides_the_meaning_of_a_query_is_set_with_a_notice(place, spark):
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.caseSensitive", "true")
    session.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY")
    with ab.connect(place, spark=session) as lake:
        lake.create_table("t", "id INT, At TIMESTAMP")
        with pytest.warns(ab.Notice, match=r"spark\.sql\.ansi\.enabled, spark\.sql\.caseSensitive$"):
            lake.table("t")
        lake.insert("t", [(2**31 - 1, dt.datetime(1, 1, 1, tzinfo=dt.UTC))])
        assert lake.sql("SELECT date_format(at, 'yyyy-MM-dd') FROM t").collect()[0][0] == "0001-01-01"
        with pytest.raises(InvalidValue):
            lake.update("t", {"id": "id + 1"})
        assert lake.sql("SELECT AT, ID FROM T").count() == 1
        assert session.conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MICROS"
    assert spark.conf.get("spark.sql.caseSensitive") == "false"


def test_a_session_that_is_set_well_already_gets_no_notice(place, spark, recwarn):
    with ab.connect(place, spark=spark) as lake:
        lake.sql("SELECT 1").collect()
    assert [warning for warning in recwarn if isinstance(warning.message, ab.Notice)] == []


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", ["with spaces", "größe-日本-😀", "it's, a+b&c=d;(x)@y:z!~$"])
def test_spark_finds_a_lake_whatever_its_folder_is_called(tmp_path, spark, name):
    with ab.connect(tmp_path / name, spark=spark, driver_rewrite_bytes=0) as lake:
        lake.create_table("t", "id INT, v INT")
        lake.insert("t", [(1, 1), (2, 2)])
        lake.insert("t", lake.sql("SELECT id + 2 AS id FROM t"))
        lake.update("t", {"v": "0"}, where="v IS NULL")
        lake.delete("t", where="id = 1")
        lake.merge("t", [{"id": 2, "v": 9}], on=["id"])
        assert sorted(tuple(row) for row in lake.table("t").collect()) == [(2, 9), (3, 0), (4, 0)]
        assert lake.changes("t", 2, lake.lsn).count() == 5


# -- errors ---------------------------------------------------------------------------------------

REFUSED = {
    "a division by zero": (EngineFailed, {"v": "v / (id - 1)"}),
    "an overflow of the column": (InvalidValue, {"small": "200"}),
    "an overflow of the expression": (InvalidValue, {"v": "v + 2147483647"}),
    "a text that is no number": (InvalidValue, {"v": "CAST('x' AS INT)"}),
    "a text for a number": (InvalidValue, {"v": "'1'"}),
    "an unknown column in an expression": (InvalidQuery, {"v": "nope + 1"}),
    "an unknown column": (UnknownColumn, {"nope": "1"}),
    "an unknown function": (InvalidQuery, {"v": "nope(v)"}),
    "a wrong number of arguments": (InvalidQuery, {"v": "positive(1, 2)"}),
    "an aggregate": (UnsupportedStatement, {"v": "max(v)"}),
    "NULL for NOT NULL": (NullNotAllowed, {"id": "NULL"}),
    "no expression": (SqlSyntax, {"v": "1 +"}),
    "an error that was asked for": (EngineFailed, {"v": "raise_error('stop')"}),
}


@pytest.mark.parametrize(("kind", "assignments"), REFUSED.values(), ids=REFUSED)
def test_an_error_of_spark_is_one_of_ours_and_nothing_is_written(spark_lake, kind, assignments):
    spark_lake.create_table("t", "id INT NOT NULL, v INT, small TINYINT")
    spark_lake.insert("t", [(1, 1, 1), (2, 2, 2)])
    with pytest.raises(kind) as caught:
        spark_lake.update("t", assignments)
    text = str(caught.value)
    assert text.startswith(kind.code)
    assert "at org.apache.spark" not in text
    assert len(text) < 1500
    assert spark_lake.lsn == 2
    assert spark_lake.arrow("t").column("v").to_pylist() == [1, 2]


def test_an_error_in_a_query_comes_when_it_is_read_if_not_before(spark_lake):
    with pytest.raises(InvalidQuery) as caught:
        spark_lake.sql("SELECT nope")
    assert "UNRESOLVED_COLUMN" in caught.value.detail
    assert caught.value.__cause__ is not None


# -- statements -----------------------------------------------------------------------------------


@pytest.fixture
def shop(spark_lake):
    """Orders and people in two namespaces."""
    spark_lake.create_table("orders", "id INT NOT NULL, who STRING, amount INT")
    spark_lake.create_table("crm.people", "name STRING, city STRING")
    spark_lake.insert("orders", [(1, "ann", 10), (2, "bob", 20), (3, "ann", 30), (4, None, None)])
    spark_lake.insert("crm.people", [("ann", "Graz"), ("bob", "Wien"), ("eve", "Linz")])
    return spark_lake


def selected(lake: ab.Lake, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in lake.sql(query).collect()), key=str)


def orders(lake: ab.Lake) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in lake.arrow("orders").to_pylist()), key=str)


QUERIES = {
    "a plain one": ("SELECT id FROM orders WHERE amount > 10", [(2,), (3,)]),
    "everything": (
        "SELECT * FROM crm.people",
        [("ann", "Graz"), ("bob", "Wien"), ("eve", "Linz")],
    ),
    "in any case": ("select ID from ORDERS where Amount = 10", [(1,)]),
    "a join of two tables": (
        "SELECT o.id, p.city FROM orders o JOIN crm.people p ON o.who = p.name",
        [(1, "Graz"), (2, "Wien"), (3, "Graz")],
    ),
    "names with their namespace": (
        "SELECT crm.people.name FROM crm.people LEFT ANTI JOIN orders ON main.orders.who = crm.people.name",
        [("eve",)],
    ),
    "a table with itself": (
        "SELECT a.id, b.id FROM orders a, orders b WHERE a.id + 1 = b.id",
        [(1, 2), (2, 3), (3, 4)],
    ),
    "a common table expression": (
        "WITH sums AS (SELECT who, SUM(amount) AS total FROM orders GROUP BY who), "
        "big AS (SELECT * FROM sums WHERE total > 20) SELECT * FROM big",
        [("ann", 40)],
    ),
    "a name that hides a table": ("WITH orders AS (SELECT 7 AS id) SELECT id FROM orders", [(7,)]),
    "subqueries": (
        "SELECT name FROM crm.people p WHERE EXISTS (SELECT 1 FROM orders o WHERE o.who = p.name) "
        "AND name NOT IN (SELECT who FROM orders WHERE amount = 20) "
        "AND (SELECT count(*) FROM orders) = 4",
        [("ann",)],
    ),
    "set operations": (
        "SELECT who FROM orders WHERE who IS NOT NULL UNION SELECT name FROM crm.people EXCEPT SELECT 'bob'",
        [("ann",), ("eve",)],
    ),
    "a window": (
        "SELECT id, row_number() OVER (PARTITION BY who ORDER BY id DESC) AS n FROM orders WHERE who = 'ann'",
        [(1, 2), (3, 1)],
    ),
    "values": ("VALUES (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
    "no table": ("SELECT 1 + 1 AS two", [(2,)]),
    "braces, percent signs and quotes": (
        "SELECT '{orders}', '%s', 'it''s', \"{{x}}\" FROM orders WHERE id = 1 -- {comment}",
        [("{orders}", "%s", "it's", "{{x}}")],
    ),
    "backticks": ("SELECT `id` FROM `main`.`orders` WHERE `who` IS NULL", [(4,)]),
    "a lateral view": (
        "SELECT id, x FROM orders LATERAL VIEW explode(array(1, 2)) e AS x WHERE id = 1",
        [(1, 1), (1, 2)],
    ),
    "an ending semicolon": ("SELECT id FROM orders WHERE id = 1;", [(1,)]),
}


@pytest.mark.parametrize(("query", "expected"), QUERIES.values(), ids=QUERIES)
def test_a_select_is(shop, query, expected):
    assert selected(shop, query) == expected


def test_a_select_shows_one_lsn_however_late_it_is_read(shop):
    frame = shop.sql("SELECT o.amount, p.city FROM orders o JOIN crm.people p ON o.who = p.name WHERE id = 1")
    with shop.transaction() as tx:
        tx.update("orders", {"amount": "99"})
        tx.update("crm.people", {"city": "'moved'"})
    assert [tuple(row) for row in frame.collect()] == [(10, "Graz")]
    with shop.snapshot(as_of=4) as snapshot:
        assert [tuple(row) for row in snapshot.sql("SELECT amount FROM orders WHERE id = 1").collect()] == [
            (10,)
        ]
        with pytest.raises(UnsupportedStatement):
            snapshot.sql("TRUNCATE TABLE orders")


def test_create_table(lake):
    assert lake.sql("CREATE TABLE a (id BIGINT NOT NULL COMMENT 'key', tags ARRAY<STRING>)") is None
    lake.sql("create table if not exists A (other INT)")
    lake.sql("CREATE TABLE ns.b (x DECIMAL(12,2))")
    assert [(info.name, str(info.schema)) for info in lake.tables()] == [
        ("a", "id BIGINT NOT NULL, tags ARRAY<STRING>"),
        ("ns.b", "x DECIMAL(12,2)"),
    ]
    assert lake.tables()[0].schema.columns[0].comment == "key"
    with pytest.raises(NameTaken):
        lake.sql("CREATE TABLE a (id INT)")


def test_create_table_as_select(shop):
    written = shop.sql("CREATE TABLE crm.totals AS SELECT who, SUM(amount) AS total FROM orders GROUP BY who")
    assert (written.lsn, written.inserted) == (5, 3)
    assert selected(shop, "SELECT * FROM crm.totals") == [("ann", 40), ("bob", 20), (None, None)]
    again = shop.sql("CREATE TABLE IF NOT EXISTS crm.totals AS SELECT 1 AS one")
    assert again.lsn is None
    assert shop.sql("CREATE TABLE nothing AS SELECT * FROM orders WHERE FALSE").lsn == 6
    schemas = {info.name: str(info.schema) for info in shop.tables()}
    assert schemas["nothing"] == "id INT, who STRING, amount INT"
    assert schemas["crm.totals"] == "who STRING, total BIGINT"
    with pytest.raises(NameTaken):
        shop.sql("CREATE TABLE orders AS SELECT 1 AS one")


def test_insert(shop):
    assert shop.sql("INSERT INTO orders VALUES (5, 'eve', 50), (6, NULL, NULL)").inserted == 2
    assert shop.sql("INSERT INTO orders (amount, id) VALUES (70, 7)").inserted == 1
    assert (
        shop.sql("INSERT INTO orders SELECT id + 10, upper(who), amount FROM orders WHERE id = 1").inserted
        == 1
    )
    assert shop.sql("INSERT INTO main.orders (id) SELECT 20 + id FROM orders WHERE id < 2").inserted == 1
    assert orders(shop)[1:3] == [(11, "ANN", 10), (2, "bob", 20)]
    assert (7, None, 70) in orders(shop)
    assert (21, None, None) in orders(shop)
    for statement, kind in (
        ("INSERT INTO orders VALUES (1, 'a')", InvalidQuery),
        ("INSERT INTO orders (id, nope) VALUES (1, 2)", UnknownColumn),
        ("INSERT INTO orders (id, id) VALUES (1, 2)", ab.AnabranchError),
        ("INSERT INTO orders (who) VALUES ('x')", NullNotAllowed),
        ("INSERT INTO orders VALUES ('x', 'a', 1)", InvalidValue),
        ("INSERT INTO nowhere VALUES (1)", UnknownTable),
    ):
        lsn = shop.lsn
        with pytest.raises(kind):
            shop.sql(statement)
        assert shop.lsn == lsn


def test_update(shop):
    assert shop.sql("UPDATE orders SET amount = amount + 1, who = upper(who) WHERE id <= 2").inserted == 2
    assert orders(shop)[:2] == [(1, "ANN", 11), (2, "BOB", 21)]
    shop.sql("UPDATE orders o SET o.amount = (SELECT count(*) FROM crm.people) WHERE o.who IS NULL")
    assert (4, None, 3) in orders(shop)
    graz = "SELECT name FROM crm.people WHERE city = 'Graz'"
    shop.sql(f"UPDATE orders SET who = 'known' WHERE lower(who) IN ({graz})")
    assert [row[1] for row in orders(shop)] == ["known", "BOB", "known", None]
    assert shop.sql("UPDATE orders SET amount = 0").inserted == 4


def test_delete(shop):
    assert shop.sql("DELETE FROM orders WHERE amount < 15 OR who IS NULL").deleted == 2
    from_wien = "SELECT 1 FROM crm.people p WHERE p.name = o.who AND p.city = 'Wien'"
    assert shop.sql(f"DELETE FROM orders AS o WHERE EXISTS ({from_wien})").deleted == 1
    assert orders(shop) == [(3, "ann", 30)]
    assert shop.sql("DELETE FROM orders").deleted == 1
    assert orders(shop) == []


MERGES = {
    "update and insert": (
        "MERGE INTO orders USING (SELECT 1 AS id, 'x' AS who UNION ALL SELECT 9, 'y') s ON orders.id = s.id "
        "WHEN MATCHED THEN UPDATE SET who = s.who "
        "WHEN NOT MATCHED THEN INSERT (id, who) VALUES (s.id, s.who)",
        [(1, "x", 10), (2, "bob", 20), (3, "ann", 30), (4, None, None), (9, "y", None)],
    ),
    "stars": (
        "MERGE INTO orders o USING (SELECT 1 AS id, 'x' AS who, 0 AS amount UNION ALL SELECT 9, 'y', 9) s "
        "ON o.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        [(1, "x", 0), (2, "bob", 20), (3, "ann", 30), (4, None, None), (9, "y", 9)],
    ),
    "conditions, the first that holds": (
        "MERGE INTO orders o USING orders s ON o.id = s.id "
        "WHEN MATCHED AND o.amount > 25 THEN DELETE "
        "WHEN MATCHED AND o.amount > 15 THEN UPDATE SET amount = -1 "
        "WHEN MATCHED AND s.who = 'ann' THEN UPDATE SET amount = -2",
        [(1, "ann", -2), (2, "bob", -1), (4, None, None)],
    ),
    "rows that the source lacks": (
        "MERGE INTO orders o USING (SELECT 1 AS id) s ON o.id = s.id "
        "WHEN NOT MATCHED BY SOURCE AND o.who IS NULL THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE AND o.id = 2 THEN UPDATE SET amount = o.amount * 2",
        [(1, "ann", 10), (2, "bob", 40), (3, "ann", 30)],
    ),
    "all kinds at once": (
        "MERGE INTO orders AS o USING crm.people AS p ON o.who = p.name AND o.id < 3 "
        "WHEN MATCHED AND p.city = 'Wien' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET who = p.city, amount = o.amount + 0.5 "
        "WHEN NOT MATCHED AND p.city LIKE 'L%' "
        "THEN INSERT (id, who, amount) VALUES (100, p.name, length(p.city)) "
        "WHEN NOT MATCHED BY SOURCE AND o.amount IS NULL THEN UPDATE SET amount = 0",
        [(1, "Graz", 10), (100, "eve", 4), (3, "ann", 30), (4, None, 0)],
    ),
    "nothing matches": (
        "MERGE INTO orders o USING (SELECT 77 AS id) s ON o.id = s.id WHEN MATCHED THEN DELETE",
        [(1, "ann", 10), (2, "bob", 20), (3, "ann", 30), (4, None, None)],
    ),
}


@pytest.mark.parametrize(("statement", "expected"), MERGES.values(), ids=MERGES)
def test_merge(shop, statement, expected):
    shop.sql(statement)
    assert orders(shop) == expected


def test_truncate_and_drop(shop):
    assert shop.sql("TRUNCATE TABLE orders").deleted == 4
    assert orders(shop) == []
    assert shop.sql("DROP TABLE crm.people") is None
    assert shop.sql("DROP TABLE IF EXISTS crm.people") is None
    assert [info.name for info in shop.tables()] == ["orders"]
    with pytest.raises(UnknownTable):
        shop.sql("DROP TABLE crm.people")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", NotOneStatement),
        (" ; ", NotOneStatement),
        ("-- nothing", NotOneStatement),
        ("SELECT 1; SELECT 2", NotOneStatement),
        ("DROP TABLE orders; DROP TABLE orders", NotOneStatement),
        ("SELEKT 1", ab.AnabranchError),
        ("SELECT (1", SqlSyntax),
        ("SELECT 'open", SqlSyntax),
        ("SHOW TABLES", UnsupportedStatement),
        ("SET spark.sql.ansi.enabled = false", UnsupportedStatement),
        ("CREATE VIEW v AS SELECT 1", UnsupportedStatement),
        ("ALTER TABLE orders ADD COLUMN x INT", UnsupportedStatement),
        ("SELECT * FROM parquet.`/etc/passwd`", ab.AnabranchError),
        (None, SqlSyntax),
        (7, SqlSyntax),
    ],
    ids=str,
)
def test_what_is_no_statement_about_tables_is_refused_before_spark_sees_it(lake, text, kind):
    lake.create_table("orders", "id INT")
    with pytest.raises(kind):
        lake.sql(text)
    assert lake.lsn == 1
    assert not lake._context.engine.is_started


def test_statements_in_a_transaction_see_each_other(shop):
    with shop.transaction() as tx:
        tx.sql("CREATE TABLE copy AS SELECT * FROM orders")
        tx.sql("UPDATE copy SET amount = 1 WHERE id = 1")
        tx.sql("INSERT INTO orders SELECT id + 100, who, amount FROM copy WHERE id = 1")
        assert [tuple(row) for row in tx.sql("SELECT id, amount FROM orders WHERE id > 100").collect()] == [
            (101, 1)
        ]
        tx.drop_table("crm.people")
        tx.create_table("crm.people", "name INT")
    assert tx.lsn == 5
    assert (101, "ann", 1) in orders(shop)
    assert str({info.name: info.schema for info in shop.tables()}["crm.people"]) == "name INT"


def test_a_frame_is_read_as_arrow_without_a_detour(shop):
    table = shop.sql("SELECT id, amount FROM orders WHERE id = 1").toArrow()
    assert isinstance(table, pa.Table)
    assert table.to_pylist() == [{"id": 1, "amount": 10}]
