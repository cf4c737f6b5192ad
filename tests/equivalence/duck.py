"""DuckDB as a second engine: the same plans, rendered in another dialect, on real tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb

from anabranch.algebra.evaluate import ZSet, minus, net
from anabranch.algebra.plan import Delta, Materialised, Plan, Scan, StoredResult
from anabranch.delta.interval_ends import at_since, at_until
from anabranch.delta.materialise import Steps
from anabranch.engine.render.dialect import DUCKDB
from anabranch.engine.render.statement import Leaf, RenderedStatement, render
from tests.equivalence.draw import LIST, Database

STORED = "stored_rows"


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory; with tables so small, threads only wait for each other."""
    connection = duckdb.connect(config={"threads": 1})
    # Over a handful of rows, improving a statement costs more than running it. And DuckDB 2.0 makes it wrong
    # now and then: grouped, a left join to rows of which statistics say that none match was empty.
    connection.execute("PRAGMA disable_optimizer")
    return connection


class Duck:
    """Tables at both ends of an interval, and their change, in one DuckDB."""

    def __init__(self, database: Database, connection: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        self._connection = connection
        self._texts: dict[tuple[Plan, tuple[str, ...]], str] = {}
        self.whole_changes = False
        """Whether changes are all rows that were there and all that are there now, unless added up."""

    def load(self, before: dict[str, ZSet], after: dict[str, ZSet]) -> None:
        statements: list[str] = []
        for table in self._database.tables:
            came, went = list(after[table].items()), [(row, -weight) for row, weight in before[table].items()]
            # A change whose weights aren't added up: rows that stayed have come and gone.
            change = [*went, *came] if self.whole_changes else minus(after[table], before[table]).items()
            statements += self._put(f"{table}_since", table, before[table].items(), weighted=False)
            statements += self._put(f"{table}_until", table, came, weighted=False)
            statements += self._put(f"{table}_change", table, change, weighted=True)
        self._connection.execute(f"BEGIN; {'; '.join(statements)}; COMMIT")

    def evaluate(self, plan: Plan) -> ZSet:
        """The Z-set of a plan, as DuckDB computes it."""
        cursor = self._connection.execute(self._text(plan, plan.names))
        weighted = bool(cursor.description) and cursor.description[-1][0] == "__weight"
        rows = [tuple(_plain(value) for value in row) for row in cursor.fetchall()]
        return net((row[:-1], int(row[-1])) if weighted else (row, 1) for row in rows)

    def store(self, table: str, plan: Plan, columns: tuple[str, ...]) -> tuple[ZSet, ZSet]:
        """Make a table of a plan's rows at both ends, the earlier of which is what is stored; its rows."""
        made = [
            f"CREATE OR REPLACE TEMP TABLE {name} AS {self._text(end(plan), columns)}"
            for name, end in ((f"{table}_since", at_since), (f"{table}_until", at_until))
        ]
        change = (
            f"CREATE OR REPLACE TEMP TABLE {table}_change AS "
            f"SELECT * REPLACE (sum(__weight) AS __weight) FROM ("
            f"SELECT *, 1 AS __weight FROM {table}_until UNION ALL SELECT *, -1 FROM {table}_since) "
            f"GROUP BY {', '.join(columns)} HAVING sum(__weight) <> 0"
        )
        stored = f"CREATE OR REPLACE TEMP VIEW {STORED} AS FROM {table}_since"
        self._connection.execute(f"BEGIN; {'; '.join([*made, change, stored])}; COMMIT")
        both = Scan(table, tuple((column, column) for column in columns))
        return self.evaluate(at_since(both)), self.evaluate(both)

    def run(self, steps: Steps) -> ZSet:
        """The Z-set of a plan in steps: each one's rows become a table that those after it read."""
        for leaf, plan in steps.before:
            text = self._text(plan, plan.names)
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {leaf.name} AS {text}")
        return self.evaluate(steps.last)

    def _text(self, plan: Plan, columns: tuple[str, ...]) -> str:
        if (plan, columns) not in self._texts:
            self._texts[plan, columns] = _bound(render(plan, DUCKDB, columns))
        return self._texts[plan, columns]

    def _put(
        self, name: str, table: str, rows: Iterable[tuple[tuple[Any, ...], int]], *, weighted: bool
    ) -> list[str]:
        columns = [
            f"{column} {'INTEGER[]' if kind == LIST else 'INTEGER'}"
            for column, kind in self._database.tables[table]
        ]
        columns += ["__weight BIGINT"] if weighted else []
        made = f"CREATE OR REPLACE TEMP TABLE {name} ({', '.join(columns)})"
        listed: list[str] = []
        for row, weight in rows:
            values = (*row, weight) if weighted else row
            text = f"({', '.join(_shown(value) for value in values)})"
            listed += [text] if weighted else [text] * weight
        return [made, f"INSERT INTO {name} VALUES {', '.join(listed)}"] if listed else [made]


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, tuple) else str(value)


def _bound(rendered: RenderedStatement) -> str:
    return rendered.template.format(**{hole: _relation(leaf) for hole, leaf in rendered.leaves})


def _relation(leaf: Leaf) -> str:
    match leaf:
        case Scan(table, _, at):
            return f"{table}_{at.name.lower()}"
        case Delta(table):
            return f"{table}_change"
        case StoredResult():
            return STORED
        case Materialised(name):
            return name


def _plain(value: Any) -> Any:
    return tuple(_plain(item) for item in value) if isinstance(value, list) else value
