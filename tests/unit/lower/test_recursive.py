"""WITH RECURSIVE: what it is lowered to, what that means, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

import duckdb
import pytest

from anabranch.algebra.evaluate import Row, net
from anabranch.algebra.plan import Distinct, Join, Plan, Scan, UnionAll, walk
from anabranch.algebra.plan_text import plan_text
from anabranch.algebra.scalar import Call
from anabranch.errors import InvalidQuery, NotIncremental, SqlTooLarge, UnknownTable
from anabranch.names import TableName
from anabranch.sql.lower import RECURSION_PREFIX, Recursion, lower
from anabranch.sql.query import parse_query
from tests.unit.lower.databases import tidy
from tests.unit.lower.recursions import (
    CLOSURE,
    COUNTER,
    DDL,
    SAME_AS_DUCKDB,
    SCHEMAS,
    Database,
    drawn,
    lowered,
    solved,
)


def only(text: str) -> Recursion:
    """The one recursion of a query."""
    (found,) = lowered(text).recursions
    return found


def scans(plan: Plan) -> list[str]:
    """The tables that a plan reads, in order, as often as it does."""
    return [node.table for node in walk(plan) if isinstance(node, Scan)]


def text_of(plan: Plan) -> str:
    return f"\n{plan_text(plan)}\n"


# -- what it becomes ------------------------------------------------------------------------------


def test_a_recursive_cte_is_a_table_that_its_own_plan_reads() -> None:
    query = lowered(f"WITH RECURSIVE q AS ({CLOSURE}) SELECT b FROM q WHERE a = 1")
    (found,) = query.recursions
    assert (found.table, found.columns) == ("__recursion1", ("a", "b"))
    assert text_of(found.plan) == dedent("""
        distinct
          union all
            project a_7 := a, b_7 := b
              scan roads at until: a, b
            project a_8 := a_4, b_8 := b_5
              inner join on b_4 = a_5
                scan __recursion1 at until: a_4 := a, b_4 := b
                scan roads at until: a_5 := a, b_5 := b
        """)
    assert text_of(found.anchor) == dedent("""
        distinct
          project a_7 := a, b_7 := b
            scan roads at until: a, b
        """)
    assert text_of(query.plan) == dedent("""
        project b_10 := b_9
          filter a_9 = 1
            scan __recursion1 at until: a_9 := a, b_9 := b
        """)
    assert query.columns == ("b",)


def test_the_tables_of_a_query_are_those_that_people_write_to() -> None:
    query = lowered(f"WITH RECURSIVE q AS ({CLOSURE}) SELECT b FROM q")
    assert query.tables == {TableName.parse("roads")}
    assert query.recursions[0].table.startswith(RECURSION_PREFIX)


def test_union_all_has_no_distinct() -> None:
    assert isinstance(only(f"WITH RECURSIVE q AS ({COUNTER}) SELECT x FROM q").plan, UnionAll)


def test_a_step_may_read_the_cte_twice_and_several_may_read_it() -> None:
    steps = "SELECT p.a, r.b FROM q AS p JOIN q AS r ON p.b = r.a UNION SELECT b, a FROM q WHERE a > b"
    found = only(f"WITH RECURSIVE q AS (SELECT a, b FROM roads UNION {steps}) SELECT a FROM q")
    assert scans(found.plan) == ["roads", *["__recursion1"] * 3]
    assert scans(found.anchor) == ["roads"]


def test_a_step_may_come_first_and_name_the_columns() -> None:
    found = lowered(
        "WITH RECURSIVE q AS (SELECT x + 1 AS x FROM q WHERE x < 3 UNION SELECT 1) SELECT x FROM q"
    )
    assert found.recursions[0].columns == ("x",)
    assert solved(found, drawn(0)) == {(1,): 1, (2,): 1, (3,): 1}


def test_all_readers_read_the_table_and_none_has_a_copy_of_the_plan() -> None:
    query = lowered(
        f"WITH RECURSIVE q AS ({COUNTER}), p AS (SELECT x FROM q) "
        "SELECT q.x FROM q JOIN p ON q.x = p.x WHERE q.x IN (SELECT x FROM q)"
    )
    assert len(query.recursions) == 1
    assert scans(query.plan) == ["__recursion1"] * 3


def test_a_later_recursion_reads_an_earlier_one() -> None:
    query = lowered(
        f"WITH RECURSIVE q AS ({COUNTER}), r AS (SELECT x AS y FROM q "
        "UNION SELECT y * 2 FROM r, q WHERE y = x)"
        " SELECT y FROM r"
    )
    assert [found.table for found in query.recursions] == ["__recursion1", "__recursion2"]
    assert scans(query.recursions[1].plan) == ["__recursion1", "__recursion2", "__recursion1"]


def test_what_does_not_refer_to_itself_is_a_plain_cte() -> None:
    query = lowered("WITH RECURSIVE q AS (SELECT a FROM roads) SELECT a FROM q")
    assert (query.recursions, scans(query.plan)) == ((), ["roads"])


def test_a_recursion_that_nothing_reads_is_left_out() -> None:
    assert lowered(f"WITH RECURSIVE q AS ({COUNTER}) SELECT a FROM roads").recursions == ()


def test_a_plain_cte_beside_it_may_be_part_of_a_step() -> None:
    steep = "steep AS (SELECT a, b FROM roads WHERE b > a)"
    body = "SELECT a FROM edges UNION SELECT s.b FROM q JOIN steep AS s ON q.a = s.a"
    found = only(f"WITH RECURSIVE {steep}, q AS ({body}) SELECT a FROM q")
    assert scans(found.plan) == ["edges", "__recursion1", "roads"]


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT d.x FROM (WITH RECURSIVE q AS ({COUNTER}) SELECT x FROM q) AS d",
        f"SELECT a FROM roads WHERE a IN (WITH RECURSIVE q AS ({COUNTER}) SELECT x FROM q)",
        f"SELECT a, (WITH RECURSIVE q AS ({COUNTER}) SELECT max(x) FROM q WHERE x < roads.a) AS m FROM roads",
        f"WITH p AS (WITH RECURSIVE q AS ({COUNTER}) SELECT x FROM q) SELECT x FROM p",
        f"SELECT 1 AS y UNION ALL (WITH RECURSIVE q AS ({COUNTER}) SELECT x FROM q)",
    ],
)
def test_it_may_stand_in_any_query_and_is_lowered_once(text: str) -> None:
    found = only(text)
    assert (found.table, found.columns) == ("__recursion1", ("x",))
    assert "__recursion1" in scans(lowered(text).plan)


def test_a_recursion_in_a_view_is_one_table_however_often_the_view_is_read() -> None:
    views = {TableName.parse("reach"): f"WITH RECURSIVE q AS ({CLOSURE}) SELECT a, b FROM q"}
    query = lower("SELECT x.a, y.b FROM reach AS x JOIN reach AS y ON x.b = y.a", SCHEMAS, views)
    assert len(query.recursions) == 1


def test_a_with_inside_the_recursion_may_read_it() -> None:
    body = "WITH z AS (SELECT x + 1 AS y FROM q WHERE x < 3) SELECT 1 AS x UNION ALL SELECT y FROM z"
    query = lowered(f"WITH RECURSIVE q AS ({body}) SELECT x FROM q")
    assert scans(query.recursions[0].anchor) == []
    assert solved(query, drawn(0)) == {(1,): 1, (2,): 1, (3,): 1}


def test_a_step_may_have_a_with_of_its_own() -> None:
    step = "WITH z AS (SELECT x + 1 AS y FROM q WHERE x < 3) SELECT y FROM z UNION ALL SELECT 9 FROM z"
    query = lowered(f"WITH RECURSIVE q AS (SELECT 1 AS x UNION ALL ({step})) SELECT x FROM q")
    assert solved(query, drawn(0)) == {(1,): 1, (2,): 1, (3,): 1, (9,): 2}


def test_an_inner_cte_of_the_same_name_hides_it() -> None:
    query = lowered(
        "WITH RECURSIVE q AS (SELECT 1 AS x "
        "UNION ALL (WITH q AS (SELECT 5 AS x) SELECT x FROM q)) SELECT x FROM q"
    )
    assert query.recursions == ()
    assert solved(query, drawn(0)) == {(1,): 1, (5,): 1}


def test_with_recursive_a_name_means_the_cte_before_the_table() -> None:
    text = (
        "WITH RECURSIVE roads AS (SELECT 1 AS a "
        "UNION ALL SELECT a + 1 FROM roads WHERE a < 3) SELECT a FROM roads"
    )
    assert lowered(text).tables == frozenset()
    assert parse_query(text).reads == ()


def test_the_names_that_a_query_reads_are_tables_and_no_recursions() -> None:
    text = (
        f"WITH RECURSIVE q AS ({CLOSURE}), r AS (SELECT a FROM q "
        "UNION SELECT e.b FROM r, edges AS e) SELECT a FROM r"
    )
    assert [str(name) for name in parse_query(text).reads] == ["roads", "edges"]


def test_two_columns_of_one_name_or_of_none_are_two_columns_of_the_table() -> None:
    found = only(
        "WITH RECURSIVE q AS (SELECT a, a, 1 FROM roads UNION SELECT 1, 2, 3 FROM q) SELECT 1 AS x FROM q"
    )
    assert found.columns == ("a", "a_2", "c")


def test_columns_of_the_table_are_plain_whatever_the_list_says() -> None:
    found = only(
        "WITH RECURSIVE q(`Größe`, X) AS (SELECT a, b FROM roads UNION SELECT X, X FROM q) SELECT x FROM q"
    )
    assert found.columns == ("gr_e", "x")


# -- unions ---------------------------------------------------------------------------------------


def test_a_distinct_union_over_an_anchor_alone_stays_there() -> None:
    query = lowered(
        "WITH RECURSIVE q AS (SELECT 1 AS x UNION SELECT 1 "
        "UNION ALL SELECT x + 1 FROM q WHERE x < 3) SELECT x FROM q"
    )
    assert isinstance(query.recursions[0].plan, UnionAll)
    assert solved(query, drawn(0)) == {(1,): 1, (2,): 1, (3,): 1}


def test_a_distinct_union_over_everything_takes_union_all_in() -> None:
    found = only(
        "WITH RECURSIVE q AS (SELECT 1 AS x UNION ALL (SELECT 2 UNION ALL SELECT x FROM q) "
        "UNION SELECT x + 1 FROM q WHERE x < 3) SELECT x FROM q"
    )
    assert isinstance(found.plan, Distinct)
    assert isinstance(found.plan.input, UnionAll)
    assert len(found.plan.input.parts) == 4


def test_a_distinct_union_over_a_step_alone_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="mixes UNION and UNION ALL") as caught:
        lowered(
            "WITH RECURSIVE q AS (SELECT 1 AS x UNION SELECT x FROM q "
            "UNION ALL SELECT x FROM q) SELECT x FROM q"
        )
    assert caught.value.hint == "write UNION everywhere, or UNION ALL."


# -- types and width ------------------------------------------------------------------------------


def _equalities(plan: Plan) -> list[str]:
    conditions = [node.on for node in walk(plan) if isinstance(node, Join)]
    return [condition.op for condition in conditions if isinstance(condition, Call)]


def test_a_column_has_the_type_of_the_anchor_if_all_anchors_agree() -> None:
    step = "SELECT r.b FROM q JOIN roads AS r ON q.a = r.a"
    for anchor, op in (
        ("SELECT a FROM edges UNION SELECT id FROM staff", "="),
        ("SELECT a FROM edges UNION SELECT name FROM staff", "~="),
        ("SELECT a + 1 AS a FROM edges", "~="),
    ):
        query = lowered(
            f"WITH RECURSIVE q AS ({anchor} UNION {step}) SELECT e.b FROM q JOIN edges AS e ON q.a = e.a"
        )
        assert _equalities(query.recursions[0].plan) == _equalities(query.plan) == [op]


def test_all_columns_of_the_table_are_computed_and_no_others_are_read() -> None:
    body = (
        "SELECT id, boss, name FROM staff "
        "UNION SELECT s.id, q.boss, 'x' FROM q JOIN staff AS s ON q.id = s.boss"
    )
    query = lowered(f"WITH RECURSIVE q AS ({body}) SELECT id FROM q")
    (found,) = query.recursions
    assert found.columns == ("id", "boss", "name")
    assert len(found.plan.names) == 3
    assert found.anchor.names == found.plan.names
    read = {
        node.table: [name for _, name in node.columns] for node in walk(found.plan) if isinstance(node, Scan)
    }
    assert read == {"__recursion1": ["id", "boss"], "staff": ["id", "boss"]}
    assert [name for node in walk(query.plan) if isinstance(node, Scan) for _, name in node.columns] == ["id"]


def test_the_limit_on_a_plan_counts_its_recursions() -> None:
    doubling = ", ".join(f"p{i} AS (SELECT x.a FROM p{i - 1} AS x, p{i - 1} AS y)" for i in range(1, 40))
    body = f"WITH p0 AS (SELECT a FROM roads), {doubling} SELECT a FROM p39 UNION SELECT a FROM q"
    with pytest.raises(SqlTooLarge):
        lowered(f"WITH RECURSIVE q AS ({body}) SELECT a FROM q")


def test_lowering_twice_gives_the_same() -> None:
    text = f"WITH RECURSIVE q AS ({CLOSURE}) SELECT a FROM q"
    assert lowered(text) == lowered(text)


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("SELECT x + 1 AS x FROM q", "begins with nothing"),
        ("SELECT a AS x FROM roads EXCEPT SELECT x FROM q", "begins with nothing"),
        ("SELECT x FROM q UNION ALL SELECT x + 1 FROM q", "begins with nothing"),
        ("SELECT 1 AS x UNION ALL SELECT x + 1 FROM q ORDER BY x", "can't be ordered or cut"),
        ("SELECT 1 AS x UNION ALL SELECT x + 1 FROM q LIMIT 5", "can't be ordered or cut"),
        ("(SELECT 1 AS x UNION ALL SELECT x + 1 FROM q ORDER BY x LIMIT 5)", "can't be ordered or cut"),
        (
            "WITH z AS (SELECT 1 AS x) (SELECT x FROM z UNION ALL SELECT x FROM q ORDER BY x)",
            "begins with nothing",
        ),
        ("SELECT 1 AS x UNION ALL SELECT x, x FROM q", "part 2 of UNION has 2 columns"),
    ],
)
def test_a_recursion_that_means_nothing_is_refused(body: str, message: str) -> None:
    with pytest.raises(InvalidQuery, match=message):
        lowered(f"WITH RECURSIVE q AS ({body}) SELECT x FROM q")


def test_a_refusal_says_where_and_what_to_do() -> None:
    with pytest.raises(InvalidQuery) as caught:
        lowered("WITH RECURSIVE\n  q AS (SELECT x FROM q) SELECT x FROM q")
    assert caught.value.detail == 'line 2, column 3, in "q AS (SELECT x FROM q)".'
    assert caught.value.hint == "add a part that doesn't read it, in a UNION with those that do."


def test_as_many_names_as_columns() -> None:
    with pytest.raises(InvalidQuery, match="2 names for 1 columns"):
        lowered("WITH RECURSIVE q(x, y) AS (SELECT 1 UNION ALL SELECT x FROM q) SELECT x FROM q")


@pytest.mark.parametrize(
    "body",
    [
        "SELECT r.a AS x UNION ALL SELECT x + 1 FROM q WHERE x < 5",
        "SELECT 1 AS x UNION ALL SELECT x + 1 FROM q WHERE x < r.a",
        "SELECT 1 AS x UNION ALL SELECT x + 1 FROM q WHERE x IN (SELECT b FROM edges WHERE b < r.a)",
    ],
)
def test_a_recursion_that_reads_an_outer_query_is_refused(body: str) -> None:
    with pytest.raises(NotIncremental, match='the recursion of "q"') as caught:
        lowered(f"SELECT a, (WITH RECURSIVE q AS ({body}) SELECT max(x) FROM q) AS m FROM roads AS r")
    assert caught.value.detail == "line 1, column 27: it reads columns of an outer query."
    assert caught.value.hint == 'keep them out of "q", and compare them with its result.'


def test_a_cte_sees_no_later_one_even_with_recursive() -> None:
    with pytest.raises(UnknownTable, match='"r"'):
        lowered(
            "WITH RECURSIVE q AS (SELECT 1 AS x UNION SELECT x FROM r), "
            "r AS (SELECT x FROM q) SELECT x FROM q"
        )


def test_a_recursion_inside_another_must_not_read_that() -> None:
    inner = "WITH RECURSIVE r AS (SELECT a FROM {} UNION SELECT a + 1 FROM r WHERE a < 5) SELECT a FROM r"
    text = "WITH RECURSIVE q AS (SELECT a FROM roads UNION ({}) UNION SELECT a FROM q) SELECT a FROM q"
    with pytest.raises(NotIncremental, match='the recursion of "r"'):
        lowered(text.format(inner.format("q")))
    query = lowered(text.format(inner.format("edges")))
    assert [found.table for found in query.recursions] == ["__recursion1", "__recursion2"]


# -- what it means --------------------------------------------------------------------------------

DATABASES = [drawn(seed) for seed in range(6)]


@pytest.fixture(scope="module")
def oracles() -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """DuckDB with the same rows, one per database."""
    opened = [_oracle(database) for database in DATABASES]
    yield opened
    for connection in opened:
        connection.close()


def _oracle(database: Database) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, ddl in DDL.items():
        connection.execute(f"CREATE TABLE {name} ({ddl})")
        for row, weight in database[name].items():
            for _ in range(weight):
                connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    return connection


def _asked(oracle: duckdb.DuckDBPyConnection, query: str) -> dict[Row, int]:
    return tidy(net((tuple(row), 1) for row in oracle.execute(query).fetchall()))


@pytest.mark.parametrize("name", SAME_AS_DUCKDB)
def test_the_least_solution_is_what_the_text_says(
    name: str, oracles: list[duckdb.DuckDBPyConnection]
) -> None:
    query = lowered(SAME_AS_DUCKDB[name])
    assert query.recursions
    for database, oracle in zip(DATABASES, oracles, strict=True):
        assert solved(query, database) == _asked(oracle, SAME_AS_DUCKDB[name])


def test_reading_itself_twice_gives_the_same_closure(oracles: list[duckdb.DuckDBPyConnection]) -> None:
    # DuckDB, as Spark, shows a step only the rows of the pass before, and would lose some.
    twice = lowered(
        "WITH RECURSIVE q AS (SELECT a, b FROM roads "
        "UNION SELECT l.a, r.b FROM q AS l JOIN q AS r ON l.b = r.a)"
        " SELECT a, b FROM q"
    )
    for database, oracle in zip(DATABASES, oracles, strict=True):
        assert solved(twice, database) == _asked(oracle, SAME_AS_DUCKDB["closure"])


def test_the_anchor_is_what_the_first_pass_finds() -> None:
    query = lowered(f"WITH RECURSIVE q AS ({CLOSURE}) SELECT a, b FROM q")
    once = lowered("SELECT DISTINCT a, b FROM roads")
    (found,) = query.recursions
    for database in DATABASES:
        assert solved(once, database) == solved(
            type(query)(found.anchor, ("a", "b"), (), query.tables), database
        )
