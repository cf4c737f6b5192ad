"""What a query is before some of its tables are known: the branches that don't read them."""

from __future__ import annotations

import pytest

from anabranch.algebra.plan import Distinct, tables
from anabranch.errors import InvalidOutput, InvalidQuery, SqlTooLarge, UnknownTable
from anabranch.names import TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import LoweredQuery, lower, lower_anchor

SCHEMAS = {
    TableName.parse("edges"): parse_schema("a INT, b INT"),
    TableName.parse("roads"): parse_schema("a INT, b INT"),
}
UNKNOWN = frozenset(map(TableName.parse, ("reach", "sales.far")))

EDGES = "SELECT a, b FROM edges"


def anchor(text: str) -> LoweredQuery | None:
    return lower_anchor(text, SCHEMAS, UNKNOWN)


def read(text: str) -> list[str]:
    """The tables that are left."""
    found = anchor(text)
    assert found is not None
    return sorted(tables(found.plan))


# -- branches -------------------------------------------------------------------------------------


def test_a_branch_that_reads_an_unknown_table_is_left_out() -> None:
    assert read(f"{EDGES} UNION SELECT a, b FROM reach") == ["edges"]
    assert read(f"{EDGES} UNION ALL SELECT a, b FROM sales.far UNION ALL SELECT a, b FROM roads") == [
        "edges",
        "roads",
    ]


def test_a_query_without_unknown_tables_is_itself() -> None:
    text = f"{EDGES} UNION SELECT b, a FROM roads"
    assert anchor(text) == lower(text, SCHEMAS)


def test_what_is_left_of_a_union_is_still_distinct() -> None:
    found = anchor(f"{EDGES} UNION SELECT a, b FROM reach")
    assert found is not None
    assert isinstance(found.plan, Distinct)


def test_brackets_at_the_top_hide_nothing() -> None:
    assert read(f"(({EDGES}) UNION (SELECT a, b FROM reach UNION ALL SELECT a, b FROM roads))") == [
        "edges",
        "roads",
    ]


@pytest.mark.parametrize(
    "branch",
    [
        "SELECT e.a, r.b FROM edges AS e JOIN reach AS r ON e.b = r.a",
        "SELECT a, b FROM (SELECT a, b FROM REACH) AS d",
        "SELECT a, b FROM edges WHERE a IN (SELECT a FROM reach)",
        "SELECT a, (SELECT max(b) FROM sales.far) FROM edges",
        "SELECT a, b FROM edges EXCEPT SELECT a, b FROM reach",
        "WITH q AS (SELECT a, b FROM reach) SELECT a, b FROM q",
        "WITH reach AS (SELECT a, b FROM reach) SELECT a, b FROM reach",
    ],
)
def test_a_table_is_found_wherever_it_hides_in_a_branch(branch: str) -> None:
    assert read(f"SELECT a, b FROM roads UNION ({branch})") == ["roads"]
    assert anchor(branch) is None


def test_a_cte_that_is_called_like_an_unknown_table_is_not_one() -> None:
    assert read(f"WITH reach AS ({EDGES}) SELECT a, b FROM reach UNION SELECT a, b FROM sales.far") == [
        "edges"
    ]
    assert read(f"WITH reach AS ({EDGES}) SELECT a, b FROM reach") == ["edges"]
    assert anchor(f"WITH reach AS ({EDGES}) SELECT a, b FROM main.reach") is None


# -- nothing remains ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, b FROM reach",
        "SELECT a, b FROM reach UNION SELECT a, b FROM sales.far",
        f"{EDGES} EXCEPT SELECT a, b FROM reach",
        f"{EDGES} INTERSECT SELECT a, b FROM reach",
        f"SELECT a, b FROM ({EDGES} UNION SELECT a, b FROM reach) AS d",
        f"WITH q AS ({EDGES} UNION SELECT a, b FROM reach) SELECT a, b FROM q",
        f"WITH q AS (SELECT a, b FROM reach) {EDGES} UNION SELECT a, b FROM q",
        "WITH p AS (SELECT a, b FROM reach), q AS (SELECT a, b FROM p) SELECT a, b FROM q",
    ],
)
def test_there_is_no_anchor_where_an_unknown_table_is_part_of_all_there_is(text: str) -> None:
    assert anchor(text) is None


def test_a_cte_that_no_remaining_branch_uses_is_left_out_too() -> None:
    assert read(f"WITH q AS (SELECT a, b FROM reach) {EDGES} UNION SELECT q.a, r.b FROM q, reach AS r") == [
        "edges"
    ]
    ctes = "p AS (SELECT a FROM roads), q AS (SELECT a, a AS b FROM p), r AS (SELECT a FROM reach)"
    assert read(f"WITH {ctes} SELECT a, b FROM q UNION SELECT a, b FROM reach, r") == ["roads"]


def test_order_and_limit_of_the_whole_do_not_matter() -> None:
    assert read(f"SELECT a AS x, b AS y FROM reach UNION {EDGES} ORDER BY x LIMIT 5") == ["edges"]


def test_a_recursive_cte_may_be_part_of_what_remains() -> None:
    found = anchor(
        f"WITH RECURSIVE q AS ({EDGES} UNION SELECT q.a, e.b FROM q JOIN edges AS e ON q.b = e.a)"
        " SELECT a, b FROM q UNION SELECT a, b FROM reach"
    )
    assert found is not None
    assert [recursion.table for recursion in found.recursions] == ["__recursion1"]


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "columns"),
    [
        ("SELECT a AS x, r.y FROM reach AS r", ("x", "y")),
        ("SELECT 1 AS x, posexplode(z) FROM reach", ("a", "b")),
        ("SELECT posexplode(z) AS (p, q) FROM reach", ("p", "q")),
        ("SELECT * FROM reach", ("a", "b")),
        ("SELECT a + 1, b FROM reach", ("a", "b")),
        ("(SELECT a AS x, b AS y FROM reach UNION ALL SELECT 1, 2)", ("x", "y")),
        ("(WITH q AS (SELECT 1 AS k) SELECT k AS x, k AS y FROM q, reach)", ("x", "y")),
    ],
)
def test_columns_are_called_as_in_the_first_branch_even_if_that_is_left_out(
    first: str, columns: tuple[str, ...]
) -> None:
    found = anchor(f"{first} UNION {EDGES}")
    assert found is not None
    assert found.columns == columns


def test_a_branch_without_names_gets_those_of_the_first() -> None:
    found = anchor("SELECT a AS x FROM reach UNION SELECT 1")
    assert found is not None
    assert found.columns == ("x",)
    with pytest.raises(InvalidOutput):
        anchor("SELECT * FROM reach UNION SELECT 1")


# -- errors are those of the query ----------------------------------------------------------------


def test_what_remains_must_be_a_query() -> None:
    with pytest.raises(UnknownTable):
        anchor("SELECT a FROM reach UNION SELECT a FROM nowhere")
    with pytest.raises(InvalidQuery, match="1 names for 2 columns"):
        anchor(f"SELECT a AS x FROM reach UNION {EDGES}")
    with pytest.raises(SqlTooLarge):
        anchor("SELECT a FROM reach UNION SELECT " + "(" * 10_000 + "a" + ")" * 10_000 + " AS x FROM edges")
