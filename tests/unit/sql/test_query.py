"""Spark runs the user's own text: only tables give way to placeholders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidName, SqlError, SqlSyntax, SqlTooLarge, UnsupportedStatement
from anabranch.names import TableName
from anabranch.sql.query import Query, parse_query
from anabranch.sql.references import MAX_RELATIONS


def rendered(text: str) -> str:
    return parse_query(text).template


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT * FROM t", "SELECT * FROM {t0} AS `t`"),
        ("SELECT * FROM T AS x", "SELECT * FROM {t0} AS x"),
        ("SELECT * FROM t x", "SELECT * FROM {t0} x"),
        ("SELECT * FROM t x(a, b)", "SELECT * FROM {t0} x(a, b)"),
        ("SELECT * FROM `T`", "SELECT * FROM {t0} AS `T`"),
        ("SELECT * FROM sales.orders", "SELECT * FROM {t0} AS `orders`"),
        ("SELECT * FROM sales . `orders` o", "SELECT * FROM {t0} o"),
        ("SELECT * FROM a, b", "SELECT * FROM {t0} AS `a`, {t1} AS `b`"),
        ("SELECT * FROM a x, a y", "SELECT * FROM {t0} x, {t0} y"),
        (
            "SELECT * FROM a LEFT ANTI JOIN b USING (id)",
            "SELECT * FROM {t0} AS `a` LEFT ANTI JOIN {t1} AS `b` USING (id)",
        ),
        ("SELECT * FROM a SEMI JOIN b ON 1=1", "SELECT * FROM {t0} AS `a` SEMI JOIN {t1} AS `b` ON 1=1"),
        ("SELECT * FROM (a JOIN b)", "SELECT * FROM ({t0} AS `a` JOIN {t1} AS `b`)"),
        ("SELECT * FROM (SELECT * FROM a) b", "SELECT * FROM (SELECT * FROM {t0} AS `a`) b"),
        ("SELECT (SELECT max(x) FROM u)", "SELECT (SELECT max(x) FROM {t0} AS `u`)"),
        ("SELECT 1 WHERE 1 IN (SELECT b FROM c)", "SELECT 1 WHERE 1 IN (SELECT b FROM {t0} AS `c`)"),
        (
            "SELECT * FROM a UNION SELECT * FROM b",
            "SELECT * FROM {t0} AS `a` UNION SELECT * FROM {t1} AS `b`",
        ),
        ("FROM t SELECT x", "FROM {t0} AS `t` SELECT x"),
        ("(SELECT * FROM t)", "(SELECT * FROM {t0} AS `t`)"),
        ("VALUES (1, 2)", "VALUES (1, 2)"),
        ("SELECT * FROM VALUES (1), (2) AS v(a), t", "SELECT * FROM VALUES (1), (2) AS v(a), {t0} AS `t`"),
        ("SELECT * FROM range(10)", "SELECT * FROM range(10)"),
        ("SELECT * FROM range (10) r, t", "SELECT * FROM range (10) r, {t0} AS `t`"),
        (
            "SELECT * FROM t, LATERAL explode(t.xs) AS e(x)",
            "SELECT * FROM {t0} AS `t`, LATERAL explode(t.xs) AS e(x)",
        ),
        (
            "SELECT * FROM t LATERAL VIEW explode(xs) e AS x, y",
            "SELECT * FROM {t0} AS `t` LATERAL VIEW explode(xs) e AS x, y",
        ),
        (
            "SELECT * FROM t TABLESAMPLE (5 ROWS) WHERE a",
            "SELECT * FROM {t0} TABLESAMPLE (5 ROWS) AS `t` WHERE a",
        ),
        (
            "SELECT * FROM t TABLESAMPLE (5 PERCENT) REPEATABLE (7), u",
            "SELECT * FROM {t0} TABLESAMPLE (5 PERCENT) REPEATABLE (7) AS `t`, {t1} AS `u`",
        ),
        ("SELECT * FROM t TABLESAMPLE (5 ROWS) x", "SELECT * FROM {t0} TABLESAMPLE (5 ROWS) x"),
        (
            "SELECT * FROM t PIVOT (sum(x) FOR y IN (1))",
            "SELECT * FROM {t0} AS `t` PIVOT (sum(x) FOR y IN (1))",
        ),
        ("SELECT /*+ BROADCAST(t) */ * FROM t", "SELECT /*+ BROADCAST(t) */ * FROM {t0} AS `t`"),
        (
            "SELECT extract(DAY FROM d), trim(BOTH 'x' FROM n), a IS NOT DISTINCT FROM b FROM t",
            "SELECT extract(DAY FROM d), trim(BOTH 'x' FROM n), a IS NOT DISTINCT FROM b FROM {t0} AS `t`",
        ),
        (
            "SELECT substring(s FROM 1 FOR 2), overlay(s PLACING 'x' FROM 2) FROM t",
            "SELECT substring(s FROM 1 FOR 2), overlay(s PLACING 'x' FROM 2) FROM {t0} AS `t`",
        ),
    ],
)
def test_tables_become_placeholders_and_nothing_else_changes(text: str, template: str) -> None:
    assert rendered(text) == template


def test_the_same_table_has_one_placeholder_however_it_is_written() -> None:
    query = parse_query("SELECT * FROM orders a JOIN Main.ORDERS b JOIN `orders` c JOIN sales.orders d")
    assert query.template == "SELECT * FROM {t0} a JOIN {t0} b JOIN {t0} c JOIN {t1} d"
    assert query.tables == (("t0", TableName("main", "orders")), ("t1", TableName("sales", "orders")))
    assert query.reads == (TableName("main", "orders"), TableName("sales", "orders"))


def test_braces_are_doubled_so_that_only_placeholders_are_formatted() -> None:
    text = "SELECT '{}', '{t0}', '{{' AS `{a}` FROM t AS `{b}`"
    assert rendered(text).format(t0="x") == text.replace("FROM t", "FROM x")


def test_comments_are_blanked_and_lines_stay() -> None:
    template = rendered("SELECT a -- {x} FROM secret\n, b /* , c */ FROM t")
    assert template.split("\n")[0].rstrip() == "SELECT a"
    assert template.split("\n")[1].split() == [",", "b", "FROM", "{t0}", "AS", "`t`"]


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("WITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT 1) SELECT * FROM a"),
        (
            "WITH a AS (SELECT * FROM a) SELECT * FROM a",
            "WITH a AS (SELECT * FROM {t0} AS `a`) SELECT * FROM a",
        ),
        ("WITH a AS (SELECT 1) SELECT * FROM A, main.a", "WITH a AS (SELECT 1) SELECT * FROM A, {t0} AS `a`"),
        (
            "WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b",
            "WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b",
        ),
        (
            "WITH b AS (SELECT * FROM a), a AS (SELECT 1) SELECT * FROM b",
            "WITH b AS (SELECT * FROM {t0} AS `a`), a AS (SELECT 1) SELECT * FROM b",
        ),
        (
            "SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x JOIN a",
            "SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x JOIN {t0} AS `a`",
        ),
        (
            "WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a)",
            "WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a)",
        ),
        (
            "WITH a AS (SELECT 1) SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM a)",
            "WITH a AS (SELECT 1) SELECT 1 FROM {t0} AS `t` WHERE EXISTS (SELECT 1 FROM a)",
        ),
        (
            "WITH a AS (SELECT 1) SELECT * FROM a UNION SELECT * FROM a",
            "WITH a AS (SELECT 1) SELECT * FROM a UNION SELECT * FROM a",
        ),
        (
            "SELECT * FROM a UNION (WITH a AS (SELECT 1) SELECT * FROM a)",
            "SELECT * FROM {t0} AS `a` UNION (WITH a AS (SELECT 1) SELECT * FROM a)",
        ),
        (
            "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT * FROM a",
            "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT * FROM a",
        ),
    ],
)
def test_a_cte_hides_a_table_only_where_it_is_in_scope(text: str, template: str) -> None:
    assert rendered(text) == template


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("SELECT sales.o.id FROM sales.o", "SELECT o.id FROM {t0} AS `o`"),
        ("SELECT sales.o.* FROM sales.o", "SELECT o.* FROM {t0} AS `o`"),
        ("SELECT `Sales`. O .s.f.g FROM sales.o", "SELECT O .s.f.g FROM {t0} AS `o`"),
        ("SELECT main.o.id FROM o", "SELECT o.id FROM {t0} AS `o`"),
        ("SELECT a.b.c FROM sales.o", "SELECT a.b.c FROM {t0} AS `o`"),
        ("SELECT sales.o.id FROM sales.o x", "SELECT sales.o.id FROM {t0} x"),
        (
            "SELECT 1 FROM sales.o WHERE EXISTS (SELECT 1 FROM u WHERE u.id = sales.o.id)",
            "SELECT 1 FROM {t0} AS `o` WHERE EXISTS (SELECT 1 FROM {t1} AS `u` WHERE u.id = o.id)",
        ),
    ],
)
def test_a_column_loses_the_namespace_that_its_table_lost(text: str, template: str) -> None:
    assert rendered(text) == template


def test_two_tables_of_one_name_need_aliases_when_columns_name_their_namespace() -> None:
    assert rendered("SELECT 1 FROM a.t, b.t") == "SELECT 1 FROM {t0} AS `t`, {t1} AS `t`"
    with pytest.raises(UnsupportedStatement, match="alias"):
        parse_query("SELECT a.t.id FROM a.t, b.t")


@pytest.mark.parametrize(
    "name",
    [
        "`a``b`",
        "`a.b`",
        "`a b`",
        "ö",
        "`drop table x; --`",
        "__x",
        "`__x`",
        "order",
        "a.`b\n`",
        "`" + "x" * 200 + "`",
    ],
)
def test_hostile_table_names_are_invalid_names(name: str) -> None:
    with pytest.raises(InvalidName):
        parse_query(f"SELECT * FROM {name}")


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE t",
        "INSERT INTO t SELECT 1",
        "t",
        "SELECT",
        "EXPLAIN SELECT 1",
        "SELECT * FROM t; DROP TABLE t",
        "WITH a AS (DELETE FROM t) SELECT 1",
    ],
)
def test_what_is_no_query_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        parse_query(text)


def test_a_query_names_a_bounded_number_of_relations() -> None:
    parse_query("SELECT 1 FROM " + ", ".join(f"t{i}" for i in range(MAX_RELATIONS)))
    for text in (
        "SELECT 1 FROM " + ", ".join(f"t{i}" for i in range(MAX_RELATIONS + 1)),
        "WITH " + ", ".join(f"c{i} AS (SELECT 1)" for i in range(MAX_RELATIONS + 1)) + " SELECT 1",
    ):
        with pytest.raises(SqlTooLarge):
            parse_query(text)


WORDS = st.sampled_from(
    "SELECT FROM JOIN WHERE LATERAL VALUES WITH AS ON UNION ( ) , . t secret `from` 'x' 1 * = CASE WHEN END "
    "IN EXISTS DISTINCT TABLE STREAM TABLESAMPLE explode range { } ; -- /* */ \" ' ` ${ |> ? : USING "
    "TRANSFORM".split()
)


@given(st.lists(WORDS, max_size=14), st.sampled_from(["", "SELECT * FROM t ", "SELECT a FROM t JOIN u ON "]))
def test_any_text_is_a_query_or_a_typed_error(words: list[str], start: str) -> None:
    try:
        query = parse_query(start + " ".join(words))
    except (SqlError, InvalidName):
        return
    names = {placeholder: "x" for placeholder, _ in query.tables}
    assert isinstance(query, Query)
    query.template.format(**names)


def test_a_query_that_only_sqlglot_can_read_is_left_to_spark() -> None:
    assert rendered("SELECT * FROM t FOR UPDATE") == "SELECT * FROM {t0} AS `t` FOR UPDATE"


def test_the_text_must_be_text() -> None:
    with pytest.raises(SqlSyntax):
        parse_query(7)  # type: ignore[arg-type]
