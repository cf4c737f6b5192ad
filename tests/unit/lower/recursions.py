"""Recursive queries over small graphs in memory: their least solutions, computed pass by pass."""

# ruff: noqa: E501

from __future__ import annotations

import random
from collections.abc import Mapping

from anabranch.algebra.evaluate import Row, Tables, ZSet, evaluate, net
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import LoweredQuery, lower
from tests.unit.lower.databases import plain, tidy

DDL = {
    "edges": "a INT, b INT",
    "roads": "a INT, b INT",
    "parts": "whole STRING, part STRING, quantity INT",
    "staff": "id INT, boss INT, name STRING",
}
"""`edges` and `staff` have no circles; `roads` may."""

SCHEMAS: Mapping[TableName, Schema] = {TableName.parse(name): parse_schema(ddl) for name, ddl in DDL.items()}
MAX_PASSES = 50

CLOSURE = "SELECT a, b FROM roads UNION SELECT q.a, r.b FROM q JOIN roads AS r ON q.b = r.a"
COUNTER = "SELECT 1 AS x UNION ALL SELECT x + 1 FROM q WHERE x < 5"

Database = Mapping[str, ZSet]


def lowered(text: str) -> LoweredQuery:
    """The query over the tables above."""
    return lower(text, SCHEMAS)


def drawn(seed: int) -> Database:
    """A database drawn at random; rows repeat, and some values are NULL."""
    chance = random.Random(seed)

    def node(low: int = 0, high: int = 5) -> int | None:
        return None if chance.random() < 0.1 else chance.randint(low, high)

    def upwards() -> tuple[int | None, int | None]:
        first = node(0, 4)
        return first, node(first + 1, 5) if first is not None else node()

    edges = [upwards() for _ in range(chance.randint(0, 7))]
    roads = [(node(), node()) for _ in range(chance.randint(0, 7))]
    parts = [
        (str(chance.choice("abc")), str(chance.choice("def")), chance.randint(1, 3))
        for _ in range(chance.randint(0, 5))
    ] + [(str(chance.choice("def")), str(chance.choice("xyz")), chance.randint(1, 3)) for _ in range(2)]
    staff = [(number, node(0, number - 1) if number else None, f"n{number}") for number in range(6)]
    found = {"edges": edges, "roads": roads, "parts": parts, "staff": staff}
    return {name: net((tuple(row), 1) for row in rows) for name, rows in found.items()}


def solved(query: LoweredQuery, database: Database) -> dict[Row, int]:
    """The query's rows, each recursion iterated from nothing until a pass changes no row."""
    columns = {str(name): schema.names for name, schema in SCHEMAS.items()}
    contents = dict(database)
    for recursion in query.recursions:
        plan = plain(recursion.plan)
        columns[recursion.table] = recursion.columns
        contents[recursion.table] = {}
        for _ in range(MAX_PASSES):
            found = evaluate(plan, Tables(columns, contents, contents))
            if found == contents[recursion.table]:
                break
            contents[recursion.table] = found
        else:
            raise AssertionError(f"{recursion.table} has no end")
    return tidy(evaluate(plain(query.plan), Tables(columns, contents, contents)))


SAME_AS_DUCKDB = {
    "closure": f"WITH RECURSIVE q AS ({CLOSURE}) SELECT a, b FROM q",
    "closure, counted": f"WITH RECURSIVE q AS ({CLOSURE}) SELECT a, count(*) AS n FROM q WHERE b > 0 GROUP BY a",
    "closure, joined": f"WITH RECURSIVE q AS ({CLOSURE}) SELECT x.a, y.b FROM q AS x JOIN q AS y ON x.b = y.a",
    "closure, asked": f"WITH RECURSIVE q AS ({CLOSURE}) SELECT a FROM edges WHERE a NOT IN (SELECT b FROM q WHERE b > 2)",
    "paths": "WITH RECURSIVE q AS (SELECT a, b FROM edges UNION ALL SELECT q.a, e.b FROM q JOIN edges AS e ON q.b = e.a) SELECT a, b FROM q",
    "lengths": "WITH RECURSIVE q(a, b, n) AS (SELECT a, b, 1 FROM edges UNION ALL SELECT q.a, e.b, n + 1 FROM q JOIN edges AS e ON q.b = e.a) SELECT a, b, min(n) AS shortest, count(*) AS paths FROM q GROUP BY a, b",
    "numbers": f"WITH RECURSIVE q AS ({COUNTER}) SELECT x FROM q",
    "numbers once": "WITH RECURSIVE q(n) AS (VALUES (1) UNION SELECT (n + 1) % 7 FROM q) SELECT n FROM q",
    "organisation": "WITH RECURSIVE q AS (SELECT id, name, 0 AS depth FROM staff WHERE boss IS NULL UNION ALL SELECT s.id, s.name, q.depth + 1 FROM staff AS s JOIN q ON s.boss = q.id) SELECT id, name, depth FROM q",
    "above each": "WITH RECURSIVE q AS (SELECT id, boss FROM staff UNION ALL SELECT q.id, s.boss FROM q, staff AS s WHERE q.boss = s.id) SELECT s.name, q.boss FROM staff AS s LEFT JOIN q ON q.id = s.id",
    "parts": "WITH RECURSIVE q AS (SELECT whole, part, quantity FROM parts UNION ALL SELECT q.whole, p.part, q.quantity * p.quantity FROM q JOIN parts AS p ON q.part = p.whole) SELECT whole, part, sum(quantity) AS total FROM q GROUP BY whole, part",
    "one after the other": f"WITH RECURSIVE q AS ({CLOSURE}), r AS (SELECT a AS x FROM q WHERE b = 3 UNION SELECT e.b FROM r JOIN edges AS e ON r.x = e.a) SELECT x FROM r",
    "a plain one beside": "WITH RECURSIVE up AS (SELECT a, b FROM roads WHERE b > a), q AS (SELECT a FROM up UNION SELECT up.b FROM q JOIN up ON q.a = up.a), c AS (SELECT count(*) AS n FROM q) SELECT q.a, c.n FROM q, c",
    "inside": f"SELECT e.a, d.n FROM edges AS e LEFT JOIN (WITH RECURSIVE q AS ({CLOSURE}) SELECT a, count(*) AS n FROM q GROUP BY a) AS d ON e.a = d.a",
    "in a subquery": "SELECT e.b, (WITH RECURSIVE q AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM q WHERE x < 4) SELECT sum(x) FROM q WHERE q.x < e.b) AS s FROM edges AS e",
    "same generation": "WITH RECURSIVE q AS (SELECT x.id AS a, y.id AS b FROM staff AS x JOIN staff AS y ON x.boss = y.boss UNION SELECT x.id, y.id FROM q JOIN staff AS x ON x.boss = q.a JOIN staff AS y ON y.boss = q.b) SELECT a, b FROM q WHERE a < b",
    "components": "WITH RECURSIVE q AS (SELECT a, a AS b FROM roads UNION SELECT b, b FROM roads UNION (SELECT q.a, r.b FROM q JOIN roads AS r ON q.b = r.a UNION ALL SELECT q.a, r.a FROM q JOIN roads AS r ON q.b = r.b)) SELECT a, min(b) AS component FROM q GROUP BY a",
}
"""Recursions whose steps are linear: showing them the rows of the pass before only makes no difference."""
