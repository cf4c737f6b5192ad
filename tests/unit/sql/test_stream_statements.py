"""Statements about stream tables and gates, as they are read."""

from __future__ import annotations

import pytest

from anabranch.errors import AnabranchError, InvalidName, InvalidOption, SqlSyntax, UnsupportedStatement
from anabranch.lifecycle.options import NAMES
from anabranch.names import TableName
from anabranch.sql.parse_statement import parse_statement
from anabranch.sql.stream_statement import (
    OPTION_TYPES,
    SPELLED,
    AlterStreamTable,
    CreateStreamTable,
    DropStreamTable,
    ExplainStreamTable,
    GateSources,
    LifecycleStatement,
    RefreshStreamTable,
    ResumeStreamTable,
    ShowStreamTables,
    SuspendStreamTable,
    UngateSources,
)

T = TableName.parse("t")


def options(statement):
    return {option.name: option.value for option in statement.options}


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE STREAM TABLE t AS SELECT 1 AS a", CreateStreamTable(T, "SELECT 1 AS a")),
        ("create stream table T as select 1 as a;", CreateStreamTable(T, "select 1 as a")),
        (
            "CREATE OR REPLACE STREAM TABLE t AS SELECT 1 AS a",
            CreateStreamTable(T, "SELECT 1 AS a", or_replace=True),
        ),
        (
            "CREATE STREAM TABLE IF NOT EXISTS t AS WITH x AS (SELECT 1 AS a) SELECT a FROM x",
            CreateStreamTable(T, "WITH x AS (SELECT 1 AS a) SELECT a FROM x", if_not_exists=True),
        ),
        ("ALTER STREAM TABLE t AS SELECT 2 AS a", AlterStreamTable(T, query="SELECT 2 AS a")),
        ("DROP STREAM TABLE t", DropStreamTable(T)),
        ("DROP STREAM TABLE IF EXISTS t CASCADE", DropStreamTable(T, if_exists=True, cascade=True)),
        ("REFRESH STREAM TABLE t", RefreshStreamTable(T)),
        ("REFRESH STREAM TABLE s.`t` FULL", RefreshStreamTable(TableName("s", "t"), full=True)),
        ("SUSPEND STREAM TABLE t", SuspendStreamTable(T)),
        ("RESUME STREAM TABLE t", ResumeStreamTable(T)),
        ("EXPLAIN STREAM TABLE t", ExplainStreamTable(T)),
        ("SHOW STREAM TABLES", ShowStreamTables()),
        ("GATE SOURCE t", GateSources((T,))),
        ("UNGATE SOURCE t, s.u", UngateSources((T, TableName("s", "u")))),
    ],
)
def test_a_statement_is_read_as_what_it_says(text, statement):
    assert parse_statement(text) == statement


def test_values_of_options_are_strings_numbers_words_truth_values_and_null():
    text = """CREATE STREAM TABLE t WITH (schedule = '*/5 * * * *', refresh_mode = Differential,
        initialize = FALSE, fuse = "on", fuse_ceiling = 500, diamond_consistency = NULL) AS SELECT 1 AS a"""
    assert options(parse_statement(text)) == {
        "schedule": "*/5 * * * *",
        "refresh_mode": "differential",
        "initialize": False,
        "fuse": "on",
        "fuse_ceiling": 500,
        "diamond_consistency": None,
    }


def test_options_and_a_query_may_be_altered_at_once():
    statement = parse_statement("ALTER STREAM TABLE t SET (schedule = NULL, fuse = 'on') AS SELECT 1 AS a")
    assert options(statement) == {"schedule": None, "fuse": "on"}
    assert statement.query == "SELECT 1 AS a"


def test_the_query_is_kept_as_it_is_written():
    query = "SELECT 'it''s; -- no comment' AS a, /* why: ; */ 1 AS b\n  -- the end\n  FROM `orders`"
    statement = parse_statement(f"-- before\nCREATE STREAM TABLE t\n  AS {query} ; -- after")
    assert statement.query == query


def test_a_query_may_stand_in_brackets():
    assert parse_statement("CREATE STREAM TABLE t AS (SELECT 1 AS a)").query == "(SELECT 1 AS a)"


def test_the_options_of_sql_are_those_of_python():
    assert set(OPTION_TYPES) == {*NAMES, "initialize"}


def test_every_statement_can_be_named_in_a_message():
    assert set(LifecycleStatement.__args__) | {GateSources, UngateSources} == set(SPELLED)


@pytest.mark.parametrize(
    ("text", "kind", "detail", "hint"),
    [
        (
            "CREATE STREAM TABLE t\nWITH (schedul = '1m') AS SELECT 1 AS a",
            InvalidOption,
            "line 2, column 7.",
            "did you mean schedule? the options are schedule, refresh_mode, ",
        ),
        (
            "CREATE STREAM TABLE t WITH (schedule = 5) AS SELECT 1 AS a",
            InvalidOption,
            "line 1, column 40.",
            "it takes a string",
        ),
        (
            "ALTER STREAM TABLE t SET (fuse_ceiling = '5')",
            InvalidOption,
            "line 1, column 42.",
            "it takes a whole number or NULL",
        ),
        (
            "CREATE STREAM TABLE t WITH (initialize = 'no') AS SELECT 1 AS a",
            InvalidOption,
            "line 1, column 42.",
            "TRUE or FALSE",
        ),
        ("ALTER STREAM TABLE t SET (fuse_ceiling = 1.5)", InvalidOption, "line 1, column 42.", ""),
        ("ALTER STREAM TABLE t SET (fuse = on, fuse = off)", InvalidOption, "line 1, column 38.", ""),
        (
            "CREATE STREAM TABLE t WITH (schedule = '1m')\n  SELECT 1 AS a",
            SqlSyntax,
            "line 2, column 3: AS is expected here",
            "CREATE STREAM TABLE name",
        ),
        ("CREATE STREAM TABLE t AS", SqlSyntax, "a query is expected here", "AS SELECT"),
        ("CREATE STREAM TABLE t", SqlSyntax, "AS is expected here", "AS SELECT"),
        ("CREATE STREAM TABLE AS SELECT 1", AnabranchError, "", ""),
        ("CREATE STREAM TABLE t WITH () AS SELECT 1 AS a", SqlSyntax, "a name is expected here", ""),
        (
            "CREATE STREAM TABLE t WITH (fuse = ) AS SELECT 1 AS a",
            SqlSyntax,
            "a value of the option fuse",
            "",
        ),
        ("CREATE STREAM TABLE t WITH (fuse 'on') AS SELECT 1 AS a", SqlSyntax, "= is expected here", ""),
        ("CREATE STREAM TABLE t WITH (fuse = on fuse = on) AS SELECT 1", SqlSyntax, "a comma or", ""),
        ("CREATE STREAM TABLE t (a INT) AS SELECT 1", UnsupportedStatement, "line 1, column 23", "CAST"),
        ("CREATE STREAM TABLE t\nAS SELECT a b c FROM x", SqlSyntax, "line 2, column 15", ""),
        ("CREATE STREAM TABLE t AS DROP TABLE x", AnabranchError, "", ""),
        ("CREATE STREAM TABLE t AS SELECT 1 AS a; DROP TABLE x", AnabranchError, "", ""),
        (
            "CREATE OR REPLACE STREAM TABLE IF NOT EXISTS t AS SELECT 1",
            UnsupportedStatement,
            "line 1, column 32.",
            "leave one",
        ),
        ("ALTER STREAM TABLE t", SqlSyntax, "SET or AS is expected", "ALTER STREAM TABLE name SET"),
        ("ALTER STREAM TABLE t SET (fuse = on) WHERE 1", SqlSyntax, "AS is expected", ""),
        ("DROP STREAM TABLE t, u", SqlSyntax, "line 1, column 20", "[CASCADE]"),
        ("REFRESH STREAM TABLE t NOW", SqlSyntax, "line 1, column 24", "[FULL]"),
        ("SHOW STREAM TABLES LIKE 'x'", SqlSyntax, "line 1, column 20", "SHOW STREAM TABLES"),
        ("GATE SOURCE a b", SqlSyntax, "line 1, column 15", "GATE SOURCE name"),
        ("GATE SOURCE", SqlSyntax, "a name is expected", ""),
        ("GATE orders", UnsupportedStatement, "", "GATE SOURCE name"),
        ("UNGATE SOURCE a,", SqlSyntax, "a name is expected", ""),
        ("REFRESH STREAM TABLE `drop`", InvalidName, "", ""),
    ],
)
def test_what_can_not_be_read_is_told_with_its_place_and_a_way_out(text, kind, detail, hint):
    with pytest.raises(kind) as caught:
        parse_statement(text)
    assert detail in (caught.value.detail or "")
    assert hint in (caught.value.hint or "")
