"""Hostile SQL in the places where SQL is taken: refused before Spark sees it, and nothing written."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.errors import AnabranchError, InvalidValue, SqlError
from tests.hostile.untouched import untouched

SECRET_FILE = "/etc/passwd"
HOSTILE = {
    "two statements": "1=1; DROP TABLE orders",
    "a statement": "DROP TABLE orders",
    "a query": "SELECT 1",
    "an open bracket": "(1 = 1",
    "a way out": "1=1) OR (1=1",
    "a way out of a string": "v = 'x' OR 'a' = 'a' --'; DROP TABLE orders",
    "an open string": "v = 'x",
    "an open name": "`v = 1",
    "an open comment": "1 = 1 /* and",
    "nothing": "",
    "blank": " \n ",
    "only a comment": "-- id = 1",
    "only a semicolon": ";",
    "a second column": "1, 2",
    "an alias": "1 AS x",
    "a union": "1 = 1 UNION SELECT 1",
    "another clause": "1 = 1 ORDER BY id",
    "a limit": "1 = 1 LIMIT 1",
    "a star": "*",
    "a file": f"id IN (SELECT 1 FROM parquet.`{SECRET_FILE}`)",
    "a text file": f"v = (SELECT value FROM text.`{SECRET_FILE}` LIMIT 1)",
    "a quoted format": f"EXISTS (SELECT 1 FROM `json`.`{SECRET_FILE}`)",
    "a file with a scheme": "EXISTS (SELECT 1 FROM csv.`s3://bucket/x`)",
    "another catalog": "EXISTS (SELECT 1 FROM spark_catalog.default.t)",
    "a table that isn't there": "EXISTS (SELECT 1 FROM nowhere)",
    "a Java method": "java_method('java.lang.System', 'getenv', 'HOME') = v",
    "reflection": "reflect('java.lang.Runtime', 'getRuntime') = v",
    "reflection in capitals": "REFLECT('java.lang.System', 'exit', 1) = v",
    "reflection in backticks": "`reflect`('java.lang.System', 'getenv') = v",
    "reflection with its home": "system.builtin.java_method('java.lang.System', 'getenv') = v",
    "reflection with a comment": "reflect/* */('java.lang.System', 'getenv') = v",
    "reflection that tries": "try_reflect('java.lang.System', 'getenv') = v",
    "a program": "(SELECT TRANSFORM (id) USING 'cat /etc/passwd' AS (x) FROM orders) = v",
    "a table function": "EXISTS (SELECT * FROM read_files('/etc/passwd'))",
    "an identifier from text": "EXISTS (SELECT 1 FROM IDENTIFIER('orders'))",
    "a column from text": "IDENTIFIER('id') = 1",
    "a variable": "v = '${env:HOME}'",
    "a setting": "v = '${spark.app.name}'",
    "a parameter": "id = ?",
    "a named parameter": "id = :id",
    "a session variable": "id = session.x",
    "our own placeholder": "id IN (SELECT id FROM {target})",
    "a hidden column": "__file IS NOT NULL",
    "a hidden column in backticks": "`__position` = 0",
    "a pipe": "id IN (FROM orders |> SELECT id)",
    "NUL": "v = 'a\0b'",
    "half an emoji": "v = '\ud83d'",
    "a strange sign": "id = 1 § 2",
    "a strange blank": "id\u00a0= 1",
    "deep brackets": "(" * 5000 + "1 = 1" + ")" * 5000,
    "deep calls": "abs(" * 300 + "1" + ")" * 300,
    "deep negation": "NOT " * 5000 + "TRUE",
    "a long chain": " + ".join(["1"] * 60_000),
    "a megabyte": "v = '" + "x" * 1_000_000 + "'",
    "a comment at the end": "id = 7 --",
    "a comment with a statement": "id = 7 -- ; DROP TABLE orders",
    "a comment inside": "id /* ; ' */ = 7",
    "a continued comment": "id = 1 -- \\\n OR TRUE",
    "a generator": "explode(array(1, 2)) = 1",
    "an aggregate": "max(id) = 1",
    "a window": "row_number() OVER (ORDER BY id) = 1",
}


@pytest.fixture
def shop(lake):
    """A lake on which Spark must never be needed."""
    lake.create_table("orders", "id INT, v STRING")
    lake.insert("orders", [(1, "a"), (7, "b")])
    yield lake
    assert not lake._context.engine.is_started


@pytest.mark.rotating(3)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_expression_is_refused_wherever_one_can_stand(shop, place, text):
    transaction = shop.transaction()
    with untouched(place):
        for act in (
            lambda: shop.delete("orders", where=text),
            lambda: shop.update("orders", {"v": "v"}, where=text),
            lambda: shop.update("orders", {"v": text}),
            lambda: shop.update("orders", {"id": "1", "v": text}, where="id = 1"),
            lambda: shop.merge("orders", [{"id": 1}], on=["id"], delete_when=text),
            lambda: transaction.update("orders", {"v": text}),
            lambda: transaction.delete("orders", where=text),
        ):
            with pytest.raises(AnabranchError) as caught:
                act()
            shown = str(caught.value)
            assert shown.startswith("AB")
            assert len(shown) < 2000
            assert "\0" not in shown
            shown.encode()


@pytest.mark.parametrize(
    "value", [7, True, b"id = 1", ["id = 1"], {"id": 1}, object()], ids=lambda v: type(v).__name__
)
def test_an_expression_that_is_no_text_is_refused(shop, place, value):
    with untouched(place):
        for act in (
            lambda: shop.delete("orders", where=value),
            lambda: shop.update("orders", {"v": "v"}, where=value),
            lambda: shop.update("orders", {"v": value}),
            lambda: shop.merge("orders", [{"id": 1}], on=["id"], delete_when=value),
        ):
            with pytest.raises((InvalidValue, SqlError)):
                act()


@pytest.mark.parametrize(
    "assignments", [{}, None, "v = 1", [("v", "1")], 7, {"v": None}, {"v": "1", "V": "2"}], ids=str
)
def test_assignments_that_are_none_are_refused(shop, place, assignments):
    with untouched(place), pytest.raises(AnabranchError):
        shop.update("orders", assignments)


HARMLESS = {
    "a semicolon in a string": ("v = 'b' OR v = ';'", [7]),
    "a quote in a string": ("v <> 'it''s' AND id = 7", [7]),
    "braces in a string": ("v <> '{target}{0}{{' AND id = 7", [7]),
    "a function's name in a string": ("v <> 'reflect(1)' AND id = 7", [7]),
    "always": ("1 = 1", [1, 7]),
    "never": ("CAST(NULL AS BOOLEAN)", []),
    "a subquery": ("id = (SELECT max(id) FROM orders)", [7]),
    "a subquery that refers outwards": (
        "EXISTS (SELECT 1 FROM orders o WHERE o.id = orders.id AND o.v = 'b')",
        [7],
    ),
}


@pytest.mark.parametrize(("text", "gone"), HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_hostile_means_what_it_says(spark_lake, text, gone):
    spark_lake.create_table("orders", "id INT, v STRING")
    spark_lake.insert("orders", [(1, "a"), (7, "b")])
    assert spark_lake.delete("orders", where=text).deleted == len(gone)
    left = spark_lake.arrow("orders").column("id").to_pylist()
    assert sorted(left) == sorted({1, 7} - set(gone))


STATEMENTS = {
    "two": "SELECT 1; DROP TABLE orders",
    "two without a blank": "TRUNCATE TABLE orders;TRUNCATE TABLE orders",
    "an insert behind a WITH": "WITH x AS (SELECT 1 AS id) INSERT INTO orders SELECT id, 'x' FROM x",
    "a multi-insert": "FROM orders INSERT INTO orders SELECT *",
    "overwriting": "INSERT OVERWRITE orders VALUES (1, 'a')",
    "overwriting a folder": "INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT * FROM orders",
    "a table elsewhere": "CREATE TABLE x (id INT) USING csv LOCATION '/etc'",
    "a table with options": "CREATE TABLE x (id INT) OPTIONS (path '/etc/passwd')",
    "a partitioned table": "CREATE TABLE x (id INT) PARTITIONED BY (id)",
    "a replaced table": "CREATE OR REPLACE TABLE orders (id INT)",
    "an external table": "CREATE EXTERNAL TABLE x (id INT)",
    "a temporary view": "CREATE TEMPORARY VIEW v AS SELECT 1",
    "a function": "CREATE FUNCTION f AS 'java.lang.Runtime' USING JAR '/tmp/x.jar'",
    "a jar": "ADD JAR '/tmp/x.jar'",
    "a file to add": "ADD FILE '/etc/passwd'",
    "listing": "LIST FILES",
    "a setting": "SET spark.sql.ansi.enabled = false",
    "a reset": "RESET",
    "another database": "USE other",
    "loading": "LOAD DATA LOCAL INPATH '/etc/passwd' INTO TABLE orders",
    "caching": "CACHE TABLE orders",
    "refreshing": "REFRESH PATH '/etc'",
    "explaining": "EXPLAIN SELECT * FROM orders",
    "describing": "DESCRIBE TABLE orders",
    "analysing": "ANALYZE TABLE orders COMPUTE STATISTICS",
    "dropping all": "DROP TABLE IF EXISTS orders PURGE",
    "dropping a view": "DROP VIEW orders",
    "dropping a database": "DROP DATABASE main CASCADE",
    "executing": "EXECUTE IMMEDIATE 'DROP TABLE orders'",
    "a script": "BEGIN DROP TABLE orders; END",
    "a variable": "DECLARE x INT = 1",
    "calling": "CALL system.x()",
    "a file": f"SELECT * FROM parquet.`{SECRET_FILE}`",
    "a file in a subquery": f"SELECT (SELECT max(value) FROM text.`{SECRET_FILE}`)",
    "a file in a CTE": f"WITH x AS (SELECT * FROM text.`{SECRET_FILE}`) SELECT * FROM x",
    "a file behind a name of SQL": f"SELECT * FROM orders, text.`{SECRET_FILE}`",
    "a file as the source of a merge": (
        f"MERGE INTO orders o USING text.`{SECRET_FILE}` t ON o.v = t.value WHEN MATCHED THEN DELETE"
    ),
    "a file to insert": f"INSERT INTO orders SELECT 1, value FROM text.`{SECRET_FILE}`",
    "a table statement": "TABLE orders",
    "reflection": "SELECT reflect('java.lang.System', 'getenv')",
    "reflection in an insert": "INSERT INTO orders VALUES (1, reflect('java.lang.System', 'getenv', 'HOME'))",
    "a program": "SELECT TRANSFORM (id) USING 'sh -c id' FROM orders",
    "a sample": "SELECT * FROM orders VERSION AS OF 1",
    "a lateral file": f"SELECT * FROM orders, LATERAL (SELECT * FROM text.`{SECRET_FILE}`)",
    "an escaped name": "SELECT * FROM `par`.`quet`.`/etc/passwd`",
    "unicode escapes": r"SELECT * FROM `\u0070arquet`.`/etc/passwd`",
    "a stream table over a file": f"CREATE STREAM TABLE x AS SELECT value FROM text.`{SECRET_FILE}`",
    "a stream table and a drop": "CREATE STREAM TABLE x AS SELECT id FROM orders; DROP TABLE orders",
    "a stream table of a program": "CREATE STREAM TABLE x AS SELECT TRANSFORM (id) USING 'id' FROM orders",
    "a stream table by reflection": "CREATE STREAM TABLE x AS SELECT reflect('java.lang.System', 'getenv')",
    "a stream table elsewhere": "CREATE STREAM TABLE x LOCATION '/etc' AS SELECT id FROM orders",
    "a stream table of a variable": "CREATE STREAM TABLE x AS SELECT '${env:HOME}' AS a",
    "a stream table named by a path": "CREATE STREAM TABLE `../x` AS SELECT id FROM orders",
    "a stream table of another catalog": "CREATE STREAM TABLE a.b.c AS SELECT id FROM orders",
    "a stream table that takes a table's place": "CREATE OR REPLACE STREAM TABLE orders AS SELECT 1 AS id",
    "a stream table of ours": "CREATE STREAM TABLE __x AS SELECT id FROM orders",
    "an option with a statement": "ALTER STREAM TABLE x SET (schedule = '1m); DROP TABLE orders; --')",
    "an option without end": "CREATE STREAM TABLE x WITH (schedule = '1m AS SELECT id FROM orders",
    "an option of ours": "CREATE STREAM TABLE x WITH (table_id = 'a') AS SELECT id FROM orders",
    "a table dropped as a stream table": "DROP STREAM TABLE orders CASCADE",
    "a refreshed table": "REFRESH STREAM TABLE orders",
    "a gate with a way out": "GATE SOURCE orders; DROP TABLE orders",
    "a gate on nothing": "GATE SOURCE nowhere",
    "many gates": "GATE SOURCE " + ", ".join(["orders"] * 1_001),
    "deep": "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "wide": "SELECT " + ", ".join(["1"] * 150_000),
}


@pytest.mark.rotating(3)
@pytest.mark.parametrize("text", STATEMENTS.values(), ids=STATEMENTS)
def test_a_hostile_statement_is_refused_before_spark_sees_it(shop, place, text):
    transaction = shop.transaction()
    with untouched(place):
        for act in (lambda: shop.sql(text), lambda: transaction.sql(text)):
            with pytest.raises(AnabranchError) as caught:
                act()
            assert len(str(caught.value)) < 2000
    with shop.snapshot() as snapshot, pytest.raises(AnabranchError):
        snapshot.sql(text)


def test_a_refused_statement_says_nothing_of_what_a_file_holds(shop, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2correcthorse")
    for text in (
        f"SELECT * FROM text.`{secret}`",
        f"INSERT INTO orders SELECT 1, value FROM text.`{secret}`",
    ):
        with pytest.raises(ab.AnabranchError) as caught:
            shop.sql(text)
        assert "hunter2" not in str(caught.value)
