"""Text becomes one statement of the lake, or a refusal that says what to do instead."""

from __future__ import annotations

import pytest

from anabranch.errors import (
    InvalidName,
    InvalidQuery,
    InvalidSchema,
    NotOneStatement,
    SqlError,
    SqlSyntax,
    UnsupportedStatement,
)
from anabranch.names import TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.expression import Expression
from anabranch.sql.parse_statement import (
    CreateTable,
    Delete,
    DeleteRow,
    DropTable,
    Insert,
    InsertRow,
    Merge,
    MergeClause,
    Select,
    Statement,
    Truncate,
    Update,
    UpdateRow,
    When,
    parse_statement,
)
from anabranch.sql.query import parse_query

ORDERS = TableName("main", "orders")
SALES = TableName("sales", "orders")


def e(text: str) -> Expression:
    return Expression(text)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SELECT * FROM orders", Select(parse_query("SELECT * FROM orders"))),
        ("VALUES (1)", Select(parse_query("VALUES (1)"))),
        ("(SELECT 1) UNION SELECT 2;", Select(parse_query("(SELECT 1) UNION SELECT 2"))),
        ("WITH a AS (SELECT 1) SELECT * FROM a", Select(parse_query("WITH a AS (SELECT 1) SELECT * FROM a"))),
        ("CREATE TABLE orders (id BIGINT)", CreateTable(ORDERS, parse_schema("id BIGINT"))),
        (
            "create table if not exists Sales.Orders (id BIGINT, s STRUCT<a: INT>)",
            CreateTable(SALES, parse_schema("id BIGINT, s STRUCT<a: INT>"), None, True),
        ),
        ("CREATE TABLE orders AS SELECT 1 AS a", CreateTable(ORDERS, None, parse_query("SELECT 1 AS a"))),
        ("CREATE TABLE orders SELECT 1 AS a", CreateTable(ORDERS, None, parse_query("SELECT 1 AS a"))),
        ("CREATE TABLE orders AS (SELECT 1 AS a)", CreateTable(ORDERS, None, parse_query("(SELECT 1 AS a)"))),
        ("DROP TABLE orders", DropTable(ORDERS)),
        ("DROP TABLE IF EXISTS sales.orders ;", DropTable(SALES, True)),
        ("INSERT INTO orders VALUES (1, 'a')", Insert(ORDERS, None, parse_query("VALUES (1, 'a')"))),
        ("INSERT INTO TABLE orders SELECT 1", Insert(ORDERS, None, parse_query("SELECT 1"))),
        (
            "INSERT INTO orders (a, `b`) VALUES (1, 2)",
            Insert(ORDERS, ("a", "b"), parse_query("VALUES (1, 2)")),
        ),
        ("INSERT INTO orders (SELECT 1)", Insert(ORDERS, None, parse_query("(SELECT 1)"))),
        ("INSERT INTO orders (a) (SELECT 1)", Insert(ORDERS, ("a",), parse_query("(SELECT 1)"))),
        (
            "INSERT INTO orders WITH a AS (SELECT 1) SELECT * FROM a",
            Insert(ORDERS, None, parse_query("WITH a AS (SELECT 1) SELECT * FROM a")),
        ),
        ("UPDATE orders SET a = a + 1", Update(ORDERS, (("a", e("a + 1")),))),
        (
            "UPDATE sales.orders AS o SET o.a = 1, b = CASE WHEN a THEN 'WHERE, SET' END WHERE o.c IN (1, 2)",
            Update(
                SALES, (("a", e("1")), ("b", e("CASE WHEN a THEN 'WHERE, SET' END"))), e("o.c IN (1, 2)"), "o"
            ),
        ),
        (
            "UPDATE orders SET orders.a = 1, main.orders.b == 2",
            Update(ORDERS, (("a", e("1")), ("b", e("2")))),
        ),
        (
            "UPDATE orders SET a = (SELECT max(b) FROM t WHERE c)",
            Update(ORDERS, (("a", e("(SELECT max(b) FROM t WHERE c)")),)),
        ),
        ("DELETE FROM orders", Delete(ORDERS)),
        ("DELETE FROM orders o WHERE o.a = 1 -- done", Delete(ORDERS, e("o.a = 1"), "o")),
        ("TRUNCATE TABLE orders", Truncate(ORDERS)),
    ],
)
def test_a_statement_becomes_its_value(text: str, statement: Statement) -> None:
    assert parse_statement(text) == statement


def test_a_merge_becomes_its_clauses_in_order() -> None:
    text = """
        MERGE INTO sales.orders AS t USING (SELECT * FROM news) s ON t.id = s.id
        WHEN MATCHED AND s.gone AND CASE WHEN t.a THEN true END THEN DELETE
        WHEN MATCHED THEN UPDATE SET t.a = s.a, b = CASE WHEN s.b THEN 1 ELSE 2 END
        WHEN NOT MATCHED BY TARGET AND s.a > 0 THEN INSERT (id, a) VALUES (s.id, coalesce(s.a, 0))
        WHEN NOT MATCHED THEN INSERT *
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET b = 0
    """
    assert parse_statement(text) == Merge(
        SALES,
        parse_query("SELECT * FROM news"),
        e("t.id = s.id"),
        (
            MergeClause(When.MATCHED, e("s.gone AND CASE WHEN t.a THEN true END"), DeleteRow()),
            MergeClause(
                When.MATCHED, None, UpdateRow((("a", e("s.a")), ("b", e("CASE WHEN s.b THEN 1 ELSE 2 END"))))
            ),
            MergeClause(
                When.NOT_MATCHED, e("s.a > 0"), InsertRow((("id", e("s.id")), ("a", e("coalesce(s.a, 0)"))))
            ),
            MergeClause(When.NOT_MATCHED, None, InsertRow(None)),
            MergeClause(When.NOT_MATCHED_BY_SOURCE, None, UpdateRow((("b", e("0")),))),
        ),
        "t",
        "s",
    )


def test_a_table_that_a_merge_reads_is_called_by_its_own_name() -> None:
    merge = parse_statement("MERGE INTO orders USING sales.News ON a = b WHEN MATCHED THEN UPDATE SET *")
    assert isinstance(merge, Merge)
    assert (merge.source, merge.source_alias, merge.alias) == (TableName("sales", "news"), "News", None)


@pytest.mark.parametrize(
    "text",
    [
        "GRANT SELECT ON t TO u",
        "REVOKE SELECT ON t FROM u",
        "DROP DATABASE d",
        "DROP VIEW v",
        "SET x = 1",
        "SET spark.sql.ansi.enabled = false",
        "RESET",
        "CACHE TABLE t",
        "UNCACHE TABLE t",
        "ADD JAR '/x.jar'",
        "LIST JARS",
        "INSERT OVERWRITE t SELECT 1",
        "INSERT OVERWRITE DIRECTORY '/x' SELECT 1",
        "INSERT INTO t PARTITION (a = 1) SELECT 1",
        "INSERT INTO t REPLACE WHERE a SELECT 1",
        "INSERT INTO t BY NAME SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1",
        "CREATE FUNCTION f AS 'x'",
        "CREATE TEMPORARY TABLE t (a INT)",
        "CREATE EXTERNAL TABLE t (a INT)",
        "CREATE OR REPLACE TABLE t (a INT)",
        "CREATE TABLE t (a INT) USING parquet",
        "CREATE TABLE t USING parquet AS SELECT 1",
        "CREATE TABLE t (a INT) PARTITIONED BY (a)",
        "CREATE TABLE t (a INT) LOCATION '/x'",
        "CREATE TABLE t (a INT) TBLPROPERTIES ('a' = 'b')",
        "CREATE TABLE t (a INT) COMMENT 'x'",
        "CREATE TABLE t LIKE u",
        "CREATE DATABASE d",
        "DROP TABLE t PURGE",
        "TRUNCATE TABLE t PARTITION (a = 1)",
        "ALTER TABLE t ADD COLUMN b INT",
        "COPY INTO t FROM '/x'",
        "LOAD DATA INPATH '/x' INTO TABLE t",
        "FROM t INSERT INTO u SELECT a INSERT INTO v SELECT b",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
        "WITH a AS (SELECT 1) DELETE FROM t",
        "DESCRIBE t",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
        "USE x",
        "CALL f()",
        "BEGIN",
        "COMMIT",
        "EXECUTE IMMEDIATE 'DROP TABLE t'",
        "DECLARE x INT",
        "REFRESH TABLE t",
        "MSCK REPAIR TABLE t",
        "ANALYZE TABLE t COMPUTE STATISTICS",
        "MERGE WITH SCHEMA EVOLUTION INTO t USING s ON a = b WHEN MATCHED THEN DELETE",
        "DELETE t WHERE a",
        "UPDATE t SET s.a = 1",
        "UPDATE a.b.c SET x = 1",
        "DELETE FROM parquet.`/x`",
        "UPDATE IDENTIFIER('t') SET a = 1",
        "hello",
        "'hello'",
    ],
)
def test_other_statements_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedStatement):
        parse_statement(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("INSERT OVERWRITE t SELECT 1", "TRUNCATE"),
        ("CREATE VIEW v AS SELECT 1", "stream table"),
        ("SET x = 1", "lake.set"),
        ("SELECT * FROM t VERSION AS OF 3", "snapshot(as_of=lsn)"),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "INSERT INTO name"),
        ("UPDATE t SET s.a = 1", "named_struct"),
        ("GRANT ALL ON t TO u", "SELECT, CREATE TABLE"),
    ],
)
def test_a_refusal_says_what_to_do_instead(text: str, hint: str) -> None:
    with pytest.raises(UnsupportedStatement) as caught:
        parse_statement(text)
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE",
        "DROP TABLE 'x'",
        "DROP TABLE a, b",
        "CREATE TABLE",
        "INSERT INTO t",
        "INSERT INTO t (a, b)",
        "INSERT INTO t VALUES",
        "UPDATE t",
        "UPDATE t SET",
        "UPDATE t SET a",
        "UPDATE t SET a = ",
        "UPDATE t SET a = 1,",
        "UPDATE t SET a = 1 WHERE",
        "UPDATE t SET a = 1 FROM u",
        "UPDATE t SET a = 1 WHERE b ORDER BY c",
        "UPDATE t AS SET a = 1",
        "DELETE FROM t WHERE",
        "DELETE FROM t, u",
        "DELETE FROM t LIMIT 1",
        "MERGE INTO t USING s",
        "MERGE INTO t USING s ON a = b WHEN MATCHED",
        "MERGE INTO t USING s ON a = b WHEN MATCHED THEN INSERT *",
        "MERGE INTO t USING s ON a = b WHEN NOT MATCHED THEN DELETE",
        "MERGE INTO t USING s ON a = b WHEN NOT MATCHED THEN INSERT (a) VALUES (b",
        "MERGE INTO t USING s ON WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s ON a = b WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *",
    ],
)
def test_half_a_statement_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SqlSyntax):
        parse_statement(text)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT) AS SELECT 1",
        "CREATE TABLE t",
        "INSERT INTO t (a, A) VALUES (1, 2)",
        "UPDATE t SET a = 1, A = 2",
        "MERGE INTO t USING s ON a = b",
        "MERGE INTO t USING s ON a = b WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET *",
        "MERGE INTO t USING s ON a = b WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)",
        "MERGE INTO t USING s ON a = b WHEN NOT MATCHED THEN INSERT (a, a) VALUES (1, 2)",
    ],
)
def test_a_statement_that_contradicts_itself_is_an_invalid_query(text: str) -> None:
    with pytest.raises(InvalidQuery):
        parse_statement(text)


def test_errors_of_the_parts_come_through() -> None:
    with pytest.raises(InvalidSchema):
        parse_statement("CREATE TABLE t (a FOO)")
    with pytest.raises(InvalidName):
        parse_statement("DROP TABLE `a;b`")
    with pytest.raises(NotOneStatement):
        parse_statement("DELETE FROM t; DELETE FROM u")
    with pytest.raises(UnsupportedStatement, match="aggregate"):
        parse_statement("UPDATE t SET a = max(b)")


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM t WHERE a = 1) OR (1 = 1",
        "DELETE FROM t WHERE a = 1 -- \n) OR 1 = 1",
        "UPDATE t SET a = 1) , (b = 2",
        "DELETE FROM t WHERE 'a' = 'b",
        "DELETE FROM t WHERE a = 1 /* ",
        "DELETE FROM t WHERE a = 1; DROP TABLE t",
        "DELETE FROM t WHERE\0 a",
        "DELETE FROM t WHERE (" + "(" * 10_000 + ")" * 10_001,
        "DELETE FROM t WHERE " + "a" * 600_000,
    ],
    ids=range(9),
)
def test_hostile_statements_are_typed_errors(text: str) -> None:
    with pytest.raises(SqlError):
        parse_statement(text)
