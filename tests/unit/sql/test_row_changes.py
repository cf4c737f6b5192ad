"""The query of a change finds the rows to change, and gives them their new values, each once.

The queries are Spark's; here DuckDB runs them, translated, since it starts at once and has a MERGE of
its own to compare with.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pytest
import sqlglot

from anabranch.errors import InvalidQuery, InvalidValue, SqlError, UnknownColumn, UnsupportedStatement
from anabranch.names import TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.parse_statement import Delete, Merge, Update, parse_statement
from anabranch.sql.query import Query
from anabranch.sql.row_changes import delete_changes, merge_changes, statement_changes, update_changes

Row = tuple[Any, ...]

ORDERS = TableName("sales", "orders")
SCHEMA = parse_schema("id INT, x INT, n STRING")
ROWS: list[Row] = [(1, 10, "a"), (2, 20, "b"), (None, 30, "c")]
NEWS = "id INT, x INT, n STRING, y INT"
INSERT, DELETE, UPDATE = 1, 2, 3


def statement(text: str) -> Query:
    parsed = parse_statement(text)
    assert isinstance(parsed, Update | Delete | Merge)
    return statement_changes(parsed, SCHEMA)


class Database:
    """The target and other relations in DuckDB, and what a query of changes makes of them."""

    def __init__(self, rows: Sequence[Row] = ROWS, **others: tuple[str, Sequence[Row]]) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("CREATE MACRO raise_error(m) AS error(m)")
        placed = [(*row, "file", i) for i, row in enumerate(rows)]
        self.add("target", "id INT, x INT, n STRING, __file STRING, __position BIGINT", placed)
        for name, (columns, given) in others.items():
            self.add(name, columns, given)

    def add(self, name: str, columns: str, rows: Iterable[Row]) -> None:
        self.connection.execute(f"CREATE TABLE {name} ({columns})")
        for row in rows:
            self.connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)

    def run(self, query: Query) -> list[dict[str, Any]]:
        """The changes, in the order of position; of a column with candidates, the one that counts."""
        names = {placeholder: table.table for placeholder, table in query.tables}
        text = query.template.format(target="target", source="source", **names)
        (translated,) = sqlglot.transpile(text, read="spark", write="duckdb")
        columns = [name for name, *_ in self.connection.execute(f"DESCRIBE {translated}").fetchall()]
        shown = [name for name in columns if f"{name}_0" not in columns]
        self.connection.execute(f"SELECT {', '.join(shown)} FROM ({translated})")
        found = [dict(zip(shown, row, strict=True)) for row in self.connection.fetchall()]
        return sorted(
            map(_picked, found), key=lambda row: (row["__position"] is None, row["__position"], str(row))
        )


def _picked(row: dict[str, Any]) -> dict[str, Any]:
    for i in range(len(SCHEMA)):
        if f"__new_{i}_0" in row:
            row[f"__new_{i}"] = row[f"__new_{i}_{row[f'__pick_{i}']}"] if row["__action"] != DELETE else None
    return row


def changes(database: Database, query: Query) -> list[tuple[int, Row, Row]]:
    """Action, old row, new row."""
    return [
        (row["__action"], (row["id"], row["x"], row["n"]), (row["__new_0"], row["__new_1"], row["__new_2"]))
        for row in database.run(query)
    ]


NOTHING: Row = (None, None, None)


def test_the_columns_come_in_a_fixed_order() -> None:
    database = Database()
    for query in (
        update_changes(ORDERS, SCHEMA, {"x": "1"}),
        delete_changes(ORDERS, SCHEMA),
        merge_changes(ORDERS, SCHEMA, ("id", "x"), ("id",)),
        merge_changes(ORDERS, SCHEMA, ("id", "x", "gone"), ("id",), "gone"),
        statement("MERGE INTO orders USING news ON orders.id = news.id WHEN MATCHED THEN UPDATE SET *"),
    ):
        database.connection.execute("CREATE OR REPLACE TABLE source (id INT, x INT, gone BOOLEAN)")
        database.connection.execute(f"CREATE OR REPLACE TABLE news ({NEWS})")
        text = query.template.format(target="target", source="source", t0="news")
        (translated,) = sqlglot.transpile(text, read="spark", write="duckdb")
        described = database.connection.execute(f"DESCRIBE {translated}").fetchall()
        names = ["id", "x", "n", "__file", "__position", "__action", "__new_0", "__new_1", "__new_2"]
        assert [name for name, *_ in described] == names


def test_an_update_sees_the_row_by_every_name_of_its_table() -> None:
    query = update_changes(ORDERS, SCHEMA, {"X": "x + orders.x", "n": "sales.orders.n || '{}'"}, "id = 2")
    assert changes(Database(), query) == [(UPDATE, (2, 20, "b"), (2, 40, "b{}"))]


def test_an_update_without_condition_is_for_all_rows() -> None:
    assert [row[2] for row in changes(Database(), update_changes(ORDERS, SCHEMA, {"n": "NULL"}))] == [
        (1, 10, None),
        (2, 20, None),
        (None, 30, None),
    ]


def test_an_update_may_read_other_tables() -> None:
    query = update_changes(
        ORDERS,
        SCHEMA,
        {"x": "(SELECT max(z) FROM u WHERE u.id = orders.id)"},
        "EXISTS (SELECT 1 FROM u WHERE u.id = orders.id)",
    )
    assert query.tables == (("t0", TableName("main", "u")),)
    database = Database(u=("id INT, z INT", [(2, 7), (2, 8)]))
    assert changes(database, query) == [(UPDATE, (2, 20, "b"), (2, 8, "b"))]


def test_an_update_statement_may_use_an_alias() -> None:
    query = statement("UPDATE orders AS o SET o.x = o.x * 2 WHERE o.n = 'a'")
    assert changes(Database(), query) == [(UPDATE, (1, 10, "a"), (1, 20, "a"))]


def test_a_delete_takes_the_rows_for_which_its_condition_is_true() -> None:
    assert changes(Database(), delete_changes(ORDERS, SCHEMA, "id <> 1")) == [(DELETE, (2, 20, "b"), NOTHING)]
    assert len(changes(Database(), delete_changes(ORDERS, SCHEMA))) == len(ROWS)


def test_each_expression_stands_in_the_text_once() -> None:
    for query in (
        update_changes(ORDERS, SCHEMA, {"x": "rand() + 4711"}, "rand() < 4712"),
        merge_changes(ORDERS, SCHEMA, ("id", "x"), ("id",), "source.x = 4711 OR x = 4712"),
        statement(
            """MERGE INTO orders t USING news s ON t.id = s.id + 4711
            WHEN MATCHED AND rand() < 4712 THEN UPDATE SET x = rand() * 4713
            WHEN NOT MATCHED AND rand() < 4714 THEN INSERT (id) VALUES (rand() * 4715)"""
        ),
    ):
        for number in ("4711", "4712", "4713", "4714", "4715"):
            assert query.template.count(number) in (0, 1)


@pytest.mark.parametrize(
    ("assignments", "error"),
    [
        ({"y": "1"}, UnknownColumn),
        ({}, InvalidQuery),
        ({"x": "1", "X": "2"}, InvalidQuery),
        ({"n.a": "1"}, UnsupportedStatement),
        ({"x": 1}, InvalidValue),
        ({1: "1"}, UnknownColumn),
        ({"x": "1 -- "}, SqlError),
        ({"x": "1) FROM t --"}, SqlError),
        ({"x": "1, 2"}, SqlError),
        ({"x": "max(x)"}, UnsupportedStatement),
        ({"x": "explode(array(1, 2))"}, UnsupportedStatement),
        ({"x": "__position"}, UnknownColumn),
    ],
)
def test_assignments_that_make_no_sense_are_typed_errors(
    assignments: dict[Any, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        update_changes(ORDERS, SCHEMA, assignments)


# -- incoming rows ----------------------------------------------------------------------------------


def incoming(*rows: Row) -> tuple[str, Sequence[Row]]:
    return ("id INT, x INT, gone BOOLEAN", rows)


def test_incoming_rows_replace_what_they_match_and_are_added_otherwise() -> None:
    database = Database(source=("id INT, x INT", [(1, 100), (7, 700), (None, 5)]))
    assert changes(database, merge_changes(ORDERS, SCHEMA, ("id", "x"), ("id",))) == [
        (UPDATE, (1, 10, "a"), (1, 100, "a")),
        (INSERT, NOTHING, (7, 700, None)),
        (INSERT, NOTHING, (None, 5, None)),
    ]


def test_a_row_to_delete_is_deleted_where_it_matches_and_not_added_where_it_does_not() -> None:
    database = Database(source=incoming((1, 100, True), (2, 200, None), (7, 700, False), (8, 800, True)))
    assert changes(database, merge_changes(ORDERS, SCHEMA, ("id", "x", "gone"), ("id",), "gone")) == [
        (DELETE, (1, 10, "a"), NOTHING),
        (UPDATE, (2, 20, "b"), (2, 200, "b")),
        (INSERT, NOTHING, (7, 700, None)),
    ]


def test_delete_when_sees_incoming_columns_and_the_matching_row() -> None:
    database = Database(source=incoming((1, 5, True), (2, 50, True)))
    query = merge_changes(
        ORDERS, SCHEMA, ("id", "x", "gone"), ("id",), "source.gone AND x < target.x AND target.n = 'a'"
    )
    assert [row[0] for row in changes(database, query)] == [DELETE, UPDATE]


@pytest.mark.parametrize(
    ("columns", "on", "delete_when", "error"),
    [
        (("id", "x", "gone"), ("id",), None, UnknownColumn),
        (("id", "x", "gone"), ("id",), "x = 1", UnknownColumn),
        (("x",), ("id",), None, UnknownColumn),
        (("id", "x"), ("y",), None, UnknownColumn),
        (("id", "x"), (), None, InvalidQuery),
        (("id", "ID"), ("id",), None, InvalidQuery),
        (("id", "target"), ("id",), "target", UnsupportedStatement),
        (("id", "x"), ("id",), "x = 1 --", SqlError),
        (("id", "x"), ("id",), "x = 1) OR (true", SqlError),
    ],
)
def test_incoming_rows_that_do_not_fit_are_typed_errors(
    columns: tuple[str, ...], on: tuple[str, ...], delete_when: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        merge_changes(ORDERS, SCHEMA, columns, on, delete_when)


# -- MERGE ------------------------------------------------------------------------------------------


def test_a_merge_gives_every_clause_the_names_it_is_about() -> None:
    query = statement(
        """MERGE INTO sales.orders USING sales.news ON sales.orders.id = sales.news.id
        WHEN MATCHED THEN UPDATE SET x = orders.x + news.x
        WHEN NOT MATCHED THEN INSERT (id, x, n) VALUES (id, x + 1, concat(n, '!'))
        WHEN NOT MATCHED BY SOURCE AND x > 20 THEN UPDATE SET n = concat(n, '?')"""
    )
    database = Database(news=(NEWS, [(1, 5, "z", 0), (9, 6, "w", 0)]))
    assert changes(database, query) == [
        (UPDATE, (1, 10, "a"), (1, 15, "a")),
        (UPDATE, (None, 30, "c"), (None, 30, "c?")),
        (INSERT, NOTHING, (9, 7, "w!")),
    ]


def test_the_first_clause_that_holds_decides() -> None:
    query = statement(
        """MERGE INTO orders t USING news s ON t.id = s.id
        WHEN MATCHED AND s.x > 5 THEN DELETE WHEN MATCHED AND s.x > 3 THEN UPDATE SET n = 'three'
        WHEN MATCHED THEN UPDATE SET n = 'rest'"""
    )
    database = Database(news=(NEWS, [(1, 9, "", 0), (2, 4, "", 0)]))
    assert [(row[0], row[2][2]) for row in changes(database, query)] == [(DELETE, None), (UPDATE, "three")]


def test_an_expression_is_evaluated_only_for_the_rows_of_its_clause() -> None:
    query = statement(
        """MERGE INTO orders t USING news s ON t.id = s.id
        WHEN MATCHED AND s.x < 0 THEN UPDATE SET x = raise_error('never')
        WHEN NOT MATCHED AND s.x < 0 THEN INSERT (x) VALUES (raise_error('never'))
        WHEN NOT MATCHED BY SOURCE AND n = 'never' THEN UPDATE SET x = raise_error('never')"""
    )
    assert changes(Database(news=(NEWS, [(1, 9, "", 0), (7, 4, "", 0)])), query) == []


def test_candidates_of_different_types_are_kept_apart() -> None:
    query = statement(
        """MERGE INTO orders t USING news s ON t.id = s.id
        WHEN MATCHED AND s.y = 0 THEN UPDATE SET n = 5 WHEN MATCHED THEN UPDATE SET n = 'five'
        WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"""
    )
    database = Database(news=(NEWS, [(1, 0, "", 0), (2, 0, "", 1), (3, 0, "", 0)]))
    found = database.run(query)
    assert [row["__pick_2"] for row in found] == [0, 1, 2]
    assert [row["__new_2"] for row in found] == [5, "five", None]


def test_a_column_with_candidates_fails_when_it_is_read_without_choosing() -> None:
    query = statement(
        """MERGE INTO orders t USING news s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"""
    )
    database = Database(news=(NEWS, [(1, 0, "", 0)]))
    (text,) = sqlglot.transpile(
        query.template.format(target="target", t0="news"), read="spark", write="duckdb"
    )
    with pytest.raises(duckdb.Error, match="candidates"):
        database.connection.execute(text).fetchall()


@pytest.mark.parametrize(
    ("clauses", "join"),
    [
        ("WHEN MATCHED THEN DELETE", "INNER JOIN"),
        ("WHEN NOT MATCHED THEN INSERT *", "LEFT ANTI JOIN"),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", "LEFT ANTI JOIN"),
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *", "LEFT JOIN"),
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE", "LEFT JOIN"),
        ("WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE", "FULL OUTER JOIN"),
    ],
)
def test_the_join_is_the_narrowest_that_the_clauses_need(clauses: str, join: str) -> None:
    template = statement(f"MERGE INTO orders t USING news s ON t.id = s.id {clauses}").template
    assert [
        kind for kind in ("INNER JOIN", "LEFT ANTI JOIN", "LEFT JOIN", "FULL OUTER JOIN") if kind in template
    ] == [join]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("MERGE INTO orders USING sales.orders ON true WHEN MATCHED THEN DELETE", InvalidQuery),
        ("MERGE INTO orders t USING news T ON true WHEN MATCHED THEN DELETE", InvalidQuery),
        ("MERGE INTO orders t USING news s ON true WHEN MATCHED THEN UPDATE SET y = 1", UnknownColumn),
        (
            "MERGE INTO orders t USING news s ON true WHEN NOT MATCHED THEN INSERT (y) VALUES (1)",
            UnknownColumn,
        ),
        (
            "MERGE INTO orders t USING news s ON true WHEN MATCHED THEN UPDATE SET n.a = 1",
            UnsupportedStatement,
        ),
        ("MERGE INTO orders t USING range(3) ON true WHEN MATCHED THEN DELETE", UnsupportedStatement),
        ("MERGE INTO orders t USING news s(a) ON true WHEN MATCHED THEN DELETE", UnsupportedStatement),
    ],
)
def test_merges_that_make_no_sense_are_typed_errors(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        statement(text)


def _random_clauses(chance: random.Random) -> tuple[str, str]:
    """Clauses in our words, and in DuckDB's, which needs every name qualified."""
    choices = {
        "WHEN MATCHED": (
            [
                ("t.x > s.x", "t.x > s.x"),
                ("s.y = 1", "s.y = 1"),
                ("CASE WHEN t.x = 1 THEN s.y = 1 ELSE t.x > 2 END",) * 2,
            ],
            [
                ("DELETE", "DELETE"),
                ("UPDATE SET x = s.x", "UPDATE SET x = s.x"),
                ("UPDATE SET x = t.x + s.x, n = s.n",) * 2,
                ("UPDATE SET *", "UPDATE SET id = s.id, x = s.x, n = s.n"),
            ],
        ),
        "WHEN NOT MATCHED": (
            [("x > 2", "s.x > 2"), ("s.y = 1", "s.y = 1"), ("id IS NULL", "s.id IS NULL")],
            [
                ("INSERT (id, x) VALUES (id, x)", "INSERT (id, x) VALUES (s.id, s.x)"),
                (
                    "INSERT (n, id) VALUES (concat(n, '!'), y)",
                    "INSERT (n, id) VALUES (concat(s.n, '!'), s.y)",
                ),
                ("INSERT *", "INSERT (id, x, n) VALUES (s.id, s.x, s.n)"),
            ],
        ),
        "WHEN NOT MATCHED BY SOURCE": (
            [("x > 2", "t.x > 2"), ("t.n = 'a'", "t.n = 'a'")],
            [("DELETE", "DELETE"), ("UPDATE SET x = x + 10", "UPDATE SET x = t.x + 10")],
        ),
    }
    ours, theirs = [], []
    for when in chance.sample(sorted(choices), chance.randrange(1, 4)):
        conditions, actions = choices[when]
        for left in reversed(range(chance.randrange(1, 4))):
            condition, action = chance.choice(conditions), chance.choice(actions)
            always = left == 0 and chance.random() < 0.6
            ours.append(f"{when} {'' if always else 'AND ' + condition[0]} THEN {action[0]}")
            theirs.append(f"{when} {'' if always else 'AND (' + condition[1] + ')'} THEN {action[1]}")
    return " ".join(ours), " ".join(theirs)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("seed", range(60))
def test_a_random_merge_leaves_the_rows_that_duckdbs_merge_leaves(seed: int) -> None:
    chance = random.Random(seed)
    rows = [
        (chance.choice([None, *range(6)]), chance.randrange(5), chance.choice("ab"))
        for _ in range(chance.randrange(7))
    ]
    keys = chance.sample([None, *range(8)], chance.randrange(7))
    news = [(key, chance.randrange(5), chance.choice("cd"), chance.randrange(3)) for key in keys]
    ours, theirs = _random_clauses(chance)
    using = chance.choice(
        ["news AS s", "(SELECT * FROM news) s", "(WITH q AS (SELECT * FROM news) SELECT * FROM q) s"]
    )
    database = Database(rows, news=(NEWS, news))

    kept = dict(enumerate(rows))
    added = []
    for change in database.run(statement(f"MERGE INTO orders t USING {using} ON t.id = s.id {ours}")):
        if change["__action"] != INSERT:
            assert kept.pop(change["__position"]) == (change["id"], change["x"], change["n"])
        if change["__action"] != DELETE:
            added.append((change["__new_0"], change["__new_1"], change["__new_2"]))

    database.connection.execute("ALTER TABLE target DROP __file; ALTER TABLE target DROP __position")
    database.connection.execute(f"MERGE INTO target AS t USING news AS s ON (t.id = s.id) {theirs}")
    expected = database.connection.execute("SELECT * FROM target").fetchall()
    assert sorted([*kept.values(), *added], key=str) == sorted(expected, key=str)
